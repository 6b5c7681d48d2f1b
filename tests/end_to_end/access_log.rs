//! The access log: a line per request, if it is enabled.

use reqwest::Method;

use crate::client::{PASSWORD, text};
use crate::process::Home;

#[tokio::test(flavor = "multi_thread")]
async fn each_request_is_logged_with_its_account_and_path_but_without_content() {
    let home = Home::new();
    let service = home.start_with(&[
        ("AGORA_LOG", "warn,agora_http::access=debug"),
        ("AGORA_TRUSTED_PROXIES", "127.0.0.1"),
        ("AGORA_SLOW_QUERY", "none"),
    ]);
    let api = &service.api;
    let alice = api.user("alice").await;
    let post = text(&api.post(&alice, "A day at the sea", None).await["id"]);
    let path = format!("/api/posts/by-id/{post}?size=hunter2");
    let viewing = api.request_as(&alice, Method::GET, &path).header("X-Forwarded-For", "2001:db8::1:7");
    let id = api.send(viewing).await.header("x-request-id").unwrap().to_owned();
    api.fetch("/nothing/hunter2").await.expect(404);
    api.fetch("/health/live").await.expect(200);
    // Health checks are not logged, but this path is not one of them.
    api.fetch("/health/whatever").await.expect(404);
    api.get(&alice, "/api/users/all").await.expect(403);
    api.login("alice", "a wrong guess").await.expect(401);
    let log = service.stop().stderr;

    let line = log.lines().find(|line| line.contains(&id)).unwrap_or_else(|| panic!("{log}"));
    let user = format!("user={}", alice.id);
    for part in ["method=GET", "route=\"/api/posts/by-id/{postId}\"", "status=200", "milliseconds=", &user] {
        assert!(line.contains(part), "{part} is missing: {line}");
    }
    assert!(line.contains("client=2001:db8::1:7"), "{line}");
    let of = |part: &str| log.lines().filter(|line| line.contains(part)).collect::<Vec<_>>();
    let [guess] = *of("status=401") else { panic!("{log}") };
    assert!(guess.contains("route=\"/api/auth/login\"") && !guess.contains("user="), "{guess}");
    let unknown = of("status=404");
    assert!(unknown.len() == 2 && unknown.iter().all(|line| line.contains("route=\"-\"")), "{log}");
    let [refused] = *of("status=403") else { panic!("{log}") };
    assert!(refused.contains(&user), "{refused}");
    assert!(of("/health").is_empty(), "{log}");
    // Registration, login, own account, new post, its view, two unknown paths, the forbidden list, and the wrong password.
    assert_eq!(of("agora_http::access").len(), 9, "{log}");
    for secret in ["hunter2", &post, PASSWORD, "a wrong guess", "A day at the sea", &alice.token, "alice"] {
        assert!(!log.contains(secret), "{secret} is in the log: {log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_not_logged_by_default() {
    let home = Home::new();
    let service = home.start();
    service.api.user("alice").await;
    let log = service.stop().stderr;
    assert!(!log.contains("/api/auth"), "{log}");
}
