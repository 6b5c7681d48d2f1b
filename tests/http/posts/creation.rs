//! `POST /api/posts/create`

use reqwest::Method;
use reqwest::multipart::Part;
use serde_json::{Value, json};

use super::{form, form_with_image};
use crate::images;
use crate::support::{PASSWORD, Response, Server, User};

const CREATE: &str = "/api/posts/create";

async fn create_form(server: &Server, author: &User, fields: &[(&'static str, &str)]) -> Response {
    server.call_form(author, Method::POST, CREATE, form(fields)).await
}

async fn create_json(server: &Server, author: &User, body: Value) -> Response {
    server.call_json(author, Method::POST, CREATE, body).await
}

async fn posts_of(server: &Server, author: &User) -> Value {
    server.get(author, &format!("/api/posts/{}/all", author.id)).await.expect(200).data()
}

/// Returns whether a text has the form of a sample, in which `0` stands for any digit.
fn looks_like(text: &Value, sample: &str) -> bool {
    let text = text.as_str().expect("a string");
    let alike = |(c, sample): (char, char)| if sample == '0' { c.is_ascii_digit() } else { c == sample };
    text.len() == sample.len() && text.chars().zip(sample.chars()).all(alike)
}

#[tokio::test(flavor = "multi_thread")]
async fn creating_a_post_returns_the_whole_post() {
    let server = Server::start().await;
    let account = json!({
        "username": "alice", "email": "Alice@example.org", "password": PASSWORD, "biography": "Hello",
    });
    server.register_as(account).await.expect(201);
    let alice = server.log_in("alice").await;

    let answer = create_form(&server, &alice, &[("text", "first")]).await.expect(201);
    assert_eq!(answer.json()["message"], "Post created successfully");
    let post = answer.data();
    assert_eq!(
        post,
        json!({
            "id": post["id"],
            "content": "first", "entities": [],
            "image": null,
            "attachments": [],
            "visibility": "PUBLIC",
            "createdAt": post["createdAt"],
            "updatedAt": post["createdAt"],
            "likedBy": [],
            "likeCount": 0,
            "likedByMe": false,
            "commentCount": 0,
            "bookmarkedByMe": false,
            "author": {
                "id": alice.id,
                "username": "alice",
                "email": "Alice@example.org",
                "biography": "Hello",
                "profilePicture": null,
                "profilePictureThumbnail": null,
            },
        })
    );
    assert!(looks_like(&post["createdAt"], "0000-00-00T00:00:00.000+00:00"), "{post}");
    let id = post["id"].as_str().unwrap();
    assert_eq!((id.len(), &id[14..15]), (36, "7"), "a UUIDv7: {id}");
    assert_eq!(super::seen(&server, &alice, id).await, post);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_text_has_two_field_names_and_the_preferred_one_wins_unless_blank() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for (fields, content) in [
        (&[("text", "a")][..], "a"),
        (&[("content", "a")], "a"),
        (&[("content", "b"), ("text", "a")], "a"),
        (&[("text", " "), ("content", "b")], "b"),
        (&[("text", "  two\nlines\t\n")], "two\nlines"),
        (&[("text", "<b>&amp; \u{1f600} e\u{301}</b>")], "<b>&amp; \u{1f600} e\u{301}</b>"),
        (&[("text", "a"), ("unknown", "b"), ("", "c"), ("unknown", "d")], "a"),
    ] {
        let as_form = create_form(&server, &alice, fields).await.expect(201);
        assert_eq!(as_form.data()["content"], content, "form {fields:?}");
        let as_json = create_json(&server, &alice, fields.iter().copied().collect()).await.expect(201);
        assert_eq!(as_json.data()["content"], content, "JSON {fields:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_part_may_have_a_file_name_and_a_content_type() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let part = Part::text("from a file").file_name("note.txt").mime_str("text/plain; charset=utf-8").unwrap();
    let answer = server.call_form(&alice, Method::POST, CREATE, form(&[]).part("text", part)).await.expect(201);
    assert_eq!(answer.data()["content"], "from a file");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_may_be_sent_with_or_without_a_text() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for (fields, content) in [(&[][..], ""), (&[("text", " ")], ""), (&[("text", "look")], "look")] {
        let form = form_with_image(images::png(), fields);
        let post = server.call_form(&alice, Method::POST, CREATE, form).await.expect(201).data();
        assert_eq!(post["content"], content);
        assert!(
            post["image"].as_str().is_some_and(|url| url.starts_with("https://agora.example.org/media/")),
            "{post}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_without_text_and_image_is_refused_and_not_stored() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for fields in [
        &[][..],
        &[("text", "")],
        &[("text", " \t\r\n\u{2003}")],
        &[("content", "")],
        &[("text", ""), ("content", " ")],
    ] {
        create_json(&server, &alice, fields.iter().copied().collect()).await.expect_invalid(&["text"]);
        create_form(&server, &alice, fields).await.expect_invalid(&["text"]);
    }
    create_json(&server, &alice, json!({ "text": null, "content": null })).await.expect_invalid(&["text"]);
    let nothing = server.call(&alice, Method::POST, CREATE).await;
    nothing.expect_invalid(&["text"]);
    assert_eq!(posts_of(&server, &alice).await, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_has_at_most_5000_characters_after_trimming() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for character in ["a", "\u{e4}", "\u{1f600}"] {
        let longest = character.repeat(5000);
        let answer = create_form(&server, &alice, &[("text", &format!(" {longest}\n"))]).await.expect(201);
        assert_eq!(answer.data()["content"], longest);
        create_json(&server, &alice, json!({ "text": longest })).await.expect(201);

        let too_long = character.repeat(5001);
        create_form(&server, &alice, &[("text", &too_long)]).await.expect_invalid(&["text"]);
        create_json(&server, &alice, json!({ "content": too_long })).await.expect_invalid(&["text"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_has_the_visibility_asked_for_or_is_public() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for visibility in ["PUBLIC", "FOLLOWERS", "PRIVATE"] {
        let fields = [("text", "a"), ("visibility", visibility)];
        assert_eq!(create_form(&server, &alice, &fields).await.expect(201).data()["visibility"], visibility);
        let body = fields.into_iter().collect();
        assert_eq!(create_json(&server, &alice, body).await.expect(201).data()["visibility"], visibility);
    }
    let not_given = create_json(&server, &alice, json!({ "text": "a", "visibility": null })).await.expect(201);
    assert_eq!(not_given.data()["visibility"], "PUBLIC");
    for unknown in ["FRIENDS", "PUBLIC,PRIVATE", "0"] {
        let fields = [("text", "a"), ("visibility", unknown)];
        create_form(&server, &alice, &fields).await.expect_invalid(&["visibility"]);
        create_json(&server, &alice, fields.into_iter().collect()).await.expect_invalid(&["visibility"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_field_is_refused() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for (name, key) in
        [("text", "text"), ("content", "text"), ("visibility", "visibility"), ("removeImage", "removeImage")]
    {
        let form = form_with_image(images::png(), &[(name, "PUBLIC"), (name, "PUBLIC")]);
        server.call_form(&alice, Method::POST, CREATE, form).await.expect_invalid(&[key]);
    }
    let image = || Part::bytes(images::png()).file_name("picture.png");
    let two_images = form(&[("text", "a")]).part("image", image()).part("image", image());
    server.call_form(&alice, Method::POST, CREATE, two_images).await.expect_invalid(&["image"]);
    assert_eq!(posts_of(&server, &alice).await, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_json_field_of_another_type_is_refused_by_its_preferred_name() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for (body, fields) in [
        (json!({ "text": 5 }), &["text"][..]),
        (json!({ "content": ["a"] }), &["text"]),
        (json!({ "text": { "text": "a" } }), &["text"]),
        (json!({ "text": "a", "visibility": true }), &["visibility"]),
        (json!({ "text": "a", "removeImage": "yes" }), &["removeImage"]),
        (json!({ "text": false, "visibility": 1, "removeImage": 0 }), &["removeImage", "text", "visibility"]),
    ] {
        create_json(&server, &alice, body).await.expect_invalid(fields);
    }
    assert_eq!(posts_of(&server, &alice).await, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn all_invalid_fields_are_named_at_once() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let too_long = "a".repeat(5001);
    let no_image = || b"no image".to_vec();
    for (form, fields) in [
        (
            form_with_image(no_image(), &[("text", &too_long), ("visibility", "FRIENDS")]),
            &["image", "text", "visibility"][..],
        ),
        (form_with_image(no_image(), &[("visibility", "FRIENDS")]), &["image", "visibility"]),
        (form_with_image(no_image(), &[("text", "a"), ("text", "b")]), &["image", "text"]),
        (form(&[("text", "a"), ("text", "b"), ("visibility", "FRIENDS")]), &["text", "visibility"]),
        (form(&[("visibility", "FRIENDS")]), &["text", "visibility"]),
    ] {
        server.call_form(&alice, Method::POST, CREATE, form).await.expect_invalid(fields);
    }
    for (body, fields) in [
        (json!({ "text": too_long, "visibility": "FRIENDS" }), &["text", "visibility"][..]),
        (json!({ "text": 5, "visibility": "FRIENDS" }), &["text", "visibility"]),
        (json!({ "text": "a\0", "visibility": 5 }), &["text", "visibility"]),
        (json!({ "visibility": 5 }), &["text", "visibility"]),
    ] {
        create_json(&server, &alice, body).await.expect_invalid(fields);
    }
}
