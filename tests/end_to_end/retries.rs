//! Idempotent retries: clients repeat requests whose outcome they do not know.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::{Method, RequestBuilder};
use serde_json::json;
use tokio::task::JoinSet;

use crate::backend::Backend;
use crate::client::{Client, Response, User, eventually, list, text};
use crate::process::Home;

fn liking(api: &Client, user: &User, post: &str, key: usize) -> RequestBuilder {
    let path = format!("/api/posts/like/{post}");
    api.request_as(user, Method::POST, &path).header("Idempotency-Key", format!("key-{key}"))
}

fn publishing(api: &Client, user: &User, content: &str) -> RequestBuilder {
    let request = api.request_as(user, Method::POST, "/api/posts/create");
    request.header("Idempotency-Key", content).json(&json!({ "text": content }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_likes_sent_three_times_each_take_effect_once() {
    const LIKES: usize = 1000;
    const CONCURRENT: usize = 20;
    const COPIES: usize = 3;
    let home = Home::new();
    let service = home.start();
    let (api, alice) = (service.api.clone(), service.api.user("alice").await);
    let post = text(&api.post(&alice, "Like me", None).await["id"]);
    let mut answers: BTreeMap<usize, String> = BTreeMap::new();
    for first in (0..LIKES).step_by(CONCURRENT) {
        let mut sent = JoinSet::new();
        for key in first..first + CONCURRENT {
            for _ in 0..COPIES {
                let (api, request) = (api.clone(), liking(&api, &alice, &post, key));
                sent.spawn(async move { (key, api.send(request).await) });
            }
        }
        for (key, answer) in sent.join_all().await {
            if answer.status == 409 {
                continue;
            }
            let answer = answer.expect(200).text();
            assert_eq!(answers.entry(key).or_insert_with(|| answer.clone()), &answer);
        }
    }
    assert_eq!(answers.len(), LIKES, "each was carried out");
    let likes = answers.values().filter(|answer| answer.contains("Post liked successfully")).count();
    assert_eq!(likes, LIKES / 2);
    for (key, answer) in &answers {
        assert_eq!(&api.send(liking(&api, &alice, &post, *key)).await.expect(200).text(), answer);
    }
    let view = api.view(&alice, &post).await;
    assert_eq!((view["likedByMe"].as_bool(), view["likeCount"].as_u64()), (Some(false), Some(0)));
    service.stop();
}

/// Publishes posts until the service is killed; returns how many were begun, the last of which may or may not be stored.
async fn publish(api: Client, user: User, begun: usize, done: Arc<AtomicUsize>) -> usize {
    for n in begun.. {
        match api.try_send(publishing(&api, &user, &format!("{}-{n}", user.name))).await {
            Some(answer) => drop(answer.expect(201)),
            None => return n,
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
    begun
}

/// Repeats a request for as long as the response says that it is still in progress.
async fn retry_while_in_progress(api: &Client, request: impl Fn() -> RequestBuilder) -> Response {
    let answered = async || {
        let answer = api.send(request()).await;
        (answer.status != 409).then_some(answer)
    };
    eventually("the request is not in progress any more", answered).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_repeated_after_a_crash_takes_effect_once() {
    const WRITERS: usize = 8;
    const CRASHES: usize = 4;
    let home = Home::new();
    let service = home.start_with_root();
    let mut users = Vec::new();
    for n in 0..WRITERS {
        users.push((service.api.user(&format!("writer-{n}")).await, 0));
    }
    service.kill();
    for crash in 1..=CRASHES {
        let service = home.start();
        let done = Arc::new(AtomicUsize::new(0));
        let writer =
            |(user, begun): &(User, usize)| publish(service.api.clone(), user.clone(), *begun, Arc::clone(&done));
        let writers: Vec<_> = users.iter().map(|user| tokio::spawn(writer(user))).collect();
        // Kills the service at a different moment each time.
        let enough = WRITERS * 4 + crash;
        eventually("enough is written", async || (done.load(Ordering::Relaxed) >= enough).then_some(())).await;
        service.kill();
        let mut unknown = Vec::new();
        for ((user, begun), writer) in users.iter_mut().zip(writers) {
            let n = writer.await.unwrap();
            unknown.push(format!("{}-{n}", user.name));
            *begun = n + 1;
        }

        let service = home.start();
        // As if the requests in progress at the crash had begun long ago.
        let age = format!("UPDATE idempotency SET begun_at = {} WHERE answer IS NULL", Backend::LONG_AGO);
        home.backend.sql(&home.data_dir(), &age);
        for ((user, _), content) in users.iter().zip(&unknown) {
            retry_while_in_progress(&service.api, || publishing(&service.api, user, content)).await.expect(201);
        }
        for (user, begun) in &users {
            let path = format!("/api/posts/user/{}", user.id);
            let posts = service.api.get(user, &path).await.expect(200).data();
            let mut contents: Vec<_> = list(&posts).iter().map(|post| text(&post["content"])).collect();
            contents.sort_unstable();
            let mut expected: Vec<_> = (0..*begun).map(|n| format!("{}-{n}", user.name)).collect();
            expected.sort_unstable();
            assert_eq!(contents, expected);
        }
        service.kill();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_idempotency_records_are_deleted() {
    let home = Home::new();
    let service = home.start();
    let (api, alice) = (service.api.clone(), service.api.user("alice").await);
    let post = text(&api.post(&alice, "Like me", None).await["id"]);
    api.send(liking(&api, &alice, &post, 1)).await.expect(200);
    service.stop();
    home.backend.sql(&home.data_dir(), &format!("UPDATE idempotency SET begun_at = {}", Backend::LONG_AGO));
    let service = home.start();
    eventually("the deletion is logged", async || {
        service.log().contains("deleted expired idempotency records deleted=1").then_some(())
    })
    .await;
    service.stop();
}
