//! The entities of posts, and the posts with a hashtag: `/api/tags/{tag}/posts`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{list, text};
use crate::support::{Server, User};

/// Returns the texts of the posts with a hashtag that a reader gets.
async fn tagged(server: &Server, reader: &User, tag: &str) -> Vec<String> {
    let posts = server.get(reader, &format!("/api/tags/{tag}/posts")).await.expect(200).data();
    list(&posts).iter().map(|post| text(&post["content"])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_has_its_entities_on_every_path() {
    let server = Server::start().await;
    let (root, ann, bob) = (server.root().await, server.user("ann").await, server.user("bob.b").await);
    server.follow(&bob, &ann).await;
    let content = "👋 @BOB.b! @nobody #Straße, https://a.example/#x. @{ann}";
    let body = json!({ "text": content });
    let created = server.call_json(&ann, Method::POST, "/api/posts/create", body).await.expect(201).data();
    let expected = json!([
        { "type": "mention", "start": 3, "end": 9, "userId": bob.id },
        { "type": "hashtag", "start": 19, "end": 26, "tag": "strasse" },
        { "type": "url", "start": 28, "end": 48, "url": "https://a.example/#x" },
        { "type": "mention", "start": 50, "end": 56, "userId": ann.id },
    ]);
    let id = text(&created["id"]);
    let mut views = vec![created, server.view(&bob, &id).await];
    for (reader, path) in [
        (&bob, format!("/api/posts/{}/all", ann.id)),
        (&bob, format!("/api/posts/user/{}", ann.id)),
        (&bob, "/api/posts/following/all".to_owned()),
        (&bob, "/api/tags/strasse/posts".to_owned()),
        (&root, "/api/posts/all".to_owned()),
    ] {
        views.push(server.get(reader, &path).await.expect(200).data()[0].clone());
    }
    let comment = json!({ "postId": id, "content": "comment" });
    server.call_json(&bob, Method::POST, "/api/comments/create", comment).await.expect(201);
    let comments = server.get(&bob, &format!("/api/comments/all/{id}")).await.expect(200).data();
    views.push(comments[0]["post"].clone());
    for view in views {
        assert_eq!(view["entities"], expected, "{view}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_entities_of_a_post_change_with_its_text() {
    let server = Server::start().await;
    let ann = server.user("ann").await;
    let post = server.publish(&ann, "#one for @late", "PUBLIC").await;
    let hashtag = |tag: &str| json!([{ "type": "hashtag", "start": 0, "end": 4, "tag": tag }]);
    assert_eq!(server.view(&ann, &post).await["entities"], hashtag("one"));
    server.user("late").await;
    let update = async |body: Value| {
        server.call_json(&ann, Method::PUT, &format!("/api/posts/update/{post}"), body).await.expect(200).data()
    };
    // The mention stays unresolved: entities are extracted when the text is written.
    for body in [json!({}), json!({ "visibility": "FOLLOWERS" }), json!({ "text": "#one for @late" })] {
        assert_eq!(update(body).await["entities"], hashtag("one"));
    }
    assert_eq!(update(json!({ "text": "#Two" })).await["entities"], hashtag("two"));
    assert_eq!(tagged(&server, &ann, "one").await, [""; 0]);
    assert_eq!(tagged(&server, &ann, "two").await, ["#Two"]);
    assert_eq!(update(json!({ "text": "plain" })).await["entities"], json!([]));
    assert_eq!(server.view(&ann, &post).await["entities"], json!([]));
    assert_eq!(tagged(&server, &ann, "two").await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hashtag_is_found_in_any_letter_case_with_or_without_its_sign() {
    let server = Server::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    for content in ["#Straße", "#STRASSE #café", "#Cafe", "strasse #strasse_1", "gone #strasse"] {
        server.publish(&ann, content, "PUBLIC").await;
    }
    let gone = server.get(&bob, "/api/tags/strasse/posts").await.expect(200).data();
    server.call(&ann, Method::DELETE, &format!("/api/posts/delete/{}", text(&gone[0]["id"]))).await.expect(200);
    for tag in ["strasse", "Stra%C3%9Fe", "%23STRASSE", "%23stra%C3%9Fe"] {
        assert_eq!(tagged(&server, &bob, tag).await, ["#STRASSE #café", "#Straße"], "{tag}");
    }
    assert_eq!(tagged(&server, &bob, "CAF%C3%89").await, ["#STRASSE #café"]);
    assert_eq!(tagged(&server, &bob, "cafe").await, ["#Cafe"]);
    assert_eq!(tagged(&server, &bob, &"x".repeat(100)).await, [""; 0]);
    for malformed in ["1", "%23", "a-b", "a%20b", "%23%23a", "a%2Fb", "%FF", &"x".repeat(301)] {
        let answer = server.get(&bob, &format!("/api/tags/{malformed}/posts?size=0")).await;
        let answer = answer.expect_code(400, "malformed_request");
        assert!(text(&answer.json()["message"]).starts_with("Tag must be"), "{malformed}: {}", answer.json());
    }
    server.get(&bob, "/api/tags/a/posts?size=101&cursor=x").await.expect_invalid(&["cursor", "size"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_posts_of_a_hashtag_are_those_the_caller_may_view_without_email_addresses() {
    let server = Server::start().await;
    let (root, ann, bob, cleo) =
        (server.root().await, server.user("ann").await, server.user("bob").await, server.user("cleo").await);
    let profile = json!({ "displayName": "Ann A.", "biography": "Writes" });
    server.call_json(&ann, Method::PUT, "/api/users/me", profile).await.expect(200);
    server.follow(&bob, &ann).await;
    for visibility in ["PUBLIC", "FOLLOWERS", "PRIVATE"] {
        server.publish(&ann, &format!("{visibility} #mine"), visibility).await;
    }
    for (reader, expected) in [
        (&ann, &["PRIVATE #mine", "FOLLOWERS #mine", "PUBLIC #mine"][..]),
        (&root, &["PRIVATE #mine", "FOLLOWERS #mine", "PUBLIC #mine"]),
        (&bob, &["FOLLOWERS #mine", "PUBLIC #mine"]),
        (&cleo, &["PUBLIC #mine"]),
    ] {
        assert_eq!(tagged(&server, reader, "mine").await, expected, "{}", reader.name);
    }
    let answer = server.get(&cleo, "/api/tags/mine/posts").await.expect(200);
    let author = json!({
        "id": ann.id, "username": "ann", "displayName": "Ann A.", "biography": "Writes", "profilePicture": null,
        "profilePictureThumbnail": null,
    });
    assert_eq!(answer.data()[0]["author"], author);
    assert!(!answer.text().contains('@'), "{}", answer.text());

    let enabled = async |enabled: bool| {
        let path = format!("/api/users/{}/enabled", ann.id);
        server.call_json(&root, Method::PUT, &path, json!({ "enabled": enabled })).await.expect(200);
    };
    enabled(false).await;
    for reader in [&root, &bob] {
        assert_eq!(tagged(&server, reader, "mine").await, [""; 0]);
    }
    enabled(true).await;
    assert_eq!(tagged(&server, &bob, "mine").await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_posts_with_as_many_entities_as_possible_is_not_too_large() {
    let server = Server::start().await;
    let ann = server.user("ann").await;
    let tags: Vec<_> = (0x4e00..0x4e00 + 1_666).map(|n| format!("#{}", char::from_u32(n).unwrap())).collect();
    for _ in 0..12 {
        server.publish(&ann, &tags.join(" "), "PUBLIC").await;
    }
    let path = "/api/tags/%E4%B8%80/posts?size=100";
    let answer = server.get(&ann, path).await.expect(200);
    assert!(answer.body.len() <= 1 << 20 && answer.next().is_some(), "{} bytes", answer.body.len());
    let posts = server.walk(&ann, path, "data").await;
    assert_eq!(posts.len(), 12);
    for post in posts {
        let entities = list(&post["entities"]);
        assert_eq!(entities.len(), tags.len());
        assert_eq!(entities[1_665], json!({ "type": "hashtag", "start": 4_995, "end": 4_997, "tag": "\u{5481}" }));
    }
}
