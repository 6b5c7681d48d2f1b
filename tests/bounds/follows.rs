//! How many one account may follow, block and mute.

use reqwest::Method;
use serde_json::json;

use super::{numbers, services};
use crate::client::text;

/// The most that one account may follow, block and mute, each.
const MOST: usize = 10_000;

#[tokio::test(flavor = "multi_thread")]
async fn an_account_follows_no_more_than_so_many_and_one_that_does_keeps_them() {
    for (_home, store, service) in services() {
        let api = &service.api;
        let (ada, eve, bob) = (api.user("ada").await, api.user("eve").await, api.user("bob").await);
        let users = "INSERT INTO users (id, username, username_key, email, email_key, password_hash, is_admin, is_user, \
                     enabled, created_at)";
        let ten = "'u' || i, 'u' || i, 'e' || i, 'e' || i, '', FALSE, TRUE, TRUE, {at 1}";
        store.run(&format!("{users} {} SELECT {{key i}}, {ten} FROM n;", numbers(MOST + 50)));
        let follow = |who: &str, many: usize| {
            let insert = "INSERT INTO follows (follower_id, followed_id, id, created_at)";
            let follower = format!("(SELECT id FROM users WHERE username_key = '{who}')");
            format!("{insert} {} SELECT {follower}, {{key i}}, {{key i}}, {{at i}} FROM n;", numbers(many))
        };
        store.run(&follow("ada", MOST - 1));
        store.run(&follow("eve", MOST + 50));
        let following = |id: &str| format!("/api/follow/follow/{id}");
        let refused = json!({
            "success": false, "status": 400, "code": "invalid_state", "message": "You cannot follow more than 10,000 users"
        });
        let id_of = |n: usize| format!("{n:032x}").parse::<uuid::Uuid>().unwrap().to_string();

        api.call(&ada, Method::PUT, &following(&id_of(MOST))).await.expect(200);
        for method in [Method::POST, Method::PUT] {
            let answer = api.call(&ada, method, &following(&bob.id)).await.expect(400);
            assert_eq!(answer.json(), refused);
        }
        // What is there can be set again, and one that goes makes room for another.
        api.call(&ada, Method::PUT, &following(&id_of(1))).await.expect(200);
        api.call(&ada, Method::DELETE, &following(&id_of(1))).await.expect(200);
        let answer = api.call(&ada, Method::POST, &following(&bob.id)).await.expect(200).json();
        assert_eq!(text(&answer["message"]), "Followed user successfully");

        api.call(&eve, Method::POST, &following(&bob.id)).await.expect(400);
        assert_eq!(api.get(&eve, &format!("/api/follow/followed/{}?size=100", eve.id)).await.expect(200).status, 200);
        api.call(&eve, Method::POST, &following(&id_of(7))).await.expect(200);
        service.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_blocks_and_mutes_no_more_than_so_many() {
    for (_home, store, service) in services() {
        let api = &service.api;
        let (ada, bob) = (api.user("ada").await, api.user("bob").await);
        let users = "INSERT INTO users (id, username, username_key, email, email_key, password_hash, is_admin, is_user, \
                     enabled, created_at)";
        let ten = "'u' || i, 'u' || i, 'e' || i, 'e' || i, '', FALSE, TRUE, TRUE, {at 1}";
        store.run(&format!("{users} {} SELECT {{key i}}, {ten} FROM n;", numbers(MOST)));
        let by_ada = "SELECT (SELECT id FROM users WHERE username_key = 'ada'), {key i}, {key i}, {at i} FROM n;";
        for (action, table) in [
            ("block", "INSERT INTO blocks (user_id, other_id, id, created_at)"),
            ("mute", "INSERT INTO mutes (muter_id, muted_id, id, created_at)"),
        ] {
            store.run(&format!("{table} {} {by_ada}", numbers(MOST)));
            let path = |id: &str| format!("/api/users/{id}/{action}");
            let first = format!("{:032x}", 1).parse::<uuid::Uuid>().unwrap().to_string();
            let refused = api.call(&ada, Method::PUT, &path(&bob.id)).await.expect(400).json();
            assert_eq!(refused["message"], format!("You cannot {action} more than 10,000 users"));
            api.call(&ada, Method::PUT, &path(&first)).await.expect(200);
            api.call(&ada, Method::DELETE, &path(&first)).await.expect(200);
            api.call(&ada, Method::PUT, &path(&bob.id)).await.expect(200);
            api.call(&ada, Method::DELETE, &path(&bob.id)).await.expect(200);
        }
        service.stop();
    }
}
