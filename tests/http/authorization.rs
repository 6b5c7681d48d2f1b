//! Authorization: every endpoint for every kind of caller, and posts, comments and follow lists for callers in each relationship
//! to them. The expected statuses are written by hand from the contract.

use agora_http::routes;
use reqwest::Method;
use reqwest::header::WWW_AUTHENTICATE;
use serde_json::{Value, json};

use crate::support::{Response, Server, User};

const UNKNOWN: &str = "018f0000-0000-7000-8000-000000000000";

/// The status of each endpoint, called with an empty JSON object and unknown identifiers: without a token, with an invalid token,
/// without roles, with USER only, with ADMIN only. Callers who are admitted get 200, 308, 400 for the body, or 404.
#[rustfmt::skip]
const ENDPOINTS: &[(&str, &str, [u16; 5])] = &[
    //                                               nobody invalid no role USER ADMIN
    ("POST",   "/api/auth/register",                   [400, 400, 400, 400, 400]),
    ("POST",   "/api/auth/login",                      [400, 400, 400, 400, 400]),
    ("POST",   "/api/auth/refresh",                    [401, 401, 403, 200, 200]),
    ("POST",   "/api/auth/logout",                     [401, 401, 200, 200, 200]),
    ("POST",   "/api/auth/password/forgot",            [400, 400, 400, 400, 400]),
    ("POST",   "/api/auth/password/reset",             [400, 400, 400, 400, 400]),
    ("POST",   "/api/auth/email/verify",               [400, 400, 400, 400, 400]),

    ("GET",    "/api/users/me",                        [401, 401, 200, 200, 200]),
    ("PUT",    "/api/users/me",                        [401, 401, 403, 200, 200]),
    ("PUT",    "/api/users/me/password",               [401, 401, 403, 400, 400]),
    ("POST",   "/api/users/me/delete",                 [401, 401, 400, 400, 400]),
    ("DELETE", "/api/users/me",                        [401, 401, 400, 400, 400]),
    ("PUT",    "/api/users/me/email",                  [401, 401, 403, 400, 400]),
    ("POST",   "/api/users/me/email/verification",     [401, 401, 403, 400, 400]),
    ("GET",    "/api/users/me/export",                 [401, 401, 200, 200, 200]),
    ("GET",    "/api/users/me/sessions",               [401, 401, 200, 200, 200]),
    ("DELETE", "/api/users/me/sessions",               [401, 401, 200, 200, 200]),
    ("DELETE", "/api/users/me/sessions/{sessionId}",   [401, 401, 404, 404, 404]),
    ("GET",    "/api/users/all",                       [401, 401, 403, 403, 200]),
    ("GET",    "/api/users/by-id/{id}",                [401, 401, 403, 403, 404]),
    ("PUT",    "/api/users/update/{userId}",           [401, 401, 403, 403, 404]),
    ("PUT",    "/api/users/{userId}/enabled",          [401, 401, 403, 403, 404]),

    ("GET",    "/api/users/lookup",                    [401, 401, 403, 400, 400]),
    ("GET",    "/api/users/profiles",                  [401, 401, 403, 400, 400]),
    ("GET",    "/api/users/directory",                 [401, 401, 403, 200, 200]),
    ("PUT",    "/api/users/{userId}/block",            [401, 401, 403, 404, 404]),
    ("DELETE", "/api/users/{userId}/block",            [401, 401, 403, 404, 404]),
    ("GET",    "/api/users/me/blocks",                 [401, 401, 403, 200, 200]),
    ("PUT",    "/api/users/{userId}/mute",             [401, 401, 403, 404, 404]),
    ("DELETE", "/api/users/{userId}/mute",             [401, 401, 403, 404, 404]),
    ("GET",    "/api/users/me/mutes",                  [401, 401, 403, 200, 200]),
    ("POST",   "/api/reports",                         [401, 401, 403, 400, 400]),
    ("GET",    "/api/admin/reports",                   [401, 401, 403, 403, 200]),
    ("GET",    "/api/admin/reports/{reportId}",        [401, 401, 403, 403, 404]),
    ("PUT",    "/api/admin/reports/{reportId}",        [401, 401, 403, 403, 404]),
    ("PUT",    "/api/admin/posts/{postId}/hidden",     [401, 401, 403, 403, 404]),
    ("PUT",    "/api/admin/comments/{commentId}/hidden", [401, 401, 403, 403, 404]),
    ("GET",    "/api/admin/audit",                     [401, 401, 403, 403, 200]),
    ("GET",    "/api/admin/users/{userId}/sessions",   [401, 401, 403, 403, 404]),
    ("DELETE", "/api/admin/users/{userId}/sessions",   [401, 401, 403, 403, 404]),
    ("GET",    "/api/admin/overview",                  [401, 401, 403, 403, 200]),
    ("GET",    "/api/admin/configuration",             [401, 401, 403, 403, 200]),
    ("POST",   "/api/admin/backup",                    [401, 401, 403, 403, 200]),
    ("GET",    "/api/admin/mails",                     [401, 401, 403, 403, 400]),
    ("POST",   "/api/admin/mails/{mailId}/retry",      [401, 401, 403, 403, 404]),
    ("GET",    "/api/users/{userId}/profile",          [401, 401, 403, 404, 404]),
    ("GET",    "/api/users/{userId}/followers",        [401, 401, 403, 404, 404]),
    ("GET",    "/api/users/{userId}/followed",         [401, 401, 403, 404, 404]),

    ("POST",   "/api/posts/create",                    [401, 401, 403, 400, 400]),
    ("GET",    "/api/posts/all",                       [401, 401, 403, 403, 200]),
    ("GET",    "/api/posts/following/all",             [401, 401, 403, 200, 200]),
    ("GET",    "/api/posts/{userId}/all",              [401, 401, 403, 404, 404]),
    ("GET",    "/api/posts/user/{userId}",             [401, 401, 403, 404, 404]),
    ("GET",    "/api/posts/by-id/{postId}",            [401, 401, 403, 404, 404]),
    ("PUT",    "/api/posts/update/{postId}",           [401, 401, 403, 404, 404]),
    ("DELETE", "/api/posts/delete/{postId}",           [401, 401, 403, 404, 404]),
    ("POST",   "/api/posts/like/{postId}",             [401, 401, 403, 404, 404]),
    ("PUT",    "/api/posts/like/{postId}",             [401, 401, 403, 404, 404]),
    ("DELETE", "/api/posts/like/{postId}",             [401, 401, 403, 404, 404]),
    ("GET",    "/api/posts/{postId}/likes",            [401, 401, 403, 404, 404]),
    ("GET",    "/api/posts/public",                    [401, 401, 403, 200, 200]),

    ("PUT",    "/api/posts/{postId}/bookmark",         [401, 401, 403, 404, 404]),
    ("DELETE", "/api/posts/{postId}/bookmark",         [401, 401, 403, 404, 404]),
    ("GET",    "/api/users/me/bookmarks",              [401, 401, 403, 200, 200]),

    ("GET",    "/api/tags/{tag}/posts",                [401, 401, 403, 200, 200]),

    ("POST",   "/api/comments/create",                 [401, 401, 403, 400, 400]),
    ("GET",    "/api/comments/all/{postId}",           [401, 401, 403, 404, 404]),
    ("PUT",    "/api/comments/update",                 [401, 401, 403, 400, 400]),
    ("DELETE", "/api/comments/delete/{commentId}",     [401, 401, 403, 404, 404]),
    ("POST",   "/api/posts/{postId}/comments",         [401, 401, 403, 404, 404]),
    ("GET",    "/api/posts/{postId}/comments",         [401, 401, 403, 404, 404]),
    ("DELETE", "/api/posts/{postId}/comments",         [401, 401, 403, 400, 400]),
    ("GET",    "/api/comments/{commentId}/replies",    [401, 401, 403, 404, 404]),
    ("PUT",    "/api/comments/{commentId}/like",       [401, 401, 403, 404, 404]),
    ("DELETE", "/api/comments/{commentId}/like",       [401, 401, 403, 404, 404]),
    ("GET",    "/api/comments/{commentId}/likes",      [401, 401, 403, 404, 404]),

    ("POST",   "/api/follow/follow/{followedId}",      [401, 401, 403, 404, 404]),
    ("PUT",    "/api/follow/follow/{followedId}",      [401, 401, 403, 404, 404]),
    ("DELETE", "/api/follow/follow/{followedId}",      [401, 401, 403, 404, 404]),
    ("POST",   "/api/follow/{followedId}",             [401, 401, 403, 404, 404]),
    ("PUT",    "/api/follow/{followedId}",             [401, 401, 403, 404, 404]),
    ("DELETE", "/api/follow/{followedId}",             [401, 401, 403, 404, 404]),
    ("GET",    "/api/follow/followers/{userId}",       [401, 401, 403, 404, 404]),
    ("GET",    "/api/follow/followed/{userId}",        [401, 401, 403, 404, 404]),

    ("GET",    "/api/notifications",                   [401, 401, 403, 200, 200]),
    ("GET",    "/api/notifications/unread",            [401, 401, 403, 200, 200]),
    ("PUT",    "/api/notifications/read",              [401, 401, 403, 400, 400]),
    ("GET",    "/api/notifications/settings",          [401, 401, 403, 200, 200]),
    ("PUT",    "/api/notifications/settings",          [401, 401, 403, 200, 200]),
    ("GET",    "/api/notifications/{notificationId}/actors", [401, 401, 403, 404, 404]),

    ("GET",    "/api/events",                          [401, 401, 403, 400, 400]),
    ("POST",   "/api/events/ticket",                   [401, 401, 403, 200, 200]),

    ("GET",    "/api/products/findAll",                [200, 200, 200, 200, 200]),
    ("GET",    "/api/products/category/{category}",    [200, 200, 200, 200, 200]),
    ("GET",    "/api/products",                        [401, 401, 403, 200, 200]),
    ("GET",    "/api/products/{id}",                   [404, 404, 404, 404, 404]),
    ("POST",   "/api/products",                        [401, 401, 403, 403, 400]),
    ("PUT",    "/api/products/{id}",                   [401, 401, 403, 403, 404]),
    ("DELETE", "/api/products/{id}",                   [401, 401, 403, 403, 404]),

    ("GET",    "/api/search",                          [401, 401, 403, 400, 400]),

    ("POST",   "/api/media",                           [401, 401, 403, 415, 415]),
    ("GET",    "/media/{key}",                         [404, 404, 404, 404, 404]),

    ("GET",    "/health/live",                        [200, 200, 200, 200, 200]),
    ("GET",    "/health/ready",                       [200, 200, 200, 200, 200]),

    // The path without a slash redirects to the page.
    ("GET",    "/docs",                                [308, 308, 308, 308, 308]),
    ("GET",    "/docs/",                               [200, 200, 200, 200, 200]),
    ("GET",    "/docs/{file}",                         [404, 404, 404, 404, 404]),
    ("GET",    "/app",                                 [308, 308, 308, 308, 308]),
    ("GET",    "/app/",                                [200, 200, 200, 200, 200]),
    ("GET",    "/app/{file}",                          [404, 404, 404, 404, 404]),
    ("GET",    "/console",                             [308, 308, 308, 308, 308]),
    ("GET",    "/console/",                            [200, 200, 200, 200, 200]),
    ("GET",    "/console/{file}",                      [404, 404, 404, 404, 404]),
    ("GET",    "/api-docs/openapi.json",               [200, 200, 200, 200, 200]),
];

/// The status of each action on a post, by the visibility of the post and by caller.
#[rustfmt::skip]
const POSTS: &[(PostAction, &str, [u16; 4])] = &[
    //                                         author other ADMIN follower
    (PostAction::View,         "PUBLIC",        [200, 200, 200, 200]),
    (PostAction::View,         "FOLLOWERS",     [200, 403, 200, 200]),
    (PostAction::View,         "PRIVATE",       [200, 403, 200, 403]),
    (PostAction::ToggleLike,   "PUBLIC",        [200, 200, 200, 200]),
    (PostAction::ToggleLike,   "FOLLOWERS",     [200, 403, 200, 200]),
    (PostAction::ToggleLike,   "PRIVATE",       [200, 403, 200, 403]),
    (PostAction::Like,         "PUBLIC",        [200, 200, 200, 200]),
    (PostAction::Like,         "FOLLOWERS",     [200, 403, 200, 200]),
    (PostAction::Like,         "PRIVATE",       [200, 403, 200, 403]),
    (PostAction::Unlike,       "PUBLIC",        [200, 200, 200, 200]),
    (PostAction::Unlike,       "FOLLOWERS",     [200, 403, 200, 200]),
    (PostAction::Unlike,       "PRIVATE",       [200, 403, 200, 403]),
    (PostAction::Bookmark,     "PUBLIC",        [200, 200, 200, 200]),
    (PostAction::Bookmark,     "FOLLOWERS",     [200, 403, 200, 200]),
    (PostAction::Bookmark,     "PRIVATE",       [200, 403, 200, 403]),
    (PostAction::Unbookmark,   "PRIVATE",       [200, 200, 200, 200]),
    (PostAction::Comment,      "PUBLIC",        [201, 201, 201, 201]),
    (PostAction::Comment,      "FOLLOWERS",     [201, 403, 201, 201]),
    (PostAction::Comment,      "PRIVATE",       [201, 403, 201, 403]),
    (PostAction::Converse,     "PUBLIC",        [201, 201, 201, 201]),
    (PostAction::Converse,     "FOLLOWERS",     [201, 403, 201, 201]),
    (PostAction::Converse,     "PRIVATE",       [201, 403, 201, 403]),
    (PostAction::ListThreads,  "PUBLIC",        [200, 200, 200, 200]),
    (PostAction::ListThreads,  "FOLLOWERS",     [200, 403, 200, 200]),
    (PostAction::ListThreads,  "PRIVATE",       [200, 403, 200, 403]),
    (PostAction::ListLikes,    "PUBLIC",        [200, 200, 200, 200]),
    (PostAction::ListLikes,    "FOLLOWERS",     [200, 403, 200, 200]),
    (PostAction::ListLikes,    "PRIVATE",       [200, 403, 200, 403]),
    (PostAction::ListComments, "PUBLIC",        [200, 200, 200, 200]),
    (PostAction::ListComments, "FOLLOWERS",     [200, 403, 200, 200]),
    (PostAction::ListComments, "PRIVATE",       [200, 403, 200, 403]),
    (PostAction::Edit,         "PUBLIC",        [200, 403, 403, 403]),
    (PostAction::Edit,         "FOLLOWERS",     [200, 403, 403, 403]),
    (PostAction::Edit,         "PRIVATE",       [200, 403, 403, 403]),
    (PostAction::Delete,       "PUBLIC",        [200, 403, 403, 403]),
    (PostAction::Delete,       "FOLLOWERS",     [200, 403, 403, 403]),
    (PostAction::Delete,       "PRIVATE",       [200, 403, 403, 403]),
];

/// The status of each action on a follower's comment on a post, by the current visibility of the post and by caller.
#[rustfmt::skip]
const COMMENTS: &[(CommentAction, &str, [u16; 4])] = &[
    //                             comment's author, post's author, other, ADMIN
    (CommentAction::Edit,        "PUBLIC",    [200, 403, 403, 403]),
    (CommentAction::Edit,        "PRIVATE",   [200, 403, 403, 403]),
    (CommentAction::Delete,      "PUBLIC",    [200, 200, 403, 403]),
    (CommentAction::Delete,      "PRIVATE",   [200, 200, 403, 403]),
    (CommentAction::Like,        "PUBLIC",    [200, 200, 200, 200]),
    (CommentAction::Like,        "PRIVATE",   [403, 200, 403, 200]),
    (CommentAction::Unlike,      "PUBLIC",    [200, 200, 200, 200]),
    (CommentAction::Unlike,      "PRIVATE",   [403, 200, 403, 200]),
    (CommentAction::Answer,      "PUBLIC",    [201, 201, 201, 201]),
    (CommentAction::Answer,      "PRIVATE",   [403, 201, 403, 201]),
    (CommentAction::ListReplies, "PUBLIC",    [200, 200, 200, 200]),
    (CommentAction::ListReplies, "PRIVATE",   [403, 200, 403, 200]),
    (CommentAction::ListLikers,  "PUBLIC",    [200, 200, 200, 200]),
    (CommentAction::ListLikers,  "PRIVATE",   [403, 200, 403, 200]),
];

/// The status of reading the follow lists of a user, by caller.
#[rustfmt::skip]
const FOLLOW_LISTS: &[(&str, [u16; 5])] = &[
    //           the user, other, ADMIN, follower, followed
    ("followers", [200, 403, 200, 200, 403]),
    ("followed",  [200, 403, 200, 200, 403]),
];

#[derive(Debug, Clone, Copy)]
enum PostAction {
    View,
    ToggleLike,
    Like,
    Unlike,
    Bookmark,
    Unbookmark,
    Comment,
    Converse,
    ListLikes,
    ListComments,
    ListThreads,
    Edit,
    Delete,
}

impl PostAction {
    async fn perform(self, server: &Server, caller: &User, post: &str) -> Response {
        let (method, path, body) = match self {
            Self::View => (Method::GET, format!("/api/posts/by-id/{post}"), None),
            Self::ToggleLike => (Method::POST, format!("/api/posts/like/{post}"), None),
            Self::Like => (Method::PUT, format!("/api/posts/like/{post}"), None),
            Self::Unlike => (Method::DELETE, format!("/api/posts/like/{post}"), None),
            Self::Bookmark => (Method::PUT, format!("/api/posts/{post}/bookmark"), None),
            Self::Unbookmark => (Method::DELETE, format!("/api/posts/{post}/bookmark"), None),
            Self::Comment => {
                let body = json!({ "postId": post, "content": "comment" });
                (Method::POST, "/api/comments/create".to_owned(), Some(body))
            }
            Self::Converse => {
                (Method::POST, format!("/api/posts/{post}/comments"), Some(json!({ "content": "comment" })))
            }
            Self::ListThreads => (Method::GET, format!("/api/posts/{post}/comments"), None),
            Self::ListLikes => (Method::GET, format!("/api/posts/{post}/likes"), None),
            Self::ListComments => (Method::GET, format!("/api/comments/all/{post}"), None),
            Self::Edit => (Method::PUT, format!("/api/posts/update/{post}"), Some(json!({ "text": "edited" }))),
            Self::Delete => (Method::DELETE, format!("/api/posts/delete/{post}"), None),
        };
        match body {
            Some(body) => server.call_json(caller, method, &path, body).await,
            None => server.call(caller, method, &path).await,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum CommentAction {
    Edit,
    Delete,
    Like,
    Unlike,
    Answer,
    ListReplies,
    ListLikers,
}

impl CommentAction {
    async fn perform(self, server: &Server, caller: &User, post: &str, comment: &str) -> Response {
        let of_comment = |part: &str| format!("/api/comments/{comment}/{part}");
        match self {
            Self::Answer => {
                let body = json!({ "replyToId": comment, "content": "answer" });
                server.call_json(caller, Method::POST, &format!("/api/posts/{post}/comments"), body).await
            }
            Self::Like => server.call(caller, Method::PUT, &of_comment("like")).await,
            Self::Unlike => server.call(caller, Method::DELETE, &of_comment("like")).await,
            Self::ListReplies => server.get(caller, &of_comment("replies")).await,
            Self::ListLikers => server.get(caller, &of_comment("likes")).await,
            Self::Edit => {
                let body = json!({ "commentId": comment, "content": "edited" });
                server.call_json(caller, Method::PUT, "/api/comments/update", body).await
            }
            Self::Delete => server.call(caller, Method::DELETE, &format!("/api/comments/delete/{comment}")).await,
        }
    }
}

/// Starts a server with an account without roles (`nobody`), one with USER (`user`) and one with ADMIN only (`admin`).
async fn start_with_roles() -> Server {
    let server = Server::start().await;
    let root = server.root().await;
    let (nobody, _, admin) = (server.user("nobody").await, server.user("user").await, server.user("admin").await);
    server.change_role(&root, &nobody, "REMOVE", "USER").await.expect(200);
    server.change_role(&root, &admin, "ADD", "ADMIN").await.expect(200);
    server.change_role(&root, &admin, "REMOVE", "USER").await.expect(200);
    server
}

/// Returns a path with each parameter filled in.
fn fill_path(path: &str, id: &str) -> String {
    let fill = |segment: &str| match segment {
        "{category}" | "{tag}" | "{key}" | "{file}" => "none".to_owned(),
        segment if segment.starts_with('{') => id.to_owned(),
        segment => segment.to_owned(),
    };
    path.split('/').map(fill).collect::<Vec<_>>().join("/")
}

/// Calls an endpoint as each kind of caller in turn, each in a new session.
async fn call_as_each(server: &Server, method: &str, path: &str) -> Vec<Response> {
    let mut tokens = vec![None, Some("invalid".to_owned())];
    for name in ["nobody", "user", "admin"] {
        tokens.push(Some(server.log_in(name).await.token));
    }
    let mut answers = Vec::new();
    for token in tokens {
        let request = server.request(method.parse().unwrap(), path);
        let request = token.into_iter().fold(request, |request, token| request.bearer_auth(token));
        let request = if method == "GET" { request } else { request.json(&json!({})) };
        answers.push(server.send(request).await);
    }
    answers
}

fn statuses(answers: &[Response]) -> Vec<u16> {
    answers.iter().map(|answer| answer.status).collect()
}

#[test]
fn the_table_has_every_endpoint_of_the_router_and_no_other() {
    let mut routed: Vec<_> = routes::endpoints().iter().map(|it| format!("{} {}", it.method, it.path)).collect();
    let mut listed: Vec<_> = ENDPOINTS.iter().map(|(method, path, _)| format!("{method} {path}")).collect();
    routed.sort();
    listed.sort();
    assert_eq!(listed, routed);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_endpoint_admits_only_the_callers_it_is_for() {
    let server = start_with_roles().await;
    for (method, path, expected) in ENDPOINTS {
        let answers = call_as_each(&server, method, &fill_path(path, UNKNOWN)).await;
        assert_eq!(statuses(&answers), expected, "{method} {path}");
        for (answer, challenge) in answers.iter().zip(["Bearer", "Bearer error=\"invalid_token\""]) {
            let expected = (answer.status == 401).then_some(challenge);
            assert_eq!(answer.header(WWW_AUTHENTICATE), expected, "{method} {path}");
        }
        for answer in answers.into_iter().filter(|answer| (400..500).contains(&answer.status)) {
            let status = answer.status;
            answer.expect_failure(status);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_identifier_is_reported_only_to_callers_who_are_admitted() {
    let server = start_with_roles().await;
    let with_id = |path: &str| {
        path.contains('{')
            && !["{category}", "{tag}", "{key}", "{file}"].iter().any(|parameter| path.contains(parameter))
    };
    for (method, path, expected) in ENDPOINTS.iter().filter(|(_, path, _)| with_id(path)) {
        let answers = call_as_each(&server, method, &fill_path(path, "malformed")).await;
        let expected = expected.map(|status| if status == 404 { 400 } else { status });
        assert_eq!(statuses(&answers), expected, "{method} {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn visibility_decides_who_may_use_a_post_and_only_its_author_changes_it() {
    let server = Server::start().await;
    let (author, other) = (server.user("author").await, server.user("other").await);
    let (admin, follower) = (server.root().await, server.user("follower").await);
    server.follow(&follower, &author).await;
    // Being followed by the author gives no rights.
    server.follow(&author, &other).await;
    for (action, visibility, expected) in POSTS {
        for (caller, expected) in [&author, &other, &admin, &follower].into_iter().zip(expected) {
            let post = server.publish(&author, "text", visibility).await;
            let answer = action.perform(&server, caller, &post).await;
            let case = format!("{action:?} {visibility} as {}", caller.name);
            assert_eq!(answer.status, *expected, "{case}");
            let after = server.get(&author, &format!("/api/posts/by-id/{post}")).await;
            let untouched = after.data()["content"] == json!("text")
                && [&after.data()["likeCount"], &after.data()["commentCount"]] == [&json!(0), &json!(0)];
            assert!(*expected != 403 || untouched, "{case} had an effect: {}", after.json());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_comments_author_edits_it_and_the_posts_author_may_delete_it_too() {
    let server = Server::start().await;
    let (author, commenter) = (server.user("author").await, server.user("commenter").await);
    let (other, admin) = (server.user("other").await, server.root().await);
    server.follow(&other, &author).await;
    for (action, visibility, expected) in COMMENTS {
        for (caller, expected) in [&commenter, &author, &other, &admin].into_iter().zip(expected) {
            let post = server.publish(&author, "text", "PUBLIC").await;
            PostAction::Comment.perform(&server, &commenter, &post).await.expect(201);
            let comments = async || PostAction::ListComments.perform(&server, &author, &post).await.expect(200).data();
            let comment = comments().await[0]["id"].as_str().unwrap().to_owned();
            let path = format!("/api/posts/update/{post}");
            server.call_json(&author, Method::PUT, &path, json!({ "visibility": visibility })).await.expect(200);

            let answer = action.perform(&server, caller, &post, &comment).await;
            let case = format!("{action:?} on {visibility} as {}", caller.name);
            assert_eq!(answer.status, *expected, "{case}");
            let contents: Vec<Value> =
                comments().await.as_array().unwrap().iter().map(|it| it["content"].clone()).collect();
            match (action, expected) {
                (CommentAction::Edit, 200) => assert_eq!(contents, ["edited"], "{case}"),
                (CommentAction::Delete, 200) => assert!(contents.is_empty(), "{case}"),
                (CommentAction::Answer, 201) => assert_eq!(contents, ["comment", "answer"], "{case}"),
                _ => assert_eq!(contents, ["comment"], "{case}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn follow_lists_are_for_the_user_the_followers_and_administrators() {
    let server = Server::start().await;
    let (user, other, admin) = (server.user("subject").await, server.user("other").await, server.root().await);
    let (follower, followed) = (server.user("follower").await, server.user("followed").await);
    server.follow(&follower, &user).await;
    server.follow(&user, &followed).await;
    for (list, expected) in FOLLOW_LISTS {
        for (caller, expected) in [&user, &other, &admin, &follower, &followed].into_iter().zip(expected) {
            for path in [format!("/api/follow/{list}/{}", user.id), format!("/api/users/{}/{list}", user.id)] {
                let answer = server.get(caller, &path).await;
                assert_eq!(answer.status, *expected, "{path} as {}", caller.name);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unfollowing_hides_posts_for_followers_at_once() {
    let server = Server::start().await;
    let (author, follower) = (server.user("author").await, server.user("follower").await);
    let post = server.publish(&author, "text", "FOLLOWERS").await;
    let follow = format!("/api/follow/follow/{}", author.id);
    for (method, expected) in [(Method::PUT, 200), (Method::DELETE, 403), (Method::POST, 200), (Method::POST, 403)] {
        server.call(&follower, method, &follow).await.expect(200);
        PostAction::View.perform(&server, &follower, &post).await.expect(expected);
        server.get(&follower, &format!("/api/follow/followers/{}", author.id)).await.expect(expected);
    }
}
