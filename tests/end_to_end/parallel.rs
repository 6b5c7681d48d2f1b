//! Many concurrent clients.

use std::sync::Arc;

use reqwest::Method;
use tokio::task::JoinSet;

use crate::client::{Client, Response, User, list, text};
use crate::picture::picture;
use crate::process::Home;

/// The things that all writers change.
struct Shared {
    api: Client,
    star: User,
    post: String,
    picture: Vec<u8>,
}

const COMMENTS: usize = 2;

/// Registers an account and makes one request of each kind with it. The caller checks the statuses.
async fn send_all(shared: Arc<Shared>, name: String) -> Vec<(u16, Response)> {
    let Shared { api, star, post, picture } = &*shared;
    let mut answers = vec![(201, api.register(&name).await)];
    let user = api.log_in(&name).await;
    answers.push((201, api.send(api.posting(&user, &name, Some(picture))).await));
    answers.push((201, api.send(api.posting(&user, &name, None)).await));
    answers.push((200, api.call(&user, Method::POST, &format!("/api/posts/like/{post}")).await));
    for n in 0..COMMENTS {
        answers.push((201, api.send(api.commenting(&user, post, &format!("{name} {n}"))).await));
    }
    answers.push((200, api.call(&user, Method::POST, &format!("/api/follow/follow/{}", star.id)).await));
    answers.push((200, api.get(&user, "/api/posts/following/all").await));
    answers
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writes_of_all_kinds_succeed() {
    const WRITERS: usize = 64;
    let home = Home::new();
    let service = home.start_with_root();
    let api = service.api.clone();
    let star = api.user("star").await;
    let post = text(&api.post(&star, "Tell me", None).await["id"]);
    let shared = Arc::new(Shared { api: api.clone(), star, post, picture: picture() });
    let mut writers = JoinSet::new();
    for n in 0..WRITERS {
        writers.spawn(send_all(Arc::clone(&shared), format!("writer-{n}")));
    }
    for (status, answer) in writers.join_all().await.into_iter().flatten() {
        assert!(!answer.text().contains("locked"), "{}", answer.text());
        answer.expect(status);
    }

    let root = api.log_in("root").await;
    let count = async |path: &str| list(&api.get(&root, path).await.expect(200).data()).len();
    let view = api.view(&root, &shared.post).await;
    let counted = |name: &str| view[name].as_u64().and_then(|count| usize::try_from(count).ok());
    assert_eq!((counted("likeCount"), counted("commentCount")), (Some(WRITERS), Some(COMMENTS * WRITERS)));
    assert_eq!(count(&format!("/api/posts/{}/likes", shared.post)).await, WRITERS);
    assert_eq!(count(&format!("/api/comments/all/{}", shared.post)).await, COMMENTS * WRITERS);
    assert_eq!(count(&format!("/api/follow/followers/{}", shared.star.id)).await, WRITERS);
    assert_eq!(count("/api/users/all").await, WRITERS + 2);
    assert_eq!(count("/api/posts/all").await, 2 * WRITERS + 1);
    let stopped = service.stop();
    assert!(!stopped.stderr.contains("locked") && !stopped.stderr.contains("ERROR"), "{}", stopped.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_toggles_of_one_like_all_take_effect() {
    let home = Home::new();
    let service = home.start();
    let (api, alice) = (service.api.clone(), service.api.user("alice").await);
    for (toggles, likes, liked) in [(100, 50, false), (101, 51, true)] {
        let post = text(&api.post(&alice, "Like me", None).await["id"]);
        let mut answers = JoinSet::new();
        for _ in 0..toggles {
            let (api, alice, path) = (api.clone(), alice.clone(), format!("/api/posts/like/{post}"));
            answers.spawn(async move { api.call(&alice, Method::POST, &path).await });
        }
        let answers: Vec<_> = answers.join_all().await.into_iter().map(|answer| answer.expect(200).text()).collect();
        let counted = answers.iter().filter(|answer| answer.contains("Post liked successfully")).count();
        assert_eq!(counted, likes);
        let view = api.view(&alice, &post).await;
        assert_eq!((view["likedByMe"].as_bool(), view["likeCount"].as_u64()), (Some(liked), Some(liked.into())));
        assert_eq!(list(&view["likedBy"]).len(), usize::from(liked));
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_one_of_concurrent_registrations_of_one_name_succeeds() {
    let home = Home::new();
    let service = home.start();
    let mut answers = JoinSet::new();
    for n in 0..50 {
        let api = service.api.clone();
        // The same name and address, in any letter case.
        let name = if n % 2 == 0 { "alice" } else { "Alice" };
        answers.spawn(async move { api.register(name).await.status });
    }
    let mut statuses = answers.join_all().await;
    statuses.sort_unstable();
    assert_eq!(statuses, [[201].as_slice(), &[409; 49]].concat());
    service.api.log_in("alice").await;
    service.stop();
}
