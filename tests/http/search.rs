//! `/api/search`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::client::list;
use crate::support::{Server, User};

/// The id of no account.
const NOBODY: &str = "01900000-0000-7000-8000-000000000000";

async fn find(server: &Server, user: &User, query: &str) -> Value {
    server.get(user, &format!("/api/search?{query}")).await.expect(200).data()
}

async fn fields(server: &Server, user: &User, query: &str, field: &str) -> Vec<String> {
    let found = find(server, user, query).await;
    list(&found).iter().map(|entry| entry[field].as_str().unwrap().to_owned()).collect()
}

async fn change(server: &Server, user: &User, body: Value) {
    server.call_json(user, Method::PUT, "/api/users/me", body).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_to_posts_are_searchable_at_once() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    change(&server, &alice, json!({ "displayName": "Alice A.", "biography": "Hi" })).await;
    let post = server.publish(&alice, "Crème brûlée for #Dessert", "PUBLIC").await;
    server.publish(&bob, "Something else", "PUBLIC").await;
    let found = find(&server, &bob, "type=posts&q=CREME").await;
    assert_eq!(list(&found).len(), 1);
    let found = &found[0];
    assert_eq!((&found["id"], &found["likeCount"]), (&json!(post), &json!(0)));
    let author = json!({
        "id": alice.id, "username": "alice", "displayName": "Alice A.", "biography": "Hi", "profilePicture": null, "profilePictureThumbnail": null,
    });
    assert_eq!(found["author"], author, "without an email address");
    for query in ["q=br%C3%BBl%C3%A9e+creme", "q=%23dessert", "q=%22br%C3%BBl%C3%A9e+for%22", "q=bru", "q=%22creme"] {
        assert_eq!(
            fields(&server, &bob, &format!("type=posts&{query}"), "id").await,
            std::slice::from_ref(&post),
            "{query}"
        );
    }
    let path = format!("/api/posts/update/{post}");
    server.call_json(&alice, Method::PUT, &path, json!({ "text": "Cheese cake" })).await.expect(200);
    assert_eq!(find(&server, &bob, "type=posts&q=creme").await, json!([]));
    assert_eq!(fields(&server, &bob, "type=posts&q=cheese", "id").await, std::slice::from_ref(&post));
    server.call_json(&alice, Method::PUT, &path, json!({ "visibility": "PRIVATE" })).await.expect(200);
    assert_eq!(find(&server, &bob, "type=posts&q=cheese").await, json!([]));
    assert_eq!(fields(&server, &alice, "type=posts&q=cheese", "id").await, std::slice::from_ref(&post));
    server.call(&alice, Method::DELETE, &format!("/api/posts/delete/{post}")).await.expect(200);
    assert_eq!(find(&server, &alice, "type=posts&q=cheese").await, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn posts_are_searched_by_author_unless_the_author_is_not_searchable() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    for (user, text) in [(&alice, "word one"), (&bob, "word two"), (&alice, "word three")] {
        server.publish(user, text, "PUBLIC").await;
    }
    assert_eq!(fields(&server, &bob, "type=posts&q=word", "content").await, ["word three", "word two", "word one"]);
    let from = format!("type=posts&q=word&from={}", alice.id);
    assert_eq!(fields(&server, &bob, &from, "content").await, ["word three", "word one"]);
    change(&server, &alice, json!({ "searchable": false })).await;
    assert_eq!(find(&server, &bob, &from).await, json!([]));
    assert_eq!(find(&server, &server.root().await, &from).await, json!([]));
    assert_eq!(fields(&server, &alice, &from, "content").await, ["word three", "word one"]);
    let unknown = format!("/api/search?type=posts&q=word&from={NOBODY}");
    server.get(&bob, &unknown).await.expect_code(404, "user_not_found");
    // For other types, `from` has no effect.
    assert_eq!(fields(&server, &bob, "type=users&q=alice&from=nobody", "username").await, ["alice"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_with_exactly_that_name_is_found_first() {
    let server = Server::start().await;
    let (ada, _) = (server.user("ada").await, server.user("adam").await);
    let lovelace = server.user("lovelace").await;
    change(&server, &lovelace, json!({ "displayName": "Ada Lovelace" })).await;
    assert_eq!(fields(&server, &ada, "type=users&q=ADA", "username").await, ["ada", "lovelace", "adam"]);
    let found = server.walk(&ada, "/api/search?type=users&q=ada&size=1", "data").await;
    let found: Vec<_> = found.iter().map(|profile| profile["username"].as_str().unwrap()).collect();
    assert_eq!(found, ["ada", "lovelace", "adam"]);
    let last = server.get(&ada, "/api/search?type=users&q=ada&size=2").await.expect(200);
    assert_eq!(list(&last.data()).len(), 2);
    assert_eq!(find(&server, &ada, "type=users&q=ada").await[0]["relationship"], Value::Null);
    change(&server, &ada, json!({ "discoverable": false })).await;
    assert_eq!(fields(&server, &lovelace, "type=users&q=ada", "username").await, ["lovelace", "adam"]);
    let by_root = fields(&server, &server.root().await, "type=users&q=ada", "username").await;
    assert_eq!(by_root, ["ada", "lovelace", "adam"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn products_are_found_by_all_their_fields() {
    let server = Server::start().await;
    let (root, bob) = (server.root().await, server.user("bob").await);
    let mug = server.product(&root, json!({ "description": "For tea" })).await;
    assert_eq!(find(&server, &bob, "type=products&q=kitchen+tea+mug-1").await, json!([mug]));
    assert_eq!(find(&server, &bob, "type=products&q=coffee").await, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_searches_are_refused() {
    let server = Server::start().await;
    let bob = server.user("bob").await;
    for (query, invalid, code) in [
        ("q=word", "type", "required"),
        ("type=&q=word", "type", "required"),
        ("type=POSTS&q=word", "type", "not_allowed"),
        ("type=posts", "q", "required"),
        ("type=posts&q=+", "q", "required"),
        ("type=users&q=%21%3F", "q", "required"),
        (&format!("type=products&q={}", "a".repeat(201)), "q", "too_long"),
        ("type=posts&q=word&from=bob", "from", "invalid_format"),
        ("type=posts&q=word&size=0", "size", "out_of_range"),
        ("type=posts&q=word&cursor=x", "cursor", "invalid_format"),
    ] {
        let answer = server.get(&bob, &format!("/api/search?{query}")).await.expect_invalid(&[invalid]);
        assert_eq!(answer.json()["codes"][invalid], json!([code]), "{query}");
    }
    server.get(&bob, "/api/search?size=x&from=y").await.expect_invalid(&["q", "size", "type"]);
    server.get(&bob, "/api/search?type=posts&size=x&from=y").await.expect_invalid(&["from", "q", "size"]);
    for odd in ["%22", "%27%3B--+a", "a%00b", "%25a_", "(a+OR+b)+NEAR+*", "%F0%9F%A6%80+a", "%E2%80%8Da"] {
        let answer = server.get(&bob, &format!("/api/search?type=posts&q={odd}")).await;
        let expected = if matches!(odd, "%22" | "a%00b") { 400 } else { 200 };
        assert_eq!(answer.status, expected, "{odd}: {answer:?}");
    }
    server.get(&bob, &format!("/api/search?type=users&q={}", "a".repeat(200))).await.expect(200);
}
