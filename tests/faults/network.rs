//! Faults of the network between the service and PostgreSQL.

use std::time::Instant;

use futures_util::future::join_all;
use reqwest::Method;
use tokio::task::block_in_place;

use super::load::Load;
use super::responses::{attempt, expect_no_leak, expect_refused};
use crate::client::{Client, User, eventually, list, text};
use crate::port::Port;
use crate::private_postgres::Server;
use crate::process::{HANG, Home, Service};
use crate::proxy::{Network, Proxy};

const CONNECTIONS: usize = 5;

/// A service that connects to PostgreSQL through a proxy, which simulates faults of the network. Its timeouts are short.
struct Distant {
    server: Server,
    proxy: Proxy,
    service: Service,
    _home: Home,
}

impl Distant {
    async fn start() -> Self {
        let port = Port::new();
        let address = port.address();
        let server = block_in_place(|| Server::start(address.port(), |_| "-c listen_addresses=127.0.0.1".to_owned()));
        block_in_place(|| server.database("agora"));
        let proxy = Proxy::start(address).await;
        let home = Home::new();
        let service = block_in_place(|| {
            home.start_with(&[
                ("AGORA_DATABASE_URL", &format!("postgres://agora@{}/agora?sslmode=disable", proxy.address)),
                ("AGORA_DATABASE_CONNECTIONS", &CONNECTIONS.to_string()),
                ("AGORA_DATABASE_CONNECT_TIMEOUT", "2s"),
                ("AGORA_DATABASE_STATEMENT_TIMEOUT", "4s"),
                ("AGORA_DATABASE_WAIT_TIMEOUT", "3s"),
            ])
        });
        Self { server, proxy, service, _home: home }
    }

    async fn end(self) {
        expect_no_leak(&self.server, "agora", CONNECTIONS).await;
        self.service.stop();
    }
}

/// Returns the builder of a request that needs the database.
fn reading(api: &Client, user: &User) -> reqwest::RequestBuilder {
    api.request_as(user, Method::GET, "/api/posts/following/all")
}

/// Waits until requests succeed again.
async fn recovers(api: &Client, user: &User) {
    eventually("a request succeeds", async || attempt(reading(api, user)).await.map(|answer| answer.expect(200))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_acknowledged_write_is_lost_when_connections_are_cut() {
    let distant = Distant::start().await;
    let load = Load::start(&distant.service.api).await;
    for _ in 0..5 {
        load.successes(50).await;
        distant.proxy.cut();
    }
    load.successes(100).await;
    load.finish().await;
    distant.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_connection_is_cut_is_stored_completely_or_not_at_all() {
    let distant = Distant::start().await;
    let api = distant.service.api.clone();
    let (alice, bob) = (api.user("alice").await, api.user("bob").await);
    let post = text(&api.post(&alice, "Hello", None).await["id"]);
    let mut blocker = block_in_place(|| distant.server.session("agora"));
    // A comment locks the post before it reads the account of the author.
    let lock = "BEGIN; SELECT id FROM users FOR UPDATE;";
    block_in_place(|| blocker.run(lock));
    let commented = tokio::spawn(attempt(api.commenting(&bob, &post, "Welcome")));
    eventually("the comment waits in the database", async || {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock';";
        let waits = block_in_place(|| distant.server.session("agora").run(waiting));
        (waits.trim() == "1").then_some(())
    })
    .await;
    distant.proxy.cut();
    expect_refused(commented.await.unwrap());
    block_in_place(|| blocker.run("COMMIT;"));
    recovers(&api, &bob).await;
    // The server may have completed the statement or not.
    let counted = api.view(&bob, &post).await["commentCount"].as_u64();
    let comments = list(&api.get(&bob, &format!("/api/comments/all/{post}")).await.expect(200).data()).len();
    assert_eq!(counted, u64::try_from(comments).ok());
    assert!(comments <= 1, "{comments} comments");
    distant.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_refused_while_the_network_stalls_and_succeed_afterwards() {
    let distant = Distant::start().await;
    let api = distant.service.api.clone();
    let alice = api.user("alice").await;
    distant.proxy.set(Network::Swallows);
    // First on existing connections, then on new ones, with more requests than connections.
    for requests in [1, 3 * CONNECTIONS, 1] {
        let attempts = (0..requests).map(|_| attempt(reading(&api, &alice)));
        join_all(attempts).await.into_iter().for_each(expect_refused);
    }
    distant.proxy.set(Network::Works);
    recovers(&api, &alice).await;
    api.post(&alice, "Back again", None).await;
    distant.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_refused_at_once_while_the_server_refuses_connections() {
    let distant = Distant::start().await;
    let api = distant.service.api.clone();
    let alice = api.user("alice").await;
    distant.proxy.set(Network::Refuses);
    distant.proxy.cut();
    let begun = Instant::now();
    for _ in 0..50 {
        expect_refused(attempt(reading(&api, &alice)).await);
    }
    // If each request had waited for a connection, this would take two and a half minutes.
    assert!(begun.elapsed() < HANG, "{:?}", begun.elapsed());
    distant.proxy.set(Network::Works);
    recovers(&api, &alice).await;
    distant.end().await;
}
