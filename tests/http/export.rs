//! `/api/users/me/export`: the archive of everything that the caller has stored.

use std::io::{Cursor, Read};

use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use zip::ZipArchive;

use crate::client::{list, text};
use crate::support::{PUBLIC_URL, Server, User};

const EXPORT: &str = "/api/users/me/export";

/// Returns the files of an archive, each with its bytes.
fn files(archive: Vec<u8>) -> Vec<(String, Vec<u8>)> {
    let mut archive = ZipArchive::new(Cursor::new(archive)).unwrap();
    let mut files = Vec::new();
    for n in 0..archive.len() {
        let mut file = archive.by_index(n).unwrap();
        let mut bytes = Vec::new();
        // Reading to the end verifies the checksum.
        file.read_to_end(&mut bytes).unwrap();
        files.push((file.name().unwrap().into_owned(), bytes));
    }
    files
}

/// Returns the objects in a file with one JSON object per line.
fn lines(files: &[(String, Vec<u8>)], name: &str) -> Vec<Value> {
    let (_, bytes) = files.iter().find(|(file, _)| file == name).unwrap_or_else(|| panic!("no {name}"));
    std::str::from_utf8(bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn put(server: &Server, user: &User, path: String) {
    server.call(user, Method::PUT, &path).await.expect(200);
}

fn png() -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    image::RgbImage::from_pixel(2, 2, image::Rgb([7, 7, 7])).write_to(&mut file, image::ImageFormat::Png).unwrap();
    file.into_inner()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_is_an_archive_of_everything_the_account_stored() {
    let server = Server::start().await;
    let [alice, bob, carol] = [server.user("alice").await, server.user("bob").await, server.user("carol").await];
    let form = Form::new().text("text", "With a picture").part("image", Part::bytes(png()).file_name("a.png"));
    let with_image = server.call_form(&alice, Method::POST, "/api/posts/create", form).await.expect(201).data();
    let private = server.publish(&alice, "For me \u{1f600} \"so\"\nit is", "PRIVATE").await;
    let of_bob = server.publish(&bob, "Another's", "PUBLIC").await;
    let path = format!("/api/posts/{of_bob}/comments");
    let comment =
        server.call_json(&alice, Method::POST, &path, json!({ "content": "Indeed" })).await.expect(201).data();
    let comment = text(&comment["id"]);
    let answer = json!({ "content": "Quite", "replyToId": comment });
    let answer = text(&server.call_json(&alice, Method::POST, &path, answer).await.expect(201).data()["id"]);
    put(&server, &alice, format!("/api/posts/like/{of_bob}")).await;
    put(&server, &alice, format!("/api/comments/{comment}/like")).await;
    put(&server, &alice, format!("/api/posts/{of_bob}/bookmark")).await;
    put(&server, &alice, format!("/api/follow/{}", bob.id)).await;
    put(&server, &alice, format!("/api/users/{}/mute", bob.id)).await;
    put(&server, &alice, format!("/api/users/{}/block", carol.id)).await;
    let report = json!({ "targetType": "USER", "targetId": carol.id, "category": "SPAM" });
    server.call_json(&alice, Method::POST, "/api/reports", report).await.expect(201);

    let head = server.call(&alice, Method::HEAD, EXPORT).await.expect(200);
    assert_eq!((head.header("content-type"), head.header("content-length")), (Some("application/zip"), None));
    let answer_of_export = server.get(&alice, EXPORT).await.expect(200);
    assert_eq!(answer_of_export.header("content-type"), Some("application/zip"));
    assert_eq!(answer_of_export.header("cache-control"), Some("no-store"));
    assert_eq!(answer_of_export.header("x-accel-buffering"), Some("no"));
    assert_eq!(answer_of_export.header("content-disposition"), Some("attachment; filename=\"agora-export.zip\""));
    let files = files(answer_of_export.body);
    let image = text(&with_image["image"]).strip_prefix(&format!("{PUBLIC_URL}/media/")).unwrap().to_owned();
    let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
    let in_archive = format!("images/{image}");
    let expected = [
        "account.ndjson",
        "posts.ndjson",
        "comments.ndjson",
        "likes.ndjson",
        "comment-likes.ndjson",
        "follows.ndjson",
        "blocks.ndjson",
        "mutes.ndjson",
        "bookmarks.ndjson",
        "reports.ndjson",
        &in_archive,
    ];
    assert_eq!(names, expected);
    let served = server.fetch(&format!("/media/{image}")).await.expect(200).body;
    assert_eq!(files.last().unwrap().1, served);
    let account = &lines(&files, "account.ndjson")[0];
    assert_eq!((&account["id"], &account["email"]), (&json!(alice.id), &json!("alice@example.org")));
    let posts = lines(&files, "posts.ndjson");
    let shown =
        |post: &Value| (post["id"].clone(), post["content"].clone(), post["visibility"].clone(), post["image"].clone());
    assert_eq!(
        posts.iter().map(shown).collect::<Vec<_>>(),
        [
            (json!(private), json!("For me \u{1f600} \"so\"\nit is"), json!("PRIVATE"), Value::Null),
            (with_image["id"].clone(), json!("With a picture"), json!("PUBLIC"), json!(in_archive)),
        ]
    );
    let comments = lines(&files, "comments.ndjson");
    let shown = |it: &Value| (it["id"].clone(), it["parentId"].clone(), it["postId"].clone());
    assert_eq!(
        comments.iter().map(shown).collect::<Vec<_>>(),
        [(json!(comment), Value::Null, json!(of_bob)), (json!(answer), json!(comment), json!(of_bob)),]
    );
    for (file, field, id) in [
        ("likes.ndjson", "postId", &of_bob),
        ("comment-likes.ndjson", "commentId", &comment),
        ("bookmarks.ndjson", "postId", &of_bob),
        ("follows.ndjson", "userId", &bob.id),
        ("mutes.ndjson", "userId", &bob.id),
        ("blocks.ndjson", "userId", &carol.id),
        ("reports.ndjson", "targetId", &carol.id),
    ] {
        let found = lines(&files, file);
        assert_eq!(found.len(), 1, "{file}");
        assert_eq!((&found[0][field], found[0]["createdAt"].is_string()), (&json!(id), true), "{file}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_exported_once_an_hour_with_or_without_a_role() {
    let server = Server::start().await;
    let [alice, bob] = [server.user("alice").await, server.user("bob").await];
    let root = server.root().await;
    server.change_role(&root, &alice, "REMOVE", "USER").await.expect(200);
    let files = files(server.get(&alice, EXPORT).await.expect(200).body);
    assert!(lines(&files, "posts.ndjson").is_empty());
    assert_eq!(list(&lines(&files, "account.ndjson")[0]["authorities"]).len(), 0);
    let refused = server.get(&alice, EXPORT).await.expect_code(429, "rate_limited");
    let after: u32 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((3500..=3600).contains(&after), "{after}");
    server.get(&bob, EXPORT).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_of_many_pages_is_complete() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let mut expected = Vec::new();
    for n in 0..230 {
        expected.insert(0, json!(server.publish(&alice, &format!("{n} {}", "x".repeat(2_000)), "PUBLIC").await));
    }
    let files = files(server.get(&alice, EXPORT).await.expect(200).body);
    let posts: Vec<_> = lines(&files, "posts.ndjson").into_iter().map(|post| post["id"].clone()).collect();
    assert_eq!(posts, expected);
}
