//! Lists that are read from a replica of PostgreSQL, which may lag behind or be unavailable.

use std::time::Instant;

use reqwest::Method;
use serde_json::json;
use tokio::task::block_in_place;

use super::responses::attempt;
use crate::client::{Client, HANG, PASSWORD, User, eventually, list, text};
use crate::private_postgres::{Server, Session};
use crate::process::{Home, Service};

const PUBLIC: &str = "/api/posts/public";
const FEED: &str = "/api/posts/following/all";

/// A server, its replica, and the homes of nodes that read lists from the replica.
struct Replicated {
    primary: Server,
    replica: Server,
    homes: [Home; 2],
}

impl Replicated {
    fn new() -> Self {
        block_in_place(|| {
            let primary = Server::start(5432, |_| "-c listen_addresses=".to_owned());
            primary.database("agora");
            let replica = primary.replica(5433);
            // Asynchronous replication, so that commits do not wait for the replica.
            primary.session("postgres").run("ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf();");
            Self { primary, replica, homes: [Home::new(), Home::new()] }
        })
    }

    async fn start(&self, home: &Home) -> Service {
        self.start_for(home, "100").await
    }

    /// Starts a node on which the replica serves this percentage of accounts.
    async fn start_for(&self, home: &Home, share: &str) -> Service {
        let url = |server: &Server| format!("postgres://agora@{}/agora", server.host());
        let service = home.start_with(&[
            ("AGORA_DATABASE_URL", &url(&self.primary)),
            ("AGORA_DATABASE_READ_URL", &url(&self.replica)),
            ("AGORA_DATABASE_READ_SHARE", share),
            ("AGORA_JWT_SECRET", "a secret that all nodes have in common"),
            ("AGORA_ADMIN_USERNAME", "root"),
            ("AGORA_ADMIN_EMAIL", "root@example.org"),
            ("AGORA_ADMIN_PASSWORD", PASSWORD),
        ]);
        uses_replica(&service, 1).await;
        service
    }

    /// Returns the number of connections to the replica whose last query read a feed.
    fn connections_that_read_feeds(&self) -> usize {
        let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'agora' AND query ILIKE '%follow_version%';";
        block_in_place(|| self.replica.session("postgres").run(count).trim().parse().unwrap())
    }

    /// Waits until the replica has replayed all commits, and pauses the replay.
    fn freeze(&self) {
        block_in_place(|| {
            let position = self.primary.session("postgres").run("SELECT pg_current_wal_insert_lsn();");
            let mut replica = self.replica.session("postgres");
            let is_shown = format!("SELECT pg_last_wal_replay_lsn() >= '{}';", position.trim());
            eventually_is(&mut replica, &is_shown, "t");
            replica.run("SELECT pg_wal_replay_pause();");
            eventually_is(&mut replica, "SELECT pg_get_wal_replay_pause_state();", "paused");
        });
    }

    /// Resumes the replay.
    fn unfreeze(&self) {
        block_in_place(|| self.replica.session("postgres").run("SELECT pg_wal_replay_resume();"));
    }
}

/// Repeats a query until it returns this value.
fn eventually_is(session: &mut Session, query: &str, expected: &str) {
    let begun = Instant::now();
    while session.run(query).trim() != expected {
        assert!(begun.elapsed() < HANG, "{query}");
    }
}

/// Waits until a node has logged this many times that it reads lists from the replica.
async fn uses_replica(service: &Service, times: usize) {
    let count = || service.log().matches("lists are read from the replica").count();
    eventually("lists are read from the replica", async || (count() >= times).then_some(())).await;
}

/// Returns the texts of the posts of a list.
async fn texts(api: &Client, user: &User, path: &str) -> Vec<String> {
    let answer = api.get(user, path).await.expect(200);
    list(&answer.json()["data"]).iter().map(|post| text(&post["content"])).collect()
}

async fn eventually_texts(api: &Client, user: &User, path: &str, expected: &[&str]) {
    eventually(&format!("{expected:?} in {path}"), async || (texts(api, user, path).await == expected).then_some(()))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_read_their_own_writes_on_every_node_however_far_the_replica_lags() {
    let servers = Replicated::new();
    let (one, two) = (servers.start(&servers.homes[0]).await, servers.start(&servers.homes[1]).await);
    let (here, there) = (&one.api, &two.api);
    let [author, reader, root] = [here.user("author").await, here.user("reader").await, here.log_in("root").await];
    let first = here.post(&author, "first", None).await;
    eventually_texts(there, &reader, PUBLIC, &["first"]).await;
    let catalog = async |user: Option<&User>| {
        let request = match user {
            Some(user) => there.request_as(user, Method::GET, "/api/products/findAll"),
            None => there.request(Method::GET, "/api/products/findAll"),
        };
        list(&there.send(request).await.expect(200).json()["products"]).len()
    };

    servers.freeze();
    for n in 2..6 {
        let content = format!("number {n}");
        here.post(&author, &content, None).await;
        assert_eq!(texts(there, &author, PUBLIC).await[0], content, "on another node, at once");
        assert_eq!(texts(here, &author, PUBLIC).await[0], content);
    }
    // Accounts that wrote nothing are served by the replica, once the node knows that it has replayed their registration.
    eventually_texts(there, &reader, PUBLIC, &["first"]).await;
    here.product(&root, json!({ "sku": "A-1", "name": "Lamp" })).await;
    assert_eq!(
        catalog(Some(&root)).await,
        1,
        "from the primary, due to the token, which the endpoint does not require"
    );
    assert_eq!(catalog(None).await, 0, "from the replica, without a token");
    let like = format!("/api/posts/like/{}", text(&first["id"]));
    here.call(&reader, Method::POST, &like).await.expect(200);
    assert_eq!(texts(there, &reader, PUBLIC).await.len(), 5, "from the primary, after a write");

    // A crash of the primary loses the record of who wrote.
    block_in_place(|| {
        servers.primary.kill();
        servers.primary.restart();
    });
    let posts = || there.request_as(&author, Method::GET, PUBLIC);
    let answer =
        eventually("a list is read", async || attempt(posts()).await.filter(|answer| answer.status == 200)).await;
    assert_eq!(list(&answer.expect(200).json()["data"]).len(), 5, "from the primary");

    servers.unfreeze();
    let late = here.user("late").await;
    eventually_texts(there, &late, "/api/posts/public?size=1", &["number 5"]).await;
    for service in [one, two] {
        service.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_reads_from_the_replica_still_records_who_wrote() {
    let servers = Replicated::new();
    let without = servers.start_for(&servers.homes[0], "0").await;
    let with = servers.start(&servers.homes[1]).await;
    let [author, reader] = [without.api.user("author").await, without.api.user("reader").await];
    without.api.post(&author, "first", None).await;
    eventually_texts(&with.api, &reader, PUBLIC, &["first"]).await;

    servers.freeze();
    without.api.post(&author, "second", None).await;
    assert_eq!(texts(&with.api, &author, PUBLIC).await.len(), 2, "from the primary, after a write");
    // From the replica, once the node knows that it has replayed the registration.
    eventually_texts(&with.api, &reader, PUBLIC, &["first"]).await;
    assert_eq!(texts(&without.api, &reader, PUBLIC).await.len(), 2, "from the primary");
    for service in [without, with] {
        service.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_read_from_the_primary_while_the_replica_is_unavailable() {
    let servers = Replicated::new();
    let service = servers.start(&servers.homes[0]).await;
    let author = service.api.user("author").await;
    let reader = service.api.user("reader").await;
    service.api.post(&author, "first", None).await;
    eventually_texts(&service.api, &reader, PUBLIC, &["first"]).await;

    block_in_place(|| servers.replica.kill());
    for _ in 0..20 {
        assert_eq!(texts(&service.api, &reader, PUBLIC).await, ["first"]);
        assert_eq!(texts(&service.api, &reader, "/api/posts/public?size=1").await, ["first"]);
    }
    eventually("the service logs it", async || {
        service.log().contains("lists are not read from the replica").then_some(())
    })
    .await;
    service.api.post(&author, "second", None).await;
    assert_eq!(texts(&service.api, &reader, PUBLIC).await.len(), 2);

    block_in_place(|| servers.replica.restart());
    uses_replica(&service, 2).await;
    assert_eq!(texts(&service.api, &reader, PUBLIC).await.len(), 2);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cached_feed_includes_posts_of_transactions_that_commit_late() {
    let servers = Replicated::new();
    let service = servers.start(&servers.homes[0]).await;
    let api = &service.api;
    let [slow, quick, reader] = [api.user("slow").await, api.user("quick").await, api.user("reader").await];
    for author in [&slow, &quick] {
        api.call(&reader, Method::POST, &format!("/api/follow/{}", author.id)).await.expect(200);
    }
    let late = api.post(&slow, "late", None).await;
    let hide = api.request_as(&slow, Method::PUT, &format!("/api/posts/update/{}", text(&late["id"])));
    api.send(hide.json(&json!({ "visibility": "PRIVATE" }))).await.expect(200);
    api.post(&quick, "first", None).await;
    eventually("a feed from the replica", async || {
        let is_read = texts(api, &reader, FEED).await == ["first"];
        (is_read && servers.connections_that_read_feeds() > 0).then_some(())
    })
    .await;

    // This transaction begins before the others, and commits after them.
    let mut session = block_in_place(|| servers.primary.session("agora"));
    let show = format!("BEGIN; UPDATE posts SET visibility = 0 WHERE id = '{}';", text(&late["id"]));
    block_in_place(|| session.run(&show));
    api.post(&quick, "second", None).await;
    eventually_texts(api, &reader, FEED, &["second", "first"]).await;
    api.post(&quick, "third", None).await;
    eventually_texts(api, &reader, FEED, &["third", "second", "first"]).await;
    block_in_place(|| session.run("COMMIT;"));
    eventually_texts(api, &reader, FEED, &["third", "second", "first", "late"]).await;
    service.stop();
}
