//! The system clock is set forward and back while the service runs: nothing is lost, repeated or outdated.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use agora_domain::clock::{Clock, Timestamp};
use reqwest::Method;
use reqwest::header::{ETAG, IF_MATCH, WWW_AUTHENTICATE};
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use crate::sse::EventStream;
use crate::support::{PUBLIC_URL, Response, Server, User};

const SECOND: i64 = 1000;
const HOUR: i64 = 3600 * SECOND;
const DAY: i64 = 24 * HOUR;

/// The time at which the tests begin to change things.
const START: i64 = 1_700_000_000_000;

/// The time of logins: before `START`, since a token is not valid before the time at which it was issued.
const LOGIN: i64 = START - 12 * DAY;

/// A clock that is set by the test.
struct ManualClock(AtomicI64);

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.0.load(Ordering::SeqCst))
    }
}

impl ManualClock {
    fn set(&self, millis: i64) {
        self.0.store(millis, Ordering::SeqCst);
    }
}

/// Starts a server with such a clock, whose tokens are valid for 30 days.
async fn start() -> (Server, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock(AtomicI64::new(LOGIN)));
    let server = Server::start_with_clock(Some(Arc::<ManualClock>::clone(&clock)), |config| {
        config.token_lifetime = Duration::from_secs(30 * 86_400);
        config.sweep_interval = Duration::from_millis(20);
    });
    (server.await, clock)
}

fn field(list: &[Value], field: &str) -> Vec<String> {
    list.iter().map(|entry| entry[field].as_str().unwrap().to_owned()).collect()
}

/// What was created: for each, the time, the position in the order of creation, and the text.
#[derive(Default)]
struct Created(Vec<(i64, usize, String)>);

impl Created {
    fn add(&mut self, at: i64, text: &str) {
        self.0.push((at, self.0.len(), text.to_owned()));
    }

    /// Returns the texts by time of creation; those of the same time in the order of creation.
    fn oldest_first(&self) -> Vec<String> {
        let mut created = self.0.clone();
        created.sort();
        created.into_iter().map(|(_, _, text)| text).collect()
    }

    fn newest_first(&self) -> Vec<String> {
        self.oldest_first().into_iter().rev().collect()
    }
}

#[tokio::test]
async fn lists_keep_their_order_and_pages_lose_and_repeat_nothing() {
    let (server, clock) = start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    server.follow(&bob, &alice).await;
    let commented = server.publish(&bob, "comments", "PUBLIC").await;
    let (feed, all) = ("/api/posts/following/all?size=3".to_owned(), format!("/api/posts/{}/all?size=4", alice.id));
    let comments_path = format!("/api/comments/all/{commented}?size=3");
    let (mut posts, mut comments) = (Created::default(), Created::default());
    let mut now = START;
    for n in 0..40 {
        // The clock goes forward or back, by a little or by much, or stands still.
        now += [1, -1, 0, HOUR, -2 * HOUR, 0, 1, DAY, -3 * HOUR, -1, HOUR / 2, -DAY][n % 12] + (n % 5) as i64 - 2;
        // A reader is halfway through the feed.
        let before = posts.newest_first();
        let first = server.get(&bob, &feed).await.expect(200);
        clock.set(now);
        let text = format!("post {n}");
        server.publish(&alice, &text, "PUBLIC").await;
        posts.add(now, &text);
        let mut seen = field(first.data().as_array().unwrap(), "content");
        if let Some(next) = first.next() {
            seen.extend(field(&server.walk(&bob, &next, "data").await, "content"));
        }
        seen.retain(|seen| *seen != text);
        assert_eq!(seen, before, "by one who had begun to read before {text}");

        for path in [&feed, &all] {
            let found = server.walk(&bob, path, "data").await;
            assert_eq!(field(&found, "content"), posts.newest_first(), "{path} after {text}");
        }
        let body = json!({ "postId": commented, "content": text });
        server.call_json(&alice, Method::POST, "/api/comments/create", body).await.expect(201);
        comments.add(now, &text);
        let found = server.walk(&bob, &comments_path, "data").await;
        assert_eq!(field(&found, "content"), comments.oldest_first(), "{text}");
    }
}

#[tokio::test]
async fn likes_and_follows_are_ordered_by_the_clock() {
    let (server, clock) = start().await;
    let alice = server.user("alice").await;
    let post = server.publish(&alice, "liked", "PUBLIC").await;
    let mut created = Created::default();
    for (n, at) in [0, HOUR, -HOUR, 2 * HOUR, -DAY, -DAY].into_iter().enumerate() {
        clock.set(LOGIN);
        let user = server.user(&format!("user-{n}")).await;
        clock.set(START + at);
        server.call(&user, Method::PUT, &format!("/api/posts/like/{post}")).await.expect(200);
        server.follow(&user, &alice).await;
        created.add(START + at, &user.name);
    }
    for path in [format!("/api/posts/{post}/likes?size=2"), format!("/api/follow/followers/{}?size=2", alice.id)] {
        let found = server.walk(&alice, &path, "data").await;
        assert_eq!(field(&found, "username"), created.newest_first(), "{path}");
    }
    let view = server.get(&alice, &format!("/api/posts/by-id/{post}")).await.expect(200).data();
    assert_eq!(field(view["likedBy"].as_array().unwrap(), "username"), created.newest_first());
}

#[tokio::test]
async fn an_edit_makes_a_later_version_even_if_the_clock_goes_back() {
    let (server, clock) = start().await;
    let root = server.root().await;
    clock.set(START);
    let post = server.publish(&root, "one", "PUBLIC").await;
    let product = server.product(&root, json!({})).await["id"].as_str().unwrap().to_owned();
    let post = (format!("/api/posts/by-id/{post}"), format!("/api/posts/update/{post}"), "text");
    let product = (format!("/api/products/{product}"), format!("/api/products/{product}"), "name");
    for (path, update, name) in [post, product] {
        let tag = async || server.get(&root, &path).await.expect(200).header(ETAG).unwrap().to_owned();
        let edit = async |tag: &str, text: &str| {
            let request = server.request(Method::PUT, &update).bearer_auth(&root.token).header(IF_MATCH, tag);
            server.send(request.json(&json!({ name: text }))).await
        };
        let version = |tag: &str| i64::from_str_radix(tag[3..].split(['-', '"']).next().unwrap(), 16).unwrap();
        let mut tags = vec![tag().await];
        for (n, at) in [-1, 0, 0, -DAY, HOUR, -HOUR, -10 * DAY].into_iter().enumerate() {
            clock.set(START + at);
            edit(tags.last().unwrap(), &format!("edit {n}")).await.expect(200);
            for stale in &tags {
                edit(stale, "stale").await.expect(412);
            }
            let tag = tag().await;
            assert!(version(&tag) > version(tags.last().unwrap()), "{tag} after {tags:?}");
            tags.push(tag);
        }
        clock.set(START);
    }
}

#[tokio::test]
async fn a_session_expires_by_the_clock_and_an_ended_one_stays_ended() {
    let (server, clock) = start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let status = async |user: &User| server.get(user, "/api/users/me").await.status;
    let refresh = async |user: &User| server.call(user, Method::POST, "/api/auth/refresh").await.status;
    // A token is valid from when it was issued, less a minute for differences between clocks, until it expires.
    let minute = 60 * SECOND;
    for (at, expected) in
        [(0, 200), (29 * DAY, 200), (31 * DAY, 401), (DAY, 200), (-minute, 200), (-minute - SECOND, 401), (0, 200)]
    {
        clock.set(LOGIN + at);
        assert_eq!((status(&alice).await, refresh(&alice).await), (expected, expected), "at {at}");
    }
    clock.set(START);
    server.call(&bob, Method::POST, "/api/auth/logout").await.expect(200);
    for at in [0, -1, -HOUR, -DAY, 3 * SECOND, HOUR] {
        clock.set(START + at);
        assert_eq!(status(&bob).await, 401, "at {at}");
    }
}

#[tokio::test]
async fn a_token_is_accepted_and_renewable_until_five_seconds_after_its_expiry() {
    let clock = Arc::new(ManualClock(AtomicI64::new(LOGIN)));
    let server = Server::start_with_clock(Some(Arc::<ManualClock>::clone(&clock)), |config| {
        config.token_lifetime = Duration::from_secs(60);
    });
    let server = server.await;
    let alice = server.user("alice").await;
    let lifetime = 60 * SECOND;
    // Five seconds are tolerated, since the clocks of nodes differ a little.
    for (at, expected) in [(lifetime - 1, 200), (lifetime, 200), (lifetime + 4999, 200), (lifetime + 5000, 401)] {
        clock.set(LOGIN + at);
        let answer = server.get(&alice, "/api/users/me").await.expect(expected);
        let challenge = (expected == 401).then_some("Bearer error=\"invalid_token\"");
        assert_eq!(answer.header(WWW_AUTHENTICATE), challenge, "at {at}");
        let code = (expected == 401).then_some("token_expired");
        assert_eq!(answer.json()["code"].as_str(), code, "at {at}");
        server.call(&alice, Method::POST, "/api/auth/refresh").await.expect(expected);
    }
    // A token that is renewed at the last moment gets a full lifetime.
    clock.set(LOGIN + lifetime + 4999);
    let renewed = server.call(&alice, Method::POST, "/api/auth/refresh").await.expect(200).json();
    let renewed = User { token: renewed["token"].as_str().unwrap().to_owned(), ..alice };
    clock.set(LOGIN + 2 * lifetime + 4999);
    server.get(&renewed, "/api/users/me").await.expect(200);
    server.call(&renewed, Method::POST, "/api/auth/logout").await.expect(200);
    server.get(&renewed, "/api/users/me").await.expect(401);
}

#[tokio::test]
async fn an_idempotency_key_is_remembered_for_a_day_and_longer_if_the_clock_is_set_back() {
    let (server, clock) = start().await;
    let alice = server.user("alice").await;
    clock.set(START);
    let send = async |at: i64| -> Response {
        clock.set(START + at);
        let request = server.request(Method::POST, "/api/posts/create").bearer_auth(&alice.token);
        let request = request.header("idempotency-key", "one").json(&json!({ "text": "once" }));
        server.send(request).await.expect(201)
    };
    let first = send(0).await;
    for at in [SECOND, -DAY, -10 * DAY, 0, DAY - SECOND] {
        assert_eq!(send(at).await.body, first.body, "at {at}");
    }
    let second = send(DAY).await;
    assert!(second.body != first.body && send(-DAY).await.body == second.body);
}

#[tokio::test]
async fn a_clock_far_ahead_for_a_while_ends_sessions_but_loses_no_data() {
    let (server, clock) = start().await;
    let alice = server.user("alice").await;
    let publish = async |user: &User| -> String {
        let mut file = std::io::Cursor::new(Vec::new());
        image::RgbImage::new(2, 2).write_to(&mut file, image::ImageFormat::Png).unwrap();
        let form = Form::new().part("image", Part::bytes(file.into_inner()).file_name("a.png"));
        let post = server.call_form(user, Method::POST, "/api/posts/create", form).await.expect(201).data();
        post["image"].as_str().unwrap().strip_prefix(PUBLIC_URL).unwrap().to_owned()
    };
    let mut images = vec![publish(&alice).await];
    // Repeats until a sweep has run while the clock was wrong: then the session has ended when the clock is right again.
    let far = START + 10 * 365 * DAY;
    for attempt in 0.. {
        clock.set(far);
        tokio::time::sleep(Duration::from_millis(20)).await;
        clock.set(START);
        if server.get(&alice, "/api/users/me").await.status == 401 {
            break;
        }
        assert!(attempt < 1000, "no sweep");
    }
    clock.set(far);
    let later = server.log_in("alice").await;
    images.push(publish(&later).await);
    for now in [far, START] {
        clock.set(now);
        let user = server.log_in("alice").await;
        let posts = server.get(&user, &format!("/api/posts/{}/all", user.id)).await.expect(200).data();
        assert_eq!(posts.as_array().unwrap().len(), 2);
        for image in &images {
            server.fetch(image).await.expect(200);
        }
    }
}

#[tokio::test]
async fn the_first_and_last_representable_times_work() {
    let (server, clock) = start().await;
    for (at, shown) in [(0, "1970-01-01T00:00:00.000+00:00"), (253_402_300_799_999, "9999-12-31T23:59:59.999+00:00")] {
        clock.set(at);
        let root = server.root().await;
        let id = server.publish(&root, shown, "PUBLIC").await;
        let post = server.get(&root, &format!("/api/posts/by-id/{id}")).await.expect(200).data();
        assert_eq!(post["createdAt"], shown);
        assert_eq!(server.walk(&root, "/api/posts/all?size=1", "data").await[0]["content"], shown);
    }
}

#[tokio::test]
async fn a_session_shows_the_hour_of_its_last_use() {
    let (server, clock) = start().await;
    let alice = server.user("alice").await;
    let session = async || server.get(&alice, "/api/users/me/sessions").await.expect(200).data()[0].clone();
    let at_login = session().await;
    assert_eq!(at_login["lastSeenAt"], at_login["openedAt"]);
    clock.set(LOGIN + 2 * 3600 * SECOND);
    let later = session().await;
    assert_eq!(later["openedAt"], at_login["openedAt"]);
    let seen = later["lastSeenAt"].as_str().unwrap();
    assert!(seen.ends_with(":00:00.000+00:00") && seen > at_login["openedAt"].as_str().unwrap(), "{seen}");
}

#[tokio::test]
async fn a_stream_loses_and_repeats_nothing_when_the_clock_jumps_and_ends_when_its_token_expires() {
    let (server, clock) = start().await;
    let alice = server.user("alice").await;
    clock.set(START);
    let mut stream = EventStream::open(&server, &alice, "public,notifications").await;
    let (mut published, mut begin) = (Vec::new(), None);
    for (n, at) in [HOUR, -HOUR, -DAY, DAY, 0, -1].into_iter().enumerate() {
        clock.set(START + at);
        published.push(server.publish(&alice, &format!("post {n}"), "PUBLIC").await);
        assert_eq!(stream.expect("public").await["postId"], published[n], "at {at}");
        begin.get_or_insert_with(|| stream.last_id().to_owned());
    }
    // Events are retained by elapsed time, whatever the clock says.
    for at in [-DAY, DAY] {
        clock.set(START + at);
        let mut resumed = EventStream::resume(&server, &alice, "public", begin.as_deref().unwrap()).await;
        for post in &published[1..] {
            assert_eq!(resumed.expect("public").await["postId"], *post, "at {at}");
        }
    }
    clock.set(LOGIN + 31 * DAY);
    assert_eq!(stream.reason().await, "token_expired");
}
