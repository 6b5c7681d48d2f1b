//! Two nodes with the same database and the same bucket.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use std::{fs, thread};

use reqwest::{Method, RequestBuilder};
use serde_json::json;
use tokio::task::{JoinSet, block_in_place};

use crate::client::{Client, PASSWORD, User, eventually, key, list, text};
use crate::picture::{expect_picture, picture};
use crate::private_postgres;
use crate::private_s3::S3Server;
use crate::process::{Home, Service};
use crate::smtp::SmtpServer;

/// The maximum time until a revocation on one node takes effect on the others.
const REVOCATION_DELAY: Duration = Duration::from_secs(5);

/// The nodes of a test. Each has its own data directory; they share the database, the images and the signing secret.
struct Cluster {
    database: String,
    url: String,
    homes: [Home; 2],
    s3: S3Server,
}

impl Cluster {
    fn new() -> Self {
        let (database, url) = block_in_place(private_postgres::fresh_database_by_name);
        let s3 = S3Server::start();
        s3.make_bucket("agora");
        Self { database, url, homes: [Home::new(), Home::new()], s3 }
    }

    /// Starts both nodes concurrently.
    fn start(&self, further: &[(&str, &str)]) -> [Service; 2] {
        let aws = self.s3.variables();
        let mut variables = vec![
            ("AGORA_DATABASE_URL", self.url.as_str()),
            ("AGORA_MEDIA_URL", "s3://agora/images"),
            ("AGORA_JWT_SECRET", "a secret that all nodes have in common"),
            ("AGORA_ADMIN_USERNAME", "root"),
            ("AGORA_ADMIN_EMAIL", "root@example.org"),
            ("AGORA_ADMIN_PASSWORD", PASSWORD),
        ];
        variables.extend(further);
        variables.extend(aws.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let start = |home: &Home| home.start_with(&variables);
        block_in_place(|| {
            thread::scope(|scope| {
                let started = self.homes.each_ref().map(|home| scope.spawn(|| start(home)));
                started.map(|started| started.join().unwrap())
            })
        })
    }
}

fn stop(nodes: [Service; 2]) {
    for node in nodes {
        node.stop();
    }
}

fn with_json(api: &Client, user: &User, method: Method, path: &str, body: serde_json::Value) -> RequestBuilder {
    api.request_as(user, method, path).json(&body)
}

/// Makes a change on one node. Checks that a request then gets this status at once on that node, and within
/// [`REVOCATION_DELAY`] on the other, which allowed it before.
async fn expect_revocation(
    [here, there]: [&Client; 2],
    change: RequestBuilder,
    request: impl Fn(&Client) -> RequestBuilder,
    status: u16,
) {
    there.send(request(there)).await.expect(200);
    here.send(change).await.expect(200);
    let changed = Instant::now();
    here.send(request(here)).await.expect(status);
    loop {
        let asked = changed.elapsed();
        let answer = there.send(request(there)).await;
        if answer.status != 200 {
            answer.expect(status);
            return;
        }
        assert!(asked < REVOCATION_DELAY, "still allowed after {asked:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_on_one_node_are_visible_on_the_other() {
    let cluster = Cluster::new();
    let nodes = cluster.start(&[]);
    let [a, b] = nodes.each_ref().map(|node| &node.api);
    // A token of either node is valid on the other.
    let (alice, bob) = (a.user("alice").await, b.user("bob").await);
    let post = a.post(&alice, "From one node", Some(&picture())).await;
    let id = text(&post["id"]);
    let seen = b.view(&alice, &id).await;
    assert_eq!((key(&seen["image"]), &seen["content"]), (key(&post["image"]), &post["content"]));
    expect_picture(&b.image(&seen["image"]).await);
    b.call(&bob, Method::PUT, &format!("/api/posts/like/{id}")).await.expect(200);
    b.send(b.commenting(&bob, &id, "From another")).await.expect(201);
    let seen = a.view(&alice, &id).await;
    assert_eq!((&seen["likeCount"], &seen["commentCount"]), (&json!(1), &json!(1)));
    // An image that was deleted on one node is not served by the other.
    b.call(&alice, Method::DELETE, &format!("/api/posts/delete/{id}")).await.expect(200);
    a.fetch(&format!("/media/{}", key(&post["image"]))).await.expect(404);
    stop(nodes);
}

#[tokio::test(flavor = "multi_thread")]
async fn revocations_on_one_node_take_effect_on_the_other_within_seconds() {
    let cluster = Cluster::new();
    let nodes = cluster.start(&[]);
    let apis = nodes.each_ref().map(|node| &node.api);
    let [a, _] = apis;
    let root = a.log_in("root").await;
    let user = async |name: &str| a.user(name).await;
    let me = |user: &User| {
        let user = user.clone();
        move |api: &Client| api.request_as(&user, Method::GET, "/api/users/me")
    };
    let log_out = async {
        let alice = user("alice").await;
        let change = a.request_as(&alice, Method::POST, "/api/auth/logout");
        expect_revocation(apis, change, me(&alice), 401).await;
    };
    let disable = async {
        let bob = user("bob").await;
        let path = format!("/api/users/{}/enabled", bob.id);
        let change = with_json(a, &root, Method::PUT, &path, json!({ "enabled": false }));
        expect_revocation(apis, change, me(&bob), 401).await;
    };
    let change_password = async {
        let carol = user("carol").await;
        let other = a.log_in("carol").await;
        let passwords = json!({ "currentPassword": PASSWORD, "newPassword": "another password" });
        let change = with_json(a, &other, Method::PUT, "/api/users/me/password", passwords);
        expect_revocation(apis, change, me(&carol), 401).await;
    };
    let demote = async {
        let dave = user("dave").await;
        let path = format!("/api/users/update/{}", dave.id);
        a.change_role(&root, &dave, "ADD", "ADMIN").await.expect(200);
        eventually("the role is effective on the other node", async || {
            (apis[1].get(&dave, "/api/users/all").await.status == 200).then_some(())
        })
        .await;
        let change = with_json(a, &root, Method::PUT, &path, json!({ "roleId": "ADMIN", "action": "REMOVE" }));
        let request = |api: &Client| api.request_as(&dave, Method::GET, "/api/users/all");
        expect_revocation(apis, change, request, 403).await;
    };
    tokio::join!(log_out, disable, change_password, demote);
    stop(nodes);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_mail_is_sent_once_whichever_node_queued_it() {
    const USERS: usize = 20;
    let (cluster, smtp) = (Cluster::new(), block_in_place(SmtpServer::start));
    let variables = smtp.variables();
    let nodes = cluster.start(&variables.each_ref().map(|(name, value)| (*name, value.as_str())));
    for n in 0..USERS {
        let api = &nodes[n % 2].api;
        let user = api.user(&format!("user-{n}")).await;
        api.call(&user, Method::POST, "/api/users/me/email/verification").await.expect(202);
    }
    // This mail is the last one in the queue.
    nodes[0].api.post_json("/api/auth/password/forgot", &json!({ "identifier": "root" })).await.expect(202);
    eventually("the last mail is sent", async || {
        smtp.taken().iter().any(|mail| mail.to() == "root@example.org").then_some(())
    })
    .await;
    let taken = smtp.taken();
    let addresses: BTreeSet<_> = taken.iter().map(|mail| mail.to().to_owned()).collect();
    assert_eq!((taken.len(), addresses.len()), (USERS + 1, USERS + 1), "{addresses:?}");
    // A token that was used on one node is rejected by the other.
    let verified = json!({ "token": taken[0].token() });
    nodes[1].api.post_json("/api/auth/email/verify", &verified).await.expect(200);
    let again = nodes[0].api.post_json("/api/auth/email/verify", &verified).await;
    again.expect_invalid(&["token"]);
    stop(nodes);
    assert_eq!(smtp.taken().len(), USERS + 1, "a mail was sent twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_toggles_on_both_nodes_end_in_the_state_given_by_their_number() {
    let cluster = Cluster::new();
    let nodes = cluster.start(&[]);
    let apis = nodes.each_ref().map(|node| node.api.clone());
    let alice = apis[0].user("alice").await;
    for (toggles, liked) in [(100, false), (101, true)] {
        let post = text(&apis[0].post(&alice, "Like me", None).await["id"]);
        let mut answers = JoinSet::new();
        for n in 0..toggles {
            let (api, alice, path) = (apis[n % 2].clone(), alice.clone(), format!("/api/posts/like/{post}"));
            answers.spawn(async move { api.call(&alice, Method::POST, &path).await });
        }
        for answer in answers.join_all().await {
            answer.expect(200);
        }
        for api in &apis {
            let view = api.view(&alice, &post).await;
            assert_eq!((view["likedByMe"].as_bool(), view["likeCount"].as_u64()), (Some(liked), Some(liked.into())));
        }
    }
    stop(nodes);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_several_concurrent_registrations_of_a_name_on_both_nodes_succeeds() {
    let cluster = Cluster::new();
    let nodes = cluster.start(&[]);
    let mut answers = JoinSet::new();
    for n in 0..40 {
        let api = nodes[n % 2].api.clone();
        answers.spawn(async move { api.register("alice").await.status });
    }
    let mut statuses = answers.join_all().await;
    statuses.sort_unstable();
    assert_eq!(statuses, [[201].as_slice(), &[409; 39]].concat());
    nodes[0].api.log_in("alice").await;
    nodes[1].api.log_in("alice").await;
    stop(nodes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_to_both_nodes_under_one_idempotency_key_is_executed_once() {
    const KEYS: usize = 50;
    let cluster = Cluster::new();
    let nodes = cluster.start(&[]);
    let apis = nodes.each_ref().map(|node| node.api.clone());
    let alice = apis[0].user("alice").await;
    let publish = |node: usize, key: usize| {
        let content = format!("post {key}");
        let request = apis[node].request_as(&alice, Method::POST, "/api/posts/create");
        let request = request.header("Idempotency-Key", format!("key-{key}")).json(&json!({ "text": content }));
        let api = apis[node].clone();
        async move { api.send(request).await }
    };
    let mut answers = JoinSet::new();
    for key in 0..KEYS {
        for copy in 0..4 {
            answers.spawn(publish(copy % 2, key));
        }
    }
    for answer in answers.join_all().await {
        assert!([201, 409].contains(&answer.status), "{}", answer.text());
    }
    let posts = apis[1].get(&alice, &format!("/api/posts/user/{}", alice.id)).await.expect(200).data();
    assert_eq!(list(&posts).len(), KEYS);
    for key in 0..KEYS {
        let answers = [publish(0, key).await.expect(201).data(), publish(1, key).await.expect(201).data()];
        assert_eq!(answers[0]["id"], answers[1]["id"]);
    }
    stop(nodes);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cursor_of_one_node_works_on_the_other() {
    let cluster = Cluster::new();
    let nodes = cluster.start(&[]);
    let [a, b] = nodes.each_ref().map(|node| &node.api);
    let alice = a.user("alice").await;
    let mut written = Vec::new();
    for n in 0..7 {
        written.push(text(&[a, b][n % 2].post(&alice, &format!("Post {n}"), None).await["id"]));
    }
    written.reverse();
    let mut seen = Vec::new();
    let mut next = Some(format!("/api/posts/{}/all?size=2", alice.id));
    let mut turns = [a, b].into_iter().cycle();
    while let Some(path) = next.take() {
        let api = turns.next().unwrap();
        let page = api.get(&alice, &path).await;
        // The link names the node that responded, but its path and query work on any node.
        next = page.link("next", api.url());
        seen.extend(list(&page.data()).iter().map(|post| text(&post["id"])));
    }
    drop(turns);
    // The order within a millisecond is undefined, since the nodes create ids independently. But each post is listed once.
    let sorted = |ids: &[String]| {
        let mut ids = ids.to_vec();
        ids.sort();
        ids
    };
    assert_eq!(sorted(&seen), sorted(&written));
    stop(nodes);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_one_node_sweeps_at_a_time() {
    let cluster = Cluster::new();
    let key = "ffffffffffffffffffffffffffffffff.png";
    let orphan = cluster.s3.bucket("agora").join("images/ff").join(key);
    fs::create_dir_all(orphan.parent().unwrap()).unwrap();
    fs::write(&orphan, picture()).unwrap();
    // Holds the lock of a node that sweeps.
    let mut sweeper = block_in_place(|| private_postgres::shared().session(&cluster.database));
    block_in_place(|| sweeper.run("SELECT pg_advisory_lock(418347184738);"));
    let nodes = cluster.start(&[("AGORA_SWEEP_INTERVAL", "1s")]);
    // As if an upload had not written its row.
    let record = format!("INSERT INTO unnamed_images (key, since, condemned) VALUES ('{key}', 'epoch', false);");
    block_in_place(|| sweeper.run(&record));
    let tries = nodes.each_ref().map(|node| node.log().matches("another node is running it").count());
    for (node, tries) in nodes.iter().zip(tries) {
        eventually("the node has tried more than once", async || {
            (node.log().matches("another node is running it").count() > tries + 1).then_some(())
        })
        .await;
    }
    assert!(orphan.exists());
    // PostgreSQL releases the lock when its connection is closed.
    drop(sweeper);
    eventually("the orphan is deleted", async || (!orphan.exists()).then_some(())).await;
    stop(nodes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_the_shared_secret_logs_a_warning() {
    let cluster = Cluster::new();
    let nodes = cluster.start(&[]);
    let alice = nodes[0].api.user("alice").await;
    let home = Home::new();
    let misconfigured = home.start_with(&[("AGORA_DATABASE_URL", &cluster.url), ("AGORA_MEDIA_URL", "memory:")]);
    misconfigured.api.get(&alice, "/api/users/me").await.expect(401);
    assert!(
        misconfigured.log().contains("set AGORA_JWT_SECRET to the same value on every node"),
        "{}",
        misconfigured.log()
    );
    assert!(nodes.iter().all(|node| !node.log().contains("AGORA_JWT_SECRET")));
    misconfigured.stop();
    stop(nodes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_keeps_working_after_the_other_was_killed() {
    let cluster = Cluster::new();
    let [one, other] = cluster.start(&[]);
    let alice = one.api.user("alice").await;
    let post = text(&one.api.post(&alice, "Hello", Some(&picture())).await["id"]);
    one.kill();
    let view = other.api.view(&alice, &post).await;
    expect_picture(&other.api.image(&view["image"]).await);
    other.api.post(&alice, "Still here", None).await;
    // The killed node can be started again.
    let [one, another] = cluster.start(&[]);
    assert_eq!(list(&one.api.get(&alice, &format!("/api/posts/{}/all", alice.id)).await.expect(200).data()).len(), 2);
    stop([other, one]);
    another.stop();
}
