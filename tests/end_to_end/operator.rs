//! Changes of accounts on the command line, and their effect on a running service.

use reqwest::Method;

use crate::client::{Client, PASSWORD, User, eventually};
use crate::process::{Finished, Home, run};

const NEW: &str = "battery staple";

fn admin(home: &Home, arguments: &[&str], input: &str) -> Finished {
    run(home.agora(&[&["admin"], arguments].concat()), input)
}

/// Waits until a GET request of a user is answered with this status.
async fn until_status(api: &Client, user: &User, path: &str, status: u16) {
    let what = format!("{} gets {status} at {path}", user.name);
    eventually(&what, async || (api.get(user, path).await.status == status).then_some(())).await;
}

const OWN: &str = "/api/users/me";
const ALL: &str = "/api/users/all";

#[tokio::test(flavor = "multi_thread")]
async fn a_running_service_soon_applies_a_revoked_role_and_a_disabled_or_enabled_account() {
    let home = Home::new();
    let service = home.start_with_root();
    let api = &service.api;
    let (alice, root) = (api.user("alice").await, api.log_in("root").await);
    admin(&home, &["grant", "alice"], "").expect_success();
    until_status(api, &alice, ALL, 200).await;
    let listed = admin(&home, &["list"], "").expect_success().stdout;
    assert_eq!(listed, "root <root@example.org>\nalice <alice@example.org>\n");

    let output = admin(&home, &["revoke", "ALICE"], "").expect_success().stdout;
    let (output, database) = output.split_once("\nDatabase: ").unwrap();
    assert_eq!(output, "ALICE does not have ADMIN. A running service sees the change within 5 seconds.");
    assert!(!database.contains("created just now"), "{database}");
    until_status(api, &alice, ALL, 403).await;
    api.get(&alice, OWN).await.expect(200);

    let output = admin(&home, &["disable", "alice@example.org"], "").expect_success().stdout;
    assert!(output.contains("disabled and logged out everywhere"), "{output}");
    until_status(api, &alice, OWN, 401).await;
    api.login("alice", PASSWORD).await.expect(401);
    admin(&home, &["enable", "alice"], "").expect_success();
    let again = api.log_in("alice").await;
    until_status(api, &again, OWN, 200).await;
    // The session from before stays ended.
    api.get(&alice, OWN).await.expect(401);
    api.get(&root, ALL).await.expect(200);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_password_ends_every_session_and_is_never_shown() {
    let home = Home::new();
    let service = home.start();
    let api = &service.api;
    let (alice, bob) = (api.user("alice").await, api.user("bob").await);
    let finished = admin(&home, &["reset-password", "alice"], &format!("{NEW}\nrest\n")).expect_success();
    assert!(!format!("{finished:?}").contains(NEW), "{finished:?}");
    assert!(finished.stdout.contains("alice has a new password and is logged out everywhere"), "{finished:?}");
    until_status(api, &alice, OWN, 401).await;
    api.login("alice", PASSWORD).await.expect(401);
    api.login("alice", NEW).await.expect(200);
    api.get(&bob, OWN).await.expect(200);

    let refused = admin(&home, &["reset-password", "alice"], "battery\n").expect_refusal(&["Password must be 8 to 72"]);
    assert!(!refused.stderr.contains("battery"), "{refused:?}");
    admin(&home, &["reset-password", "alice"], "\n").expect_refusal(&["Password is required"]);
    admin(&home, &["reset-password", "alice"], "").expect_refusal(&["no password", "terminal", "first line"]);
    // A password cannot be given as an argument, which other users of the machine could see.
    assert_eq!(admin(&home, &["reset-password", "alice", NEW], "").code, Some(2));
    api.login("alice", NEW).await.expect(200);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_administrator_cannot_be_revoked_or_disabled() {
    let home = Home::new();
    assert_eq!(home.start_with_root().stop().code, Some(0));
    let last = ["The last enabled ADMIN cannot lose the role, be disabled or be deleted"];
    admin(&home, &["revoke", "root"], "").expect_refusal(&last);
    admin(&home, &["disable", "root"], "").expect_refusal(&last);
    let second = ["create", "--username", "second", "--email", "second@example.org"];
    admin(&home, &second, PASSWORD).expect_success();
    admin(&home, &["disable", "root"], "").expect_success();
    let listed = admin(&home, &["list"], "").expect_success().stdout;
    assert_eq!(listed, "root <root@example.org> (disabled)\nsecond <second@example.org>\n");
    // A disabled administrator does not count.
    admin(&home, &["revoke", "second"], "").expect_refusal(&last);
    admin(&home, &["revoke", "root"], "").expect_success();
    for command in ["revoke", "disable", "enable", "reset-password"] {
        admin(&home, &[command, "nobody"], NEW).expect_refusal(&["no account has the username or email nobody"]);
    }
    assert_eq!(admin(&home, &["list"], "").expect_success().stdout, "second <second@example.org>\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_service_rejects_an_administrator_disabled_by_command() {
    let home = Home::new();
    let service = home.start_with_root();
    let root = service.api.log_in("root").await;
    let second = ["create", "--username", "second", "--email", "second@example.org"];
    admin(&home, &second, PASSWORD).expect_success();
    admin(&home, &["disable", "root"], "").expect_success();
    until_status(&service.api, &root, ALL, 401).await;
    let path = format!("/api/users/{}/enabled", root.id);
    let enabled = serde_json::json!({ "enabled": true });
    service.api.call_json(&root, Method::PUT, &path, enabled).await.expect(401);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_shown_with_its_sessions() {
    let home = Home::new();
    let service = home.start_with_root();
    let api = &service.api;
    api.user("alice").await;
    api.log_in("alice").await;
    let show = |identifier: &str| admin(&home, &["show", identifier], "").expect_success().stdout;
    let output = show("ALICE@example.org");
    let rest =
        output.strip_prefix("Username: alice\nEmail: alice@example.org\nRoles: USER\nState: enabled\nRegistered: ");
    let (registered, sessions) = rest.unwrap().split_once('\n').unwrap();
    assert!(registered.ends_with('Z') && registered.len() == "2026-11-22T10:30:00Z".len(), "{output}");
    assert_eq!(sessions, "Sessions: 2\n");

    admin(&home, &["disable", "alice"], "").expect_success();
    let output = show("alice");
    assert!(output.contains("\nState: disabled\n") && output.ends_with("\nSessions: 0\n"), "{output}");
    assert!(show("root").contains("\nRoles: ADMIN, USER\n"));
    admin(&home, &["show", "nobody"], "").expect_refusal(&["no account has the username or email nobody"]);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_about_accounts_require_an_existing_database() {
    let home = Home::new();
    let missing = home.path("typo.db");
    for arguments in [&["list"][..], &["show", "ann"], &["grant", "ann"], &["disable", "ann"]] {
        let mut command = home.agora(&[&["admin"], arguments].concat());
        command.env("AGORA_DATABASE_URL", format!("sqlite:{}", missing.display()));
        run(command, "").expect_refusal(&["the database", "typo.db does not exist", "AGORA_DATABASE_URL"]);
        admin(&home, arguments, "").expect_refusal(&["cannot open the database", "AGORA_DATA_DIR"]);
    }
    assert!(!missing.exists() && !home.data_dir().exists());
}
