//! Restarts and crashes of PostgreSQL, under load.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use tokio::task::block_in_place;

use super::load::Load;
use super::responses::{attempt, expect_no_leak};
use crate::private_postgres::Server;
use crate::process::Home;

const CONNECTIONS: usize = 6;

/// The maximum time until a request succeeds after PostgreSQL accepts connections again, on a busy machine.
const RECOVERY: Duration = Duration::from_secs(10);

/// Ends PostgreSQL repeatedly with `end`, and restarts it.
async fn expect_recovery(end: impl Fn(&Server)) {
    const TIMES: usize = 3;
    let server = block_in_place(|| Server::start(5432, |_| "-c listen_addresses=".to_owned()));
    let url = block_in_place(|| server.database("agora"));
    let home = Home::new();
    let connections = CONNECTIONS.to_string();
    let service =
        home.start_with(&[("AGORA_DATABASE_URL", url.as_str()), ("AGORA_DATABASE_CONNECTIONS", connections.as_str())]);
    let reader = service.api.user("reader").await;
    let load = Load::start(&service.api).await;
    for _ in 0..TIMES {
        load.successes(100).await;
        block_in_place(|| end(&server));
        load.refusals(50).await;
        block_in_place(|| server.restart());
        let ready = Instant::now();
        // A request that reads the database.
        let request = || service.api.request_as(&reader, Method::GET, "/api/posts/following/all");
        while attempt(request()).await.is_none() {
            assert!(ready.elapsed() < RECOVERY, "no request succeeds");
        }
    }
    load.successes(100).await;
    load.finish().await;
    expect_no_leak(&server, "agora", CONNECTIONS).await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_acknowledged_write_is_lost_and_requests_soon_succeed_after_postgresql_was_killed() {
    expect_recovery(Server::kill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_acknowledged_write_is_lost_and_requests_soon_succeed_after_postgresql_was_restarted() {
    expect_recovery(Server::stop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_request_after_a_restart_succeeds_although_pooled_connections_are_broken() {
    let server = block_in_place(|| Server::start(5432, |_| "-c listen_addresses=".to_owned()));
    let url = block_in_place(|| server.database("agora"));
    let home = Home::new();
    let service = home.start_with(&[("AGORA_DATABASE_URL", url.as_str())]);
    let alice = service.api.user("alice").await;
    let fill = || service.api.request_as(&alice, Method::GET, "/api/posts/following/all");
    for end in [Server::kill, Server::stop] {
        // Opens all connections of the pool.
        join_all((0..32).map(|_| async { attempt(fill()).await.unwrap().expect(200) })).await;
        block_in_place(|| end(&server));
        block_in_place(|| server.restart());
        attempt(fill()).await.expect("success").expect(200);
    }
    service.stop();
}
