//! PostgreSQL goes away under load and comes back.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use tokio::task::block_in_place;

use super::honest::{attempt, expect_no_leak};
use super::load::Load;
use crate::private_postgres::Server;
use crate::process::Home;

const CONNECTIONS: usize = 6;

/// How soon after PostgreSQL accepts connections again a request must succeed, on a busy machine.
const RECOVERY: Duration = Duration::from_secs(10);

/// Breaks PostgreSQL off several times by `end`, always under load.
async fn survives(end: impl Fn(&Server)) {
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
        // From the database, not from memory.
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
async fn a_killed_server_costs_nothing_acknowledged_and_is_found_again_at_once() {
    survives(Server::kill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_restarted_is_found_again_at_once() {
    survives(Server::stop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_request_after_a_restart_does_not_pay_for_connections_that_broke() {
    let server = block_in_place(|| Server::start(5432, |_| "-c listen_addresses=".to_owned()));
    let url = block_in_place(|| server.database("agora"));
    let home = Home::new();
    let service = home.start_with(&[("AGORA_DATABASE_URL", url.as_str())]);
    let alice = service.api.user("alice").await;
    let fill = || service.api.request_as(&alice, Method::GET, "/api/posts/following/all");
    for end in [Server::kill, Server::stop] {
        // As many connections as there can be.
        join_all((0..32).map(|_| async { attempt(fill()).await.unwrap().expect(200) })).await;
        block_in_place(|| end(&server));
        block_in_place(|| server.restart());
        attempt(fill()).await.expect("success").expect(200);
    }
    service.stop();
}
