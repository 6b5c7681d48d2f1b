//! Failover to a replica of PostgreSQL, under load.

use reqwest::Method;
use tokio::task::block_in_place;

use super::load::Load;
use super::responses::{attempt, expect_no_leak};
use crate::client::eventually;
use crate::private_postgres::Server;
use crate::process::Home;

const CONNECTIONS: usize = 6;

/// Ends the primary with `end`, and promotes its replica.
async fn expect_failover(end: impl Fn(&Server)) {
    let primary = block_in_place(|| Server::start(5432, |_| "-c listen_addresses=".to_owned()));
    block_in_place(|| primary.database("agora"));
    let replica = block_in_place(|| primary.replica(5433));
    // The replica is the first host.
    let url = format!("postgres://agora@{},{}/agora", replica.host(), primary.host());
    let home = Home::new();
    let connections = CONNECTIONS.to_string();
    let service =
        home.start_with(&[("AGORA_DATABASE_URL", url.as_str()), ("AGORA_DATABASE_CONNECTIONS", connections.as_str())]);
    let reader = service.api.user("reader").await;
    let load = Load::start(&service.api).await;
    load.posts(20).await;
    block_in_place(|| end(&primary));
    load.refusals(50).await;
    block_in_place(|| replica.promote());
    let request = || service.api.request_as(&reader, Method::GET, "/api/posts/following/all");
    eventually("a request succeeds", async || attempt(request()).await).await.expect(200);
    load.posts(20).await;
    load.finish().await;
    expect_no_leak(&replica, "agora", CONNECTIONS).await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_acknowledged_write_is_lost_when_the_primary_is_killed() {
    expect_failover(Server::kill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_acknowledged_write_is_lost_in_a_planned_failover() {
    expect_failover(Server::stop).await;
}
