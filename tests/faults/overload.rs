//! PostgreSQL is available, but statements take too long.

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use reqwest::Method;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::block_in_place;

use super::responses::{attempt, expect_no_leak, expect_refused};
use crate::client::{Client, JSON, User, eventually, request_bytes, text};
use crate::private_postgres;
use crate::private_postgres::Session;
use crate::process::{Home, Service};

/// The shared connection of small reads, the one of lists, and the pool.
const CONNECTIONS: usize = 2 + POOLED;

/// The number of connections in the pool, and so the maximum number of concurrent writes.
const POOLED: usize = 3;

/// The maximum number of concurrent reads on the shared connection.
const SHARED: usize = 16;

/// A service with few connections and short timeouts, on its own database, and another session there.
struct Small {
    database: String,
    other: Session,
    service: Service,
    alice: User,
    post: String,
    _home: Home,
}

impl Small {
    async fn start(parameters: &str, variables: &[(&str, &str)]) -> Self {
        let (database, url) = block_in_place(private_postgres::fresh_database_by_name);
        let home = Home::new();
        let (url, connections) = (format!("{url}{parameters}"), CONNECTIONS.to_string());
        let own = [("AGORA_DATABASE_URL", url.as_str()), ("AGORA_DATABASE_CONNECTIONS", connections.as_str())];
        let service = block_in_place(|| home.start_with(&[&own, variables].concat()));
        let alice = service.api.user("alice").await;
        let post = text(&service.api.post(&alice, "Hello", None).await["id"]);
        let other = block_in_place(|| private_postgres::shared().session(&database));
        Self { database, other, service, alice, post, _home: home }
    }

    fn api(&self) -> &Client {
        &self.service.api
    }

    /// Returns the builder of a request that waits while the posts are locked.
    fn reading(&self) -> reqwest::RequestBuilder {
        self.reading_as(&self.alice)
    }

    /// Returns the builder of that request by another user.
    fn reading_as(&self, reader: &User) -> reqwest::RequestBuilder {
        self.api().request_as(reader, Method::GET, &format!("/api/posts/by-id/{}", self.post))
    }

    fn lock_posts(&mut self) {
        block_in_place(|| self.other.run("BEGIN; LOCK TABLE posts;"));
    }

    fn release(&mut self) {
        block_in_place(|| self.other.run("ROLLBACK;"));
    }

    /// Waits until this many connections wait for the lock.
    async fn wait(&self, connections: usize) {
        let here = "(SELECT oid FROM pg_database WHERE datname = current_database())";
        let sql = format!("SELECT count(*) FROM pg_locks WHERE NOT granted AND database = {here};");
        eventually("the connections wait for the lock", async || {
            let mut session = block_in_place(|| private_postgres::shared().session(&self.database));
            (block_in_place(|| session.run(&sql)).trim() == connections.to_string()).then_some(())
        })
        .await;
    }

    async fn recovers(&self) {
        eventually("a request succeeds", async || attempt(self.reading()).await.map(|answer| answer.expect(200))).await;
    }

    async fn end(self) {
        self.service.api.post(&self.alice, "Done", None).await;
        expect_no_leak(private_postgres::shared(), &self.database, CONNECTIONS).await;
        self.service.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_beyond_the_number_of_connections_are_refused_until_connections_are_free() {
    let mut small = Small::start("", &[("AGORA_DATABASE_WAIT_TIMEOUT", "1s")]).await;
    // One account each, since the requests of an account wait for each other.
    let api = small.api();
    let readers = join_all((0..4 * SHARED).map(async |n| api.user(&format!("reader{n}")).await)).await;
    small.lock_posts();
    let mut reads: FuturesUnordered<_> =
        readers.iter().map(|reader| tokio::spawn(attempt(small.reading_as(reader)))).collect();
    let writes = (0..10).map(|n| small.api().posting(&small.alice, &format!("Post {n}"), None));
    let mut writes: FuturesUnordered<_> = writes.map(|post| tokio::spawn(attempt(post))).collect();
    // Requests with a connection wait for the lock, the others for a connection, until their timeout.
    for _ in 0..3 * SHARED {
        expect_refused(reads.next().await.unwrap().unwrap());
    }
    for _ in 0..10 - POOLED {
        expect_refused(writes.next().await.unwrap().unwrap());
    }
    small.release();
    while let Some(read) = reads.next().await {
        read.unwrap().expect("it had a connection").expect(200);
    }
    while let Some(write) = writes.next().await {
        write.unwrap().expect("it had a connection").expect(201);
    }
    small.recovers().await;
    small.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_of_an_account_are_serialized_and_leave_connections_for_others() {
    let variables = [("AGORA_DATABASE_WAIT_TIMEOUT", "1s"), ("AGORA_WORKERS", "2")];
    let mut small = Small::start("", &variables).await;
    let bob = small.api().user("bob").await;
    small.lock_posts();
    let write = |writer: &User| {
        let body = serde_json::json!({ "text": "A post" });
        tokio::spawn(attempt(small.api().request_as(writer, Method::POST, "/api/posts/create").json(&body)))
    };
    // As many as there are connections for writes, but only one of them uses a connection.
    let mut writes: Vec<_> = (0..POOLED).map(|_| write(&small.alice)).collect();
    small.wait(1).await;
    writes.push(write(&bob));
    small.wait(2).await;
    small.release();
    for written in writes {
        written.await.unwrap().expect("the write succeeds").expect(201);
    }
    small.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_client_disconnected_still_delays_the_next_write_of_its_account() {
    let mut small = Small::start("", &[("AGORA_WORKERS", "2")]).await;
    let bob = small.api().user("bob").await;
    let body = serde_json::json!({ "text": "Once" });
    small.lock_posts();
    let fields = format!("{}{JSON}Idempotency-Key: once\r\n", small.alice.authorization());
    let mut client = TcpStream::connect(small.api().url().trim_start_matches("http://")).await.unwrap();
    client.write_all(&request_bytes("POST /api/posts/create", &fields, body.to_string())).await.unwrap();
    small.wait(1).await;
    // Resets the connection, instead of only closing the sending side.
    client.set_zero_linger().unwrap();
    drop(client);
    // The retry waits for the first request, instead of getting a 409.
    let again = small.api().request_as(&small.alice, Method::POST, "/api/posts/create");
    let again = tokio::spawn(attempt(again.header("Idempotency-Key", "once").json(&body)));
    let other = tokio::spawn(attempt(small.api().posting(&bob, "Meanwhile", None)));
    small.wait(2).await;
    small.release();
    other.await.unwrap().expect("the write succeeds").expect(201);
    let again = again.await.unwrap().expect("the retry succeeds");
    assert_eq!((again.status, again.header("idempotency-replayed")), (201, Some("true")));
    small.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_of_a_lock_is_a_503() {
    let mut small = Small::start("", &[("AGORA_DATABASE_STATEMENT_TIMEOUT", "2s")]).await;
    small.lock_posts();
    let like = small.api().request_as(&small.alice, Method::PUT, &format!("/api/posts/like/{}", small.post));
    let ((), ()) = tokio::join!(async { expect_refused(attempt(small.reading()).await) }, async {
        expect_refused(attempt(like).await)
    });
    small.release();
    small.recovers().await;
    assert_eq!(small.api().view(&small.alice, &small.post).await["likeCount"], 0);
    small.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_of_a_statement_is_a_503() {
    // Without a lock timeout, so that the statement timeout expires first.
    let parameters = "?options=-c%20lock_timeout%3D0";
    let mut small = Small::start(parameters, &[("AGORA_DATABASE_STATEMENT_TIMEOUT", "2s")]).await;
    small.lock_posts();
    expect_refused(attempt(small.reading()).await);
    small.release();
    small.recovers().await;
    small.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_whose_clients_disconnect_leave_no_connection_in_a_transaction() {
    let mut small = Small::start("", &[]).await;
    small.lock_posts();
    let gone = [small.api().posting(&small.alice, "Gone", None), small.reading()];
    let gone = gone.map(|request| tokio::spawn(request.send()));
    small.wait(2).await;
    gone.iter().for_each(tokio::task::JoinHandle::abort);
    small.release();
    small.recovers().await;
    for n in 0..10 {
        let post = text(&small.api().post(&small.alice, &format!("Still here {n}"), None).await["id"]);
        assert_eq!(small.api().view(&small.alice, &post).await["likeCount"], 0);
    }
    small.end().await;
}
