//! Prepared statements when the schema changes or the server has dropped them, and the number of connections when requests are
//! cancelled.

#![allow(clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use agora_domain::Error;
use agora_domain::clock::Timestamp;
use diesel::QueryableByName;
use diesel::sql_types::BigInt;
use diesel_async::SimpleAsyncConnection;
use futures_util::future::{BoxFuture, join_all, try_join_all};
use tokio::time::timeout;

use super::tests::{HANG, find, id, toggle_like, write};
use super::*;
use crate::account_filters::DbViewer;
use crate::error::Outcome;
use crate::postgres::dialect::Conn;
use crate::rows::Slice;
use crate::schema::LikeRecord;

const AT: crate::sql_types::DbInstant = crate::sql_types::DbInstant(Timestamp::from_unix_millis(1));

/// A like of post 1 by user 1.
fn like(n: u64) -> LikeRecord {
    LikeRecord { post_id: id(2, 1), user_id: id(1, 1), id: id(4, n), created_at: AT }
}

/// Returns a database with user 1, their post 1 and a product, and its URL.
async fn with_rows(options: &Options) -> (String, Arc<Postgres>) {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let database = Arc::new(Postgres::open(Opening::Serve, &url, options).await.unwrap());
    let (user, post, product) = (id(1, 1).0, id(2, 1).0, id(3, 1).0);
    let rows = format!(
        "INSERT INTO users VALUES ('{user}', 'u', 'u', 'e', 'e', '', NULL, NULL, false, true, true, now());
        INSERT INTO posts VALUES ('{post}', '{user}', 'text', NULL, 0, now(), now(), 0, 0);
        INSERT INTO products VALUES ('{product}', 's', 's', 'n', 'd', 1, 'c', 'c', 1, 'n d s', now(), now())"
    );
    write(&database, rows).await.unwrap();
    (url, database)
}

/// Runs the statements of each lane, so many at once that each connection has them prepared.
async fn on_every_lane(database: &Postgres) -> Result<()> {
    let (user, post) = (id(1, 1), id(2, 1));
    let slice = || Slice::new(crate::rows::Toward::Older, None, 10);
    for _ in 0..2 {
        try_join_all((0..64).map(async |_| find(database, post, user).await)).await?;
        let lists = (0..64).map(async |_| {
            database
                .list(move |conn| {
                    Box::pin(queries::posts::list_by_author(
                        conn,
                        user,
                        [0, 1, 2],
                        DbViewer::ordinary(user.0.into()),
                        slice(),
                    ))
                })
                .await
        });
        try_join_all(lists).await?;
        try_join_all((0..16).map(async |n| toggle_like(database, like(n)).await)).await?;
        let reads = (0..16).map(async |_| {
            database.read(move |conn| Box::pin(queries::accounts::find(conn, user))).await?;
            database.search(move |conn| Box::pin(queries::products::list(conn, None, slice()))).await?;
            let edit = agora_domain::posts::PostEdit::default();
            database
                .write(move |conn| {
                    Box::pin(queries::posts::edit(
                        conn,
                        post,
                        DbViewer::ordinary(user.0.into()),
                        edit.clone(),
                        None,
                        AT.0,
                    ))
                })
                .await
        });
        try_join_all(reads).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_are_prepared_again_once_columns_have_changed_their_type() {
    let (_, database) = with_rows(&Options { connections: 20, ..Options::default() }).await;
    on_every_lane(&database).await.unwrap();
    for (table, column) in
        [("posts", "image"), ("users", "profile_picture"), ("products", "category_key"), ("products", "sku_key")]
    {
        for collation in ["POSIX", "C"] {
            let alter = format!("ALTER TABLE {table} ALTER COLUMN {column} TYPE text COLLATE \"{collation}\"");
            write(&database, alter).await.unwrap();
            on_every_lane(&database).await.unwrap();
        }
    }
}

fn deallocate<'a>(conn: &'a mut Conn<'_>) -> BoxFuture<'a, Outcome<()>> {
    Box::pin(async move { Ok(conn.batch_execute("DEALLOCATE ALL").await?) })
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_that_the_server_has_forgotten_are_prepared_again() {
    let (_, database) = with_rows(&Options { connections: 5, ..Options::default() }).await;
    on_every_lane(&database).await.unwrap();
    for pipelines in [&database.shared, &database.lists] {
        pipelines.run(&deallocate).await.unwrap();
    }
    for _ in 0..4 {
        write(&database, "DEALLOCATE ALL").await.unwrap();
    }
    on_every_lane(&database).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_fails_for_an_unexplained_reason_is_retried_exactly_once() {
    let (_, database) = with_rows(&Options::default()).await;
    write(&database, "CREATE SEQUENCE tries").await.unwrap();
    let failed = write(&database, "DO $$ BEGIN PERFORM nextval('tries'); PERFORM 1 / 0; END $$").await;
    assert!(matches!(failed, Err(Error::Unavailable(_))), "{failed:?}");
    // Retried once, and not again.
    write(&database, "DO $$ BEGIN ASSERT (SELECT last_value FROM tries) = 2; END $$").await.unwrap();
}

#[derive(QueryableByName)]
struct Others {
    #[diesel(sql_type = BigInt)]
    others: i64,
}

/// Returns how many others are connected to the database of this connection.
async fn others(conn: &AsyncPgConnection) -> usize {
    let count = "SELECT count(*) AS others FROM pg_stat_activity \
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let Others { others } = diesel::sql_query(count).get_result(&mut &*conn).await.unwrap();
    others.try_into().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_requests_do_not_exceed_the_limit_on_connections() {
    const CONNECTIONS: usize = 16;
    let options = Options { connections: CONNECTIONS, ..Options::default() };
    let (url, database) = with_rows(&options).await;
    let connector = Connector::new(&url, &options).unwrap();
    let watcher = connector.connect().await.unwrap();
    let mut holder = connector.connect().await.unwrap();
    let post = id(2, 1);
    holder.batch_execute(&format!("BEGIN; SELECT FROM posts WHERE id = '{}' FOR UPDATE", post.0)).await.unwrap();
    let reader = DbViewer::ordinary(id(1, 1).0.into());
    for round in 0..10_u64 {
        let cancelled = (0..120_u64).map(async |n| {
            let like = like(round * 1000 + n);
            let single = timeout(Duration::from_millis(20), toggle_like(&database, like));
            assert!(single.await.is_err(), "the post is locked");
            let edit = agora_domain::posts::PostEdit::default();
            let write = database
                .write(move |conn| Box::pin(queries::posts::edit(conn, post, reader, edit.clone(), None, AT.0)));
            assert!(timeout(Duration::from_millis(20), write).await.is_err(), "the post is locked");
        });
        join_all(cancelled).await;
        let open = others(&watcher).await - 1;
        assert!(open <= CONNECTIONS, "{open} connections after round {round}");
    }
    holder.batch_execute("ROLLBACK").await.unwrap();
    // Each permit is released once the server is done.
    let likes = (0..64).map(async |n| toggle_like(&database, like(100_000 + n)).await);
    timeout(HANG, try_join_all(likes)).await.unwrap().unwrap();
    assert!(others(&watcher).await - 1 <= CONNECTIONS);
}
