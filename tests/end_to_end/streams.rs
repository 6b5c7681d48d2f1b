//! Live updates: events are delivered despite lost connections, slow readers, crashes and several nodes, and streams end with
//! their sessions.

use std::collections::BTreeSet;

use reqwest::Method;
use tokio::task::block_in_place;

use crate::client::{Client, PASSWORD, User, text};
use crate::private_postgres;
use crate::process::{Home, Service};
use crate::sse::Event;

mod cuts;
mod ends;
mod losses;
mod tickets;

/// The nodes of one test, each with a separate data directory.
struct Nodes {
    homes: Vec<Home>,
    /// The URL of the PostgreSQL database that they share; without one, there is a single node on SQLite.
    database: Option<String>,
}

impl Nodes {
    fn on_sqlite() -> Self {
        Self { homes: vec![Home::new()], database: None }
    }

    fn on_postgres(count: usize) -> Self {
        Self::on(block_in_place(private_postgres::fresh_database), count)
    }

    fn on(database: String, count: usize) -> Self {
        Self { homes: (0..count).map(|_| Home::new()).collect(), database: Some(database) }
    }

    /// Starts a node, with an administrator `root`.
    fn start(&self, node: usize, further: &[(&str, &str)]) -> Service {
        let mut variables = vec![
            ("AGORA_ADMIN_USERNAME", "root"),
            ("AGORA_ADMIN_EMAIL", "root@example.org"),
            ("AGORA_ADMIN_PASSWORD", PASSWORD),
            ("AGORA_JWT_SECRET", "a secret that all nodes have in common"),
        ];
        if let Some(url) = &self.database {
            variables.extend([("AGORA_DATABASE_URL", url.as_str()), ("AGORA_MEDIA_URL", "memory:")]);
        }
        variables.extend(further);
        block_in_place(|| self.homes[node].start_with(&variables))
    }

    fn start_all(&self, further: &[(&str, &str)]) -> Vec<Service> {
        (0..self.homes.len()).map(|node| self.start(node, further)).collect()
    }
}

fn apis(nodes: &[Service]) -> Vec<Client> {
    nodes.iter().map(|node| node.api.clone()).collect()
}

fn stop(nodes: Vec<Service>) {
    for node in nodes {
        node.stop();
    }
}

/// Registers accounts with these names.
async fn users(api: &Client, names: impl Iterator<Item = String>) -> Vec<User> {
    let registered = names.map(|name| {
        let api = api.clone();
        async move { api.user(&name).await }
    });
    futures_util::future::join_all(registered).await
}

/// Publishes a post; returns its id.
async fn publish(api: &Client, author: &User, content: &str) -> String {
    text(&api.post(author, content, None).await["id"])
}

/// Returns the value of a metric.
async fn metric(address: &str, name: &str) -> f64 {
    let page = Client::new(address).fetch("").await.expect(200).text();
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name}:\n{page}")).parse().unwrap()
}

/// Checks that no event occurs twice.
#[track_caller]
fn expect_no_repetition(events: &[Event]) {
    let mut ids = BTreeSet::new();
    let repeated: Vec<_> = events.iter().filter(|event| !ids.insert(&event.id)).collect();
    assert!(repeated.is_empty(), "{repeated:?}");
}

async fn ticket(api: &Client, user: &User) -> String {
    text(&api.call(user, Method::POST, "/api/events/ticket").await.expect(200).data()["ticket"])
}

fn with_ticket(api: &Client, ticket: &str) -> reqwest::RequestBuilder {
    api.request(Method::GET, &format!("/api/events?topics=public&ticket={ticket}"))
}
