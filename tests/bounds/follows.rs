//! The maximum number of accounts that one account may follow, block and mute.

use reqwest::Method;
use serde_json::json;

use super::{numbers, services};
use crate::client::text;

/// The limit, for each of them.
const MAX: usize = 10_000;

#[tokio::test(flavor = "multi_thread")]
async fn an_account_cannot_follow_more_than_the_limit_but_keeps_existing_follows_beyond_it() {
    for (_home, store, service) in services() {
        let api = &service.api;
        let (ada, eve, bob) = (api.user("ada").await, api.user("eve").await, api.user("bob").await);
        let users = "INSERT INTO users (id, username, username_key, email, email_key, password_hash, is_admin, is_user, \
                     enabled, created_at)";
        let values = "'u' || i, 'u' || i, 'e' || i, 'e' || i, '', FALSE, TRUE, TRUE, {at 1}";
        store.run(&format!("{users} {} SELECT {{key i}}, {values} FROM n;", numbers(MAX + 50)));
        let follow = |who: &str, many: usize| {
            let insert = "INSERT INTO follows (follower_id, followed_id, id, created_at)";
            let follower = format!("(SELECT id FROM users WHERE username_key = '{who}')");
            format!("{insert} {} SELECT {follower}, {{key i}}, {{key i}}, {{at i}} FROM n;", numbers(many))
        };
        store.run(&follow("ada", MAX - 1));
        store.run(&follow("eve", MAX + 50));
        let following = |id: &str| format!("/api/follow/follow/{id}");
        let refused = json!({
            "success": false, "status": 400, "code": "invalid_state", "message": "You cannot follow more than 10,000 users"
        });
        let id_of = |n: usize| format!("{n:032x}").parse::<uuid::Uuid>().unwrap().to_string();

        api.call(&ada, Method::PUT, &following(&id_of(MAX))).await.expect(200);
        for method in [Method::POST, Method::PUT] {
            let answer = api.call(&ada, method, &following(&bob.id)).await.expect(400);
            assert_eq!(answer.json(), refused);
        }
        // An existing follow can be repeated, and after an unfollow there is room for another.
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
async fn an_account_cannot_block_or_mute_more_than_the_limit() {
    for (_home, store, service) in services() {
        let api = &service.api;
        let (ada, bob) = (api.user("ada").await, api.user("bob").await);
        let users = "INSERT INTO users (id, username, username_key, email, email_key, password_hash, is_admin, is_user, \
                     enabled, created_at)";
        let values = "'u' || i, 'u' || i, 'e' || i, 'e' || i, '', FALSE, TRUE, TRUE, {at 1}";
        store.run(&format!("{users} {} SELECT {{key i}}, {values} FROM n;", numbers(MAX)));
        let by_ada = "SELECT (SELECT id FROM users WHERE username_key = 'ada'), {key i}, {key i}, {at i} FROM n;";
        for (action, table) in [
            ("block", "INSERT INTO blocks (user_id, other_id, id, created_at)"),
            ("mute", "INSERT INTO mutes (muter_id, muted_id, id, created_at)"),
        ] {
            store.run(&format!("{table} {} {by_ada}", numbers(MAX)));
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
