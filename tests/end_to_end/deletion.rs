//! The deletion of an account: no data of it remain in the database or in the image store.

use reqwest::Method;
use reqwest::header::HeaderName;
use serde_json::json;

use crate::client::{Client, PASSWORD, User, eventually, key, text};
use crate::picture::picture;
use crate::process::Home;
use crate::store::{Kind, Store};

/// A word that is in every text that the account writes.
const WORD: &str = "Xylophone";

/// Makes an account and others interact in every possible way.
async fn interact(api: &Client, who: &User, others: &[User]) -> Vec<String> {
    let name = format!("{WORD} Ltd");
    let form = reqwest::multipart::Form::new()
        .text("displayName", name.clone())
        .text("biography", format!("I play the {WORD}"))
        .part("profilePicture", reqwest::multipart::Part::bytes(picture()).file_name("me.png"));
    let me = api.call_form(who, Method::PUT, "/api/users/me", form).await.expect(200).data();
    let mut images = vec![key(&me["profilePicture"])];
    let mut posts = Vec::new();
    for n in 0..3 {
        let post = api.post(who, &format!("{WORD} {n} #{WORD}"), Some(&picture())).await;
        images.push(key(&post["image"]));
        posts.push(text(&post["id"]));
    }
    let (call, put) = (Method::POST, Method::PUT);
    for other in others {
        let theirs = text(&api.post(other, "Good morning", None).await["id"]);
        let comment = api.send(api.commenting(other, &theirs, "First")).await;
        comment.expect(201);
        let path = format!("/api/posts/{theirs}/comments");
        let comment = json!({ "content": format!("So says the {WORD}") });
        let own = api.call_json(who, call.clone(), &path, comment).await.expect(201).data();
        let answer = json!({ "content": "Does it?", "replyToId": own["id"] });
        api.call_json(other, call.clone(), &path, answer).await.expect(201);
        let first = api.get(who, &path).await.expect(200).data()[0]["id"].clone();
        for path in [
            format!("/api/posts/like/{theirs}"),
            format!("/api/posts/{theirs}/bookmark"),
            format!("/api/comments/{}/like", text(&first)),
            format!("/api/follow/follow/{}", other.id),
            format!("/api/users/{}/mute", other.id),
        ] {
            api.call(who, put.clone(), &path).await.expect(200);
        }
        for path in [
            format!("/api/posts/like/{}", posts[0]),
            format!("/api/posts/{}/bookmark", posts[0]),
            format!("/api/comments/{}/like", text(&own["id"])),
            format!("/api/follow/follow/{}", who.id),
            format!("/api/users/{}/mute", who.id),
        ] {
            api.call(other, put.clone(), &path).await.expect(200);
        }
        api.send(api.commenting(other, &posts[1], "Nice")).await.expect(201);
        let report = json!({ "targetType": "POST", "targetId": theirs, "category": "SPAM", "comment": WORD });
        api.call_json(who, call.clone(), "/api/reports", report).await.expect(201);
    }
    let again = api.request_as(who, call.clone(), &format!("/api/posts/like/{}", posts[2]));
    api.send(again.header(HeaderName::from_static("idempotency-key"), "once")).await.expect(200);
    let setting = json!({ "like": "none" });
    api.call_json(who, put.clone(), "/api/notifications/settings", setting).await.expect(200);
    for (by, whom) in [(who, &others[0]), (&others[1], who)] {
        api.call(by, put.clone(), &format!("/api/users/{}/block", whom.id)).await.expect(200);
    }
    images
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_a_deleted_account_in_any_table_or_in_the_store() {
    let home = Home::new();
    for (kind, name) in [(Kind::Sqlite, "sqlite"), (Kind::Postgres, "postgres")] {
        let store = tokio::task::block_in_place(|| Store::new(kind, &home, name));
        let service = home.start_with(&[("AGORA_DATABASE_URL", &store.url), ("AGORA_SWEEP_INTERVAL", "1s")]);
        let api = &service.api;
        let (who, others) = (api.user(WORD).await, [api.user("bob").await, api.user("cleo").await]);
        let images = interact(api, &who, &others).await;
        let found = async || api.get(&others[1], &format!("/api/search?type=posts&q={WORD}")).await.status;
        assert_eq!(found().await, 200);
        for key in &images {
            assert!(home.image_file(key).exists());
        }
        let password = json!({ "currentPassword": PASSWORD });
        api.call_json(&who, Method::DELETE, "/api/users/me", password).await.expect(200);
        eventually("the erasure is logged", async || service.log().contains("erased a deleted account").then_some(()))
            .await;
        for key in &images {
            assert!(!home.image_file(key).exists(), "{key}");
        }
        let id = who.id.replace('-', "");
        let mut tables = 0;
        for (table, rows) in tokio::task::block_in_place(|| store.all_rows(&store.columns())) {
            tables += 1;
            // Events are kept for five minutes, and contain only ids.
            if table == "events" {
                continue;
            }
            for row in rows {
                let text = format!("{row:?}").to_lowercase();
                // Words are stored in lower case, in a form of their own.
                for left in [WORD, &who.id, &id] {
                    assert!(!text.contains(&left.to_lowercase()), "{left} in {table}: {text}");
                }
            }
        }
        assert!(tables > 25, "{tables}");
        service.stop();
    }
}
