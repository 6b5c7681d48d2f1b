//! The rotation of the signing secret, without logging anybody out.

use reqwest::Method;

use crate::client::{Client, PASSWORD, Response, User, text};
use crate::process::{Home, Service};

const OLD: &str = "the secret that was used until now, long enough";
const NEW: &str = "the secret that is to be used from now on, too";

fn start(home: &Home, own: &str, accepted: &str) -> Service {
    home.start_with(&[("AGORA_JWT_SECRET", own), ("AGORA_JWT_ACCEPTED_SECRET", accepted)])
}

async fn status(api: &Client, user: &User, path: &str) -> u16 {
    api.get(user, path).await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_secret_logs_nobody_out_while_the_old_one_is_accepted() {
    let home = Home::new();
    let service = start(&home, OLD, "");
    let old = service.api.user("alice").await;
    for n in 0..2 {
        service.api.post(&old, &format!("Post {n}"), None).await;
    }
    let list = service.api.request_as(&old, Method::GET, &format!("/api/posts/{}/all?size=1", old.id));
    let next = service.api.send(list).await.link("next", service.api.url()).unwrap();
    service.stop();

    let service = start(&home, NEW, OLD);
    assert_eq!(status(&service.api, &old, "/api/users/me").await, 200);
    assert_eq!(status(&service.api, &old, &next).await, 200, "a cursor of before");
    let new = service.api.log_in("alice").await;
    let shown = format!("{}{:?}", service.log(), service.stop());
    assert!(![OLD, NEW, PASSWORD].iter().any(|secret| shown.contains(secret)), "{shown}");

    let service = start(&home, NEW, "");
    assert_eq!(status(&service.api, &new, "/api/users/me").await, 200);
    assert_eq!(status(&service.api, &old, "/api/users/me").await, 401);
    assert_eq!(status(&service.api, &new, &next).await, 400);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_is_recognized_during_a_rotation_of_the_secret() {
    let home = Home::new();
    let service = start(&home, OLD, "");
    let alice = service.api.user("alice").await;
    let post = text(&service.api.post(&alice, "Like me", None).await["id"]);
    service.stop();

    // As on several nodes: first the new secret is accepted, then the two are swapped, then the old one is removed.
    let mut answers: Vec<String> = Vec::new();
    for (own, accepted) in [(OLD, NEW), (NEW, OLD)] {
        let service = start(&home, own, accepted);
        // Repeats the requests that were sent before, and sends a new one, which toggles the like.
        for key in 0..=answers.len() {
            let liked = like(&service.api, &alice, &post, key).await.expect(200).text();
            assert_eq!(answers.get(key).unwrap_or(&liked), &liked);
            if key == answers.len() {
                answers.push(liked);
            }
        }
        let other = text(&service.api.post(&alice, "Like me as well", None).await["id"]);
        like(&service.api, &alice, &other, 0).await.expect(422);
        service.stop();
    }
    assert!(answers[0].contains("Post liked") && answers[1].contains("Post unliked"), "{answers:?}");

    let service = start(&home, NEW, "");
    let alice = service.api.log_in("alice").await;
    assert_eq!(like(&service.api, &alice, &post, 1).await.expect(200).text(), answers[1]);
    like(&service.api, &alice, &post, 0).await.expect(422);
    assert_eq!(service.api.view(&alice, &post).await["likeCount"], 0);
    service.stop();
}

/// Toggles a like with an `Idempotency-Key`.
async fn like(api: &Client, user: &User, post: &str, key: usize) -> Response {
    let request = api.request_as(user, Method::POST, &format!("/api/posts/like/{post}"));
    api.send(request.header("Idempotency-Key", format!("key-{key}"))).await
}
