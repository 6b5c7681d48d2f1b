//! Tokens sent by mail: password resets and verification of email addresses.

use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{PASSWORD, eventually, list};
use crate::smtp::{SENDER, SmtpServer};
use crate::support::{Response, Server, User};

const FORGOT: &str = "/api/auth/password/forgot";
const RESET: &str = "/api/auth/password/reset";
const VERIFY: &str = "/api/auth/email/verify";
const VERIFICATION: &str = "/api/users/me/email/verification";
const EMAIL: &str = "/api/users/me/email";
const ME: &str = "/api/users/me";

const NEW_PASSWORD: &str = "another battery staple";

/// Starts a server that sends mail, and the SMTP server that receives it.
async fn start() -> (Server, SmtpServer) {
    let smtp = tokio::task::spawn_blocking(SmtpServer::start).await.unwrap();
    let url = smtp.url();
    let server = Server::start_with(|config| {
        config.smtp_url = Some(url.into());
        config.mail_from = Some(SENDER.to_owned());
    });
    (server.await, smtp)
}

async fn forgot(server: &Server, identifier: &str) -> Response {
    server.post_json(FORGOT, &json!({ "identifier": identifier })).await
}

async fn reset(server: &Server, token: &str, password: &str) -> Response {
    server.post_json(RESET, &json!({ "token": token, "newPassword": password })).await
}

async fn verify(server: &Server, token: &str) -> Response {
    server.post_json(VERIFY, &json!({ "token": token })).await
}

async fn change_email(server: &Server, user: &User, email: &str, password: &str) -> Response {
    let body = json!({ "email": email, "currentPassword": password });
    server.call_json(user, Method::PUT, EMAIL, body).await
}

async fn me(server: &Server, user: &User) -> (Value, Value) {
    let account = server.get(user, ME).await.expect(200).data();
    (account["email"].clone(), account["emailVerified"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_password_is_reset_with_a_token_from_a_mail() {
    let (server, smtp) = start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let asked = forgot(&server, "ALICE").await.expect(202);
    let said = json!({ "message": "If there is such an account, a mail is on its way", "data": null });
    assert_eq!(asked.json(), said);
    let mail = smtp.mail(0, "alice@example.org").await;
    assert_eq!(mail.0["from"], "no-reply@agora.example.org");
    assert_eq!((mail.header("from"), mail.header("subject")), (SENDER, "Reset your password"));
    assert_eq!(mail.header("auto-submitted"), "auto-generated");
    assert!(mail.header("message-id").ends_with("@agora.example.org>"), "{mail:?}");
    assert!(!mail.text().contains("alice"), "any address may be of somebody else: {mail:?}");
    let first = mail.token();
    forgot(&server, "alice@EXAMPLE.org").await.expect(202);
    let token = smtp.mail(1, "alice@example.org").await.token();

    for bad in ["x", &"A".repeat(43), &token.to_lowercase(), &format!("{token}=")] {
        reset(&server, bad, NEW_PASSWORD).await.expect_invalid(&["token"]);
    }
    verify(&server, &token).await.expect_invalid(&["token"]);
    // A rejected password does not use up the token.
    reset(&server, &token, "short").await.expect_invalid(&["newPassword"]);
    reset(&server, " ", "short").await.expect_invalid(&["newPassword", "token"]);
    server.get(&alice, ME).await.expect(200);
    let done = reset(&server, &format!(" {token}\n"), NEW_PASSWORD).await.expect(200);
    assert_eq!(done.json(), json!({ "message": "Password changed successfully", "data": null }));
    server.get(&alice, ME).await.expect(401);
    server.get(&bob, ME).await.expect(200);
    server.login("alice", PASSWORD).await.expect(401);
    server.login("alice", NEW_PASSWORD).await.expect(200);
    for used in [&token, &first] {
        reset(&server, used, PASSWORD).await.expect_invalid(&["token"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requesting_a_password_reset_does_not_reveal_whether_an_account_exists() {
    let (server, smtp) = start().await;
    let (root, bob) = (server.root().await, server.user("bob").await);
    server.user("alice").await;
    let disabled = json!({ "enabled": false });
    server.call_json(&root, Method::PUT, &format!("/api/users/{}/enabled", bob.id), disabled).await.expect(200);
    let comparable = |response: &Response| {
        let headers = response.headers.iter().filter(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()));
        (
            response.status,
            headers.map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>(),
            response.body.clone(),
        )
    };
    let expected = comparable(&forgot(&server, "alice").await.expect(202));
    for _ in 0..4 {
        for identifier in ["nobody", "nobody@example.org", "bob", "bob@example.org", "alice"] {
            assert_eq!(comparable(&forgot(&server, identifier).await), expected, "{identifier}");
        }
    }
    server.call(&root, Method::POST, VERIFICATION).await.expect(202);
    let taken = smtp.wait_for(4).await;
    let to: Vec<_> = taken.iter().map(|mail| mail.to()).collect();
    assert_eq!(to, ["alice@example.org", "alice@example.org", "alice@example.org", "root@example.org"]);
    for wrong in [json!({}), json!({ "identifier": " " }), json!({ "identifier": 1 })] {
        server.post_json(FORGOT, &wrong).await.expect_invalid(&["identifier"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_own_email_address_is_verified_once() {
    let (server, smtp) = start().await;
    let alice = server.user("alice").await;
    assert_eq!(me(&server, &alice).await, (json!("alice@example.org"), json!(false)));
    for _ in 0..3 {
        let asked = server.call(&alice, Method::POST, VERIFICATION).await.expect(202);
        assert_eq!(asked.json(), json!({ "message": "A mail is on its way", "data": null }));
    }
    let refused = server.call(&alice, Method::POST, VERIFICATION).await.expect_code(429, "rate_limited");
    let wait: u32 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((3_500..=3_600).contains(&wait), "{refused:?}");
    // Mails of another kind are limited separately.
    forgot(&server, "alice").await.expect(202);
    let taken = smtp.wait_for(4).await;
    let token = taken[0].token();
    assert_eq!(taken[0].header("subject"), "Confirm your email address");
    assert!(!taken[0].text().contains("alice"), "the mail to a new address does not show the username");
    reset(&server, &token, NEW_PASSWORD).await.expect_invalid(&["token"]);
    let done = verify(&server, &token).await.expect(200);
    assert_eq!(done.json(), json!({ "message": "Email verified successfully", "data": null }));
    assert_eq!(me(&server, &alice).await, (json!("alice@example.org"), json!(true)));
    verify(&server, &token).await.expect_invalid(&["token"]);
    let done = server.call(&alice, Method::POST, VERIFICATION).await.expect(200);
    assert_eq!(done.json(), json!({ "message": "Email is verified already", "data": null }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_email_address_takes_effect_once_verified_and_the_old_one_is_notified() {
    let (server, smtp) = start().await;
    let (alice, _bob) = (server.user("alice").await, server.user("bob").await);
    change_email(&server, &alice, "new@example.org", "wrong password").await.expect_invalid(&["currentPassword"]);
    change_email(&server, &alice, "no address", PASSWORD).await.expect_invalid(&["email"]);
    change_email(&server, &alice, "BOB@example.org", PASSWORD).await.expect_code(409, "email_taken");
    let same = change_email(&server, &alice, "alice@example.org", PASSWORD).await.expect(200);
    assert_eq!(same.data()["email"], "alice@example.org");
    forgot(&server, "alice").await.expect(202);
    let for_password = smtp.mail(0, "alice@example.org").await.token();

    let changed = change_email(&server, &alice, "new@example.org", PASSWORD).await.expect(200);
    assert_eq!(changed.data()["email"], "alice@example.org", "not yet");
    let taken = smtp.wait_for(3).await;
    let to = |address: &str| taken[1..].iter().find(|mail| mail.to() == address).unwrap();
    let (to_new, to_old) = (to("new@example.org"), to("alice@example.org"));
    assert_eq!(to_old.header("subject"), "Your email address is about to change");
    assert!(!to_new.text().contains("alice") && !to_old.text().contains("alice"));
    verify(&server, &to_new.token()).await.expect(200);
    assert_eq!(me(&server, &alice).await, (json!("new@example.org"), json!(true)));
    server.login("NEW@example.org", PASSWORD).await.expect(200);
    server.login("alice@example.org", PASSWORD).await.expect(401);
    reset(&server, &for_password, NEW_PASSWORD).await.expect_invalid(&["token"]);
    // The old address is available again.
    let registration = json!({ "username": "other", "email": "alice@example.org", "password": PASSWORD });
    server.post_json("/api/auth/register", &registration).await.expect(201);

    for n in 0..2 {
        change_email(&server, &alice, &format!("new-{n}@example.org"), PASSWORD).await.expect(200);
    }
    change_email(&server, &alice, "new-3@example.org", PASSWORD).await.expect_code(429, "rate_limited");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_email_address_is_requested_at_most_three_times_an_hour_by_all_accounts_together() {
    let (server, smtp) = start().await;
    for name in ["alice", "bob", "carol"] {
        let user = server.user(name).await;
        change_email(&server, &user, "target@example.org", PASSWORD).await.expect(200);
    }
    let dave = server.user("dave").await;
    change_email(&server, &dave, "Target@example.org", PASSWORD).await.expect_code(429, "rate_limited");
    change_email(&server, &dave, "dave@example.net", PASSWORD).await.expect(200);
    let taken = smtp.wait_for(8).await;
    assert_eq!(taken.iter().filter(|mail| mail.to().to_lowercase() == "target@example.org").count(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_email_address_of_a_deleted_account_is_refused_at_once() {
    let (server, smtp) = start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let confirmed = json!({ "currentPassword": PASSWORD });
    server.call_json(&alice, Method::DELETE, ME, confirmed).await.expect(200);
    change_email(&server, &bob, "alice@example.org", PASSWORD).await.expect_code(409, "email_taken");
    change_email(&server, &bob, "bob@example.net", PASSWORD).await.expect(200);
    assert!(smtp.wait_for(2).await.iter().all(|mail| mail.to().starts_with("bob@")));
}

#[tokio::test(flavor = "multi_thread")]
async fn verifying_an_email_address_that_was_taken_meanwhile_is_a_conflict() {
    let (server, smtp) = start().await;
    let alice = server.user("alice").await;
    change_email(&server, &alice, "bob@example.org", PASSWORD).await.expect(200);
    let taken = smtp.wait_for(2).await;
    let token = taken.iter().find(|mail| mail.to() == "bob@example.org").unwrap().token();
    server.user("bob").await;
    verify(&server, &token).await.expect_code(409, "email_taken");
    assert_eq!(me(&server, &alice).await, (json!("alice@example.org"), json!(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_without_mail_refuses_tokens_but_accepts_password_reset_requests() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for (path, body) in
        [(RESET, json!({ "token": "x", "newPassword": NEW_PASSWORD })), (VERIFY, json!({ "token": "x" }))]
    {
        let refused = server.post_json(path, &body).await.expect_code(400, "mail_not_configured");
        assert_eq!(refused.json()["message"], "This service sends no mail");
    }
    server.call(&alice, Method::POST, VERIFICATION).await.expect_code(400, "mail_not_configured");
    forgot(&server, "alice").await.expect(202);
    let changed = change_email(&server, &alice, "new@example.org", PASSWORD).await.expect(200).data();
    assert_eq!((&changed["email"], &changed["emailVerified"]), (&json!("new@example.org"), &json!(false)));
    assert_eq!(me(&server, &alice).await, (json!("new@example.org"), json!(false)));
    server.login("new@example.org", PASSWORD).await.expect(200);
    server.user("bob").await;
    change_email(&server, &alice, "bob@example.org", PASSWORD).await.expect_code(409, "email_taken");
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_list_mails_and_retry_one() {
    let (server, smtp) = start().await;
    let root = server.root().await;
    for name in ["alice", "later"] {
        server.user(name).await;
        forgot(&server, name).await.expect(202);
    }
    smtp.mail(0, "alice@example.org").await;
    let listed = async |status: &str| {
        list(&server.get(&root, &format!("/api/admin/mails?status={status}")).await.expect(200).data()).to_vec()
    };
    let waiting = eventually("a failure", async || {
        let waiting = listed("waiting").await;
        waiting.first().filter(|mail| mail["failure"].is_string()).cloned()
    });
    let waiting = waiting.await;
    assert_eq!((&waiting["kind"], &waiting["address"]), (&json!("password_reset"), &json!("later@example.org")));
    assert!(waiting["attempts"].as_u64().unwrap() >= 1, "{waiting}");
    let sent = eventually("a mail that was sent", async || listed("sent").await.first().cloned()).await;
    assert_eq!((&sent["address"], &sent["failure"]), (&json!("alice@example.org"), &json!(null)));
    assert!(listed("dead").await.is_empty());

    let retry = async |mail: &Value| {
        let path = format!("/api/admin/mails/{}/retry", mail["id"].as_str().unwrap());
        server.call(&root, Method::POST, &path).await
    };
    assert_eq!(retry(&waiting).await.expect(200).json(), json!({ "message": "success", "data": null }));
    retry(&sent).await.expect_code(404, "mail_not_found");
    for query in ["", "?status=", "?status=unsent"] {
        server.get(&root, &format!("/api/admin/mails{query}")).await.expect_invalid(&["status"]);
    }
}
