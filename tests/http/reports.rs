//! `/api/reports`, `/api/admin/reports…` and `/api/admin/audit`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{PASSWORD, list, text};
use crate::support::{Response, Server, User};

const NOTHING: &str = "01900000-0000-7000-8000-000000000000";

async fn report(server: &Server, by: &User, kind: &str, id: &str) -> Response {
    let body = json!({ "targetType": kind, "targetId": id, "category": "ABUSE", "comment": " Rude \u{1f620} " });
    server.call_json(by, Method::POST, "/api/reports", body).await
}

async fn ids(server: &Server, user: &User, path: &str) -> Vec<String> {
    let data = server.get(user, path).await.expect(200).data();
    list(&data).iter().map(|entry| text(&entry["id"])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_made_read_and_decided() {
    let server = Server::start().await;
    let [alice, bob] = [server.user("alice").await, server.user("bob").await];
    let root = server.root().await;
    let post = server.publish(&alice, "My word", "PUBLIC").await;
    let path = format!("/api/posts/{post}/comments");
    let comment =
        server.call_json(&alice, Method::POST, &path, json!({ "content": "Indeed" })).await.expect(201).data();
    let comment = text(&comment["id"]);
    let mut made = Vec::new();
    for (kind, target) in [("POST", &post), ("COMMENT", &comment), ("USER", &alice.id)] {
        let created = report(&server, &bob, kind, target).await.expect(201).json();
        assert_eq!(created["message"], "Report created successfully");
        let id = text(&created["data"]["id"]);
        let again = report(&server, &bob, kind, target).await.expect(200).json();
        assert_eq!(again, json!({ "message": "success", "data": { "id": id } }));
        let read = server.get(&root, &format!("/api/admin/reports/{id}")).await.expect(200).data();
        assert_eq!(read["createdAt"].as_str().unwrap().len(), "2025-07-15T00:24:54.124+00:00".len());
        let mini = |user: &User, name: &str| json!({ "id": user.id, "username": name, "displayName": null, "profilePicture": null, "profilePictureThumbnail": null });
        let reporter = mini(&bob, "bob");
        let reported = json!({ "postId": post, "author": mini(&alice, "alice"), "content": "Indeed", "hidden": false });
        let expected = json!({
            "id": id, "createdAt": read["createdAt"], "reporter": reporter, "targetType": kind, "targetId": target,
            "category": "ABUSE", "comment": "Rude \u{1f620}", "status": "OPEN", "note": null,
            "reportedComment": if kind == "COMMENT" { reported } else { Value::Null },
        });
        assert_eq!(read, expected);
        made.insert(0, id);
    }
    assert_eq!(ids(&server, &root, "/api/admin/reports?status=OPEN").await, made);
    let decide = async |id: &str, body: Value| {
        server.call_json(&root, Method::PUT, &format!("/api/admin/reports/{id}"), body).await
    };
    decide(&made[0], json!({ "status": "RESOLVED", "note": " Told off " })).await.expect(200);
    decide(&made[0], json!({ "status": "RESOLVED", "note": "Told off" })).await.expect(200);
    decide(&made[1], json!({ "status": "REJECTED" })).await.expect(200);
    let read = server.get(&root, &format!("/api/admin/reports/{}", made[0])).await.expect(200).data();
    assert_eq!((&read["status"], &read["note"]), (&json!("RESOLVED"), &json!("Told off")));
    assert_eq!(ids(&server, &root, "/api/admin/reports?status=OPEN").await, made[2..]);
    assert_eq!(ids(&server, &root, "/api/admin/reports?status=RESOLVED").await, made[..1]);
    assert_eq!(ids(&server, &root, "/api/admin/reports").await, made);
    let walked = server.walk(&root, "/api/admin/reports?size=1", "data").await;
    assert_eq!(walked.iter().map(|report| text(&report["id"])).collect::<Vec<_>>(), made);

    // A report outlives what it is about.
    server.call(&alice, Method::DELETE, &format!("/api/posts/delete/{post}")).await.expect(200);
    assert_eq!(ids(&server, &root, "/api/admin/reports").await, made);
    let log = server.get(&root, &format!("/api/admin/audit?actor={}", root.id)).await.expect(200).data();
    let acts: Vec<_> = list(&log)
        .iter()
        .map(|entry| {
            (text(&entry["action"]), text(&entry["targetId"]), entry["details"].clone(), text(&entry["actor"]["id"]))
        })
        .collect();
    assert_eq!(
        acts,
        [
            ("report_rejected".to_owned(), made[1].clone(), Value::Null, root.id.clone()),
            ("report_resolved".to_owned(), made[0].clone(), json!("Told off"), root.id.clone()),
        ]
    );
    decide(NOTHING, json!({})).await.expect_code(404, "report_not_found");
    server.get(&root, &format!("/api/admin/reports/{NOTHING}")).await.expect_code(404, "report_not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_the_reporter_may_view_can_be_reported_regardless_of_blocks() {
    let server = Server::start().await;
    let [alice, bob] = [server.user("alice").await, server.user("bob").await];
    let root = server.root().await;
    let public = server.publish(&alice, "For all", "PUBLIC").await;
    let private = server.publish(&alice, "For me", "PRIVATE").await;
    report(&server, &bob, "POST", &private).await.expect_code(403, "forbidden");
    for kind in ["POST", "COMMENT", "USER"] {
        report(&server, &bob, kind, NOTHING).await.expect(404);
    }
    server.call(&alice, Method::PUT, &format!("/api/users/{}/block", bob.id)).await.expect(200);
    server.get(&bob, &format!("/api/posts/by-id/{public}")).await.expect(404);
    report(&server, &bob, "POST", &public).await.expect(201);
    report(&server, &bob, "USER", &alice.id).await.expect(201);
    report(&server, &alice, "USER", &bob.id).await.expect(201);
    report(&server, &bob, "POST", &private).await.expect_code(403, "forbidden");
    let disabled = server.user("carol").await;
    let path = format!("/api/users/{}/enabled", disabled.id);
    server.call_json(&root, Method::PUT, &path, json!({ "enabled": false })).await.expect(200);
    report(&server, &bob, "USER", &disabled.id).await.expect_code(404, "user_not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_reports_name_every_field_and_a_retry_under_a_key_makes_no_second_one() {
    let server = Server::start().await;
    let [alice, bob] = [server.user("alice").await, server.user("bob").await];
    let root = server.root().await;
    let body = json!({ "targetType": "IMAGE", "targetId": "x", "category": "BAD", "comment": "a".repeat(1001) });
    let invalid = ["category", "comment", "targetId", "targetType"];
    server.call_json(&bob, Method::POST, "/api/reports", body).await.expect_invalid(&invalid);
    let missing = ["category", "targetId", "targetType"];
    server.call_json(&bob, Method::POST, "/api/reports", json!({})).await.expect_invalid(&missing);
    for status in ["open", "x"] {
        server.get(&root, &format!("/api/admin/reports?status={status}")).await.expect_code(400, "validation_failed");
    }
    let id = text(&report(&server, &bob, "USER", &alice.id).await.expect(201).data()["id"]);
    let path = format!("/api/admin/reports/{id}");
    for body in [json!({}), json!({ "status": "OPEN" }), json!({ "status": "RESOLVED", "note": "a".repeat(1001) })] {
        server.call_json(&root, Method::PUT, &path, body).await.expect_code(400, "validation_failed");
    }
    let body = json!({ "targetType": "USER", "targetId": root.id, "category": "OTHER" });
    let mut made = Vec::new();
    for _ in 0..2 {
        let request = server.request_as(&bob, Method::POST, "/api/reports").header("Idempotency-Key", "once");
        made.push(server.send(request.json(&body)).await.expect(201).json());
    }
    assert_eq!(made[0], made[1]);
    assert_eq!(ids(&server, &root, "/api/admin/reports").await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_may_make_twenty_reports_an_hour() {
    let server = Server::start().await;
    let [alice, bob] = [server.user("alice").await, server.user("bob").await];
    let mut posts = Vec::new();
    for n in 0..21 {
        posts.push(server.publish(&alice, &format!("post {n}"), "PUBLIC").await);
    }
    for post in &posts[..20] {
        report(&server, &bob, "POST", post).await.expect(201);
    }
    let refused = report(&server, &bob, "POST", &posts[20]).await.expect_code(429, "rate_limited");
    let after: u32 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((3500..=3600).contains(&after), "{after}");
    report(&server, &bob, "POST", &posts[0]).await.expect(200);
    report(&server, &alice, "USER", &bob.id).await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_are_notified_of_reports() {
    let server = Server::start().await;
    let [alice, bob, carol] = [server.user("alice").await, server.user("bob").await, server.user("carol").await];
    let root = server.root().await;
    server.change_role(&root, &carol, "ADD", "ADMIN").await.expect(200);
    let post = server.publish(&alice, "My word", "PUBLIC").await;
    report(&server, &bob, "POST", &post).await.expect(201);
    report(&server, &bob, "POST", &post).await.expect(200);
    for admin in [&root, &carol] {
        let notified = server.get(admin, "/api/notifications?type=report").await.expect(200).data();
        let notified = list(&notified);
        assert_eq!(notified.len(), 1);
        assert_eq!(
            (&notified[0]["type"], &notified[0]["post"]["id"], &notified[0]["actors"][0]["username"]),
            (&json!("report"), &json!(post), &json!("bob"))
        );
        assert_eq!(server.get(admin, "/api/notifications/unread").await.expect(200).data()["count"], 1);
    }
    assert!(ids(&server, &alice, "/api/notifications").await.is_empty(), "not who is reported");
    server.change_role(&root, &carol, "REMOVE", "ADMIN").await.expect(200);
    assert!(ids(&server, &carol, "/api/notifications").await.is_empty(), "who is no administrator any more");
    assert_eq!(server.get(&carol, "/api/notifications/unread").await.expect(200).data()["count"], 0);
    server.call_json(&root, Method::PUT, "/api/notifications/settings", json!({ "report": "none" })).await.expect(200);
    report(&server, &alice, "USER", &bob.id).await.expect(201);
    assert_eq!(ids(&server, &root, "/api/notifications").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_has_every_act_and_is_filtered_by_actor_target_and_action() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let root = server.root().await;
    let enabled = format!("/api/users/{}/enabled", alice.id);
    for role_action in ["ADD", "ADD", "REMOVE"] {
        server.change_role(&root, &alice, role_action, "ADMIN").await.expect(200);
    }
    for body in [json!({ "enabled": false }), json!({ "enabled": false }), json!({ "enabled": true })] {
        server.call_json(&root, Method::PUT, &enabled, body).await.expect(200);
    }
    let product = text(&server.product(&root, json!({ "sku": "MUG-1" })).await["id"]);
    let path = format!("/api/products/{product}");
    for name in ["Cup", "Cup"] {
        server.call_json(&root, Method::PUT, &path, json!({ "name": name })).await.expect(200);
    }
    server.call(&root, Method::DELETE, &path).await.expect(200);
    server.call(&root, Method::DELETE, &path).await.expect(404);
    let entries = async |query: &str| {
        let log = server.get(&root, &format!("/api/admin/audit?{query}")).await.expect(200).data();
        list(&log).iter().map(|entry| text(&entry["action"])).collect::<Vec<_>>()
    };
    let of_product = ["product_deleted", "product_updated", "product_created"];
    let of_account = ["account_enabled", "account_disabled", "role_removed", "role_added"];
    let by_root = [&of_product[..], &of_account[..]].concat();
    // The role of root was set by the operator.
    assert_eq!(entries("actor=cli").await, ["role_added"]);
    assert_eq!(entries("").await, [&by_root[..], &["role_added"]].concat());
    assert_eq!(entries(&format!("actor={}", root.id)).await, by_root);
    assert_eq!(entries(&format!("target={product}")).await, of_product);
    assert_eq!(entries(&format!("target={}&actor={}", alice.id, root.id)).await, of_account);
    assert_eq!(entries(&format!("action=role_added&actor={}", root.id)).await, ["role_added"]);
    for query in [format!("actor={}", alice.id), format!("target={NOTHING}")] {
        assert!(entries(&query).await.is_empty(), "{query}");
    }
    let newest = server.get(&root, "/api/admin/audit?size=1").await.expect(200).data()[0].clone();
    assert_eq!((&newest["targetType"], &newest["details"]), (&json!("PRODUCT"), &json!("MUG-1")));
    assert_eq!(newest["actor"]["username"], "root");
    assert_eq!(server.walk(&root, "/api/admin/audit?size=2", "data").await.len(), by_root.len() + 1);
    for query in ["actor=root", "target=x", "action=x", "size=0", "cursor=x"] {
        server.get(&root, &format!("/api/admin/audit?{query}")).await.expect_code(400, "validation_failed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_distinguishes_a_deleted_administrator_from_the_command_line() {
    let server = Server::start().await;
    let (root, eve) = (server.root().await, server.user("eve").await);
    server.change_role(&root, &eve, "ADD", "ADMIN").await.expect(200);
    server.product(&eve, json!({ "sku": "MUG-1" })).await;
    let actor = async |query: &str| {
        let log = server.get(&root, &format!("/api/admin/audit?{query}")).await.expect(200).data();
        (log[0]["actor"]["username"].clone(), log[0]["actorId"].clone())
    };
    assert_eq!(actor("action=product_created").await, (json!("eve"), json!(eve.id)));
    let password = json!({ "currentPassword": PASSWORD });
    server.call_json(&eve, Method::DELETE, "/api/users/me", password).await.expect(200);
    assert_eq!(actor("action=product_created").await, (Value::Null, json!(eve.id)));
    assert_eq!(actor("actor=cli").await, (Value::Null, Value::Null));
}
