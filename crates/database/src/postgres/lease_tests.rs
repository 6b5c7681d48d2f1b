//! The lease under which one node at a time applies migrations.

use diesel::dsl::sql;
use diesel::sql_types::BigInt;
use diesel_async::SimpleAsyncConnection;
use tokio::task::yield_now;

use super::super::connect::Connector;
use super::super::dialect::RunQueryDsl;
use super::super::lease;
use super::tests::write;
use super::{Postgres, private_postgres};
use crate::error::OpenError;
use crate::options::{Flavor, Options};
use crate::version::Opening;

#[tokio::test(flavor = "multi_thread")]
async fn the_migration_lease_is_released_while_it_is_being_renewed() {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let url = format!("{url}?options=-c%20default_transaction_isolation%3Dserializable");
    let connector = Connector::new(&url, &Options::default()).unwrap();
    let lease = lease::acquire_migration_lease(&connector).await.unwrap();
    let renewing = connector.connect().await.unwrap();
    (&mut &renewing).batch_execute("BEGIN; UPDATE leases SET expires_at = now()").await.unwrap();
    let ended = tokio::spawn(lease.release());
    let waiting = "(SELECT count(*) FROM pg_stat_activity \
        WHERE wait_event_type = 'Lock' AND query LIKE 'DELETE%leases%' AND datname = current_database())";
    let watching = connector.connect().await.unwrap();
    while diesel::select(sql::<BigInt>(waiting)).get_result::<i64>(&mut &watching).await.unwrap() == 0 {
        yield_now().await;
    }
    (&mut &renewing).batch_execute("COMMIT").await.unwrap();
    ended.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_starts_while_another_one_migrates_waits_for_it() {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let options = Options { flavor: Flavor::Distributed, ..Options::default() };
    let database = Postgres::open(Opening::Serve, &url, &options).await.unwrap();
    let connector = Connector::new(&url, &options).unwrap();
    let lease = lease::acquire_migration_lease(&connector).await.unwrap();
    // As halfway: the column exists until all migrations are applied.
    write(&database, "ALTER TABLE posts ADD COLUMN transaction bigint").await.unwrap();
    let asking = sql::<BigInt>(
        "(SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'INSERT%leases%' AND datname = current_database())",
    );
    let watching = connector.connect().await.unwrap();
    let count = async || diesel::select(asking.clone()).get_result::<i64>(&mut &watching).await.unwrap();
    let before = count().await;
    let opening = tokio::spawn(async move { Postgres::open(Opening::Serve, &url, &options).await.map(drop) });
    while !opening.is_finished() && count().await <= before {
        yield_now().await;
    }
    write(&database, "ALTER TABLE posts DROP COLUMN transaction").await.unwrap();
    lease.release().await.unwrap();
    opening.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_fails_releases_its_lease() {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let url = format!("{url}?options=-c%20default_transaction_isolation%3Dserializable");
    let options = Options { flavor: Flavor::Distributed, ..Options::default() };
    let database = Postgres::open(Opening::Serve, &url, &options).await.unwrap();
    // What this migration creates exists already, so that it fails.
    write(&database, "DELETE FROM __diesel_schema_migrations WHERE version = '20261121000000'").await.unwrap();
    let failed = Postgres::open(Opening::Serve, &url, &options).await.err().unwrap();
    assert!(matches!(failed, OpenError::Migration(_)), "{failed}");
    write(&database, "DO $$ BEGIN ASSERT NOT EXISTS (SELECT FROM leases WHERE name = 'migration'); END $$")
        .await
        .unwrap();
}
