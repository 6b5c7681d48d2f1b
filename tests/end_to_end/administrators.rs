//! `agora admin`, and the administrator made at start.

use std::process::Command;

use serde_json::json;

use crate::client::{Client, PASSWORD, eventually, list};
use crate::process::{Home, run};

async fn is_admin(api: &Client, name: &str) -> bool {
    let user = api.log_in(name).await;
    api.get(&user, "/api/users/all").await.status == 200
}

fn with(mut command: Command, variables: &[(&str, &str)]) -> Command {
    command.envs(variables.iter().copied());
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn create_reads_flags_variables_and_standard_input() {
    let home = Home::new();
    let create = |flags: &[&str]| home.agora(&[&["admin", "create"], flags].concat());

    let flags = ["--username", "ann", "--email", "ann@example.org", "--password", PASSWORD];
    run(create(&flags), "").expect_success();
    let variables =
        [("AGORA_ADMIN_USERNAME", "ben"), ("AGORA_ADMIN_EMAIL", "ben@example.org"), ("AGORA_ADMIN_PASSWORD", PASSWORD)];
    run(with(create(&[]), &variables), "").expect_success();
    run(create(&["--username", "cat", "--email", "cat@example.org"]), &format!("{PASSWORD}\r\nrest")).expect_success();
    // A mixture of all sources.
    let mixed = [("AGORA_ADMIN_PASSWORD", PASSWORD), ("AGORA_ADMIN_EMAIL", "dan@example.org")];
    run(with(create(&["--username", "dan"]), &mixed), "").expect_success();
    // A flag wins; an empty variable counts as not set.
    let won = [("AGORA_ADMIN_USERNAME", "ben"), ("AGORA_ADMIN_PASSWORD", "")];
    run(with(create(&["--username", "eve", "--email", "eve@example.org"]), &won), PASSWORD).expect_success();

    let service = home.start();
    for name in ["ann", "ben", "cat", "dan", "eve"] {
        assert!(is_admin(&service.api, name).await, "{name}");
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn create_refuses_what_a_registration_would() {
    let home = Home::new();
    let create = |username: &str, email: &str, password: &str| {
        let command = home.agora(&["admin", "create", "--username", username, "--email", email]);
        let finished = run(command, &format!("{password}\n"));
        assert!(password.is_empty() || !format!("{finished:?}").contains(password), "a secret was shown: {finished:?}");
        finished
    };
    create("root", "root@example.org", PASSWORD).expect_success();
    create("ROOT", "other@example.org", PASSWORD).expect_refusal(&["Username is already taken"]);
    create("other", "Root@Example.org", PASSWORD).expect_refusal(&["Email is already taken"]);
    create("a@b", "other@example.org", PASSWORD).expect_refusal(&["Username must not contain @"]);
    create(" ", "other@example.org", PASSWORD).expect_refusal(&["Username is required"]);
    create("other", "nowhere", PASSWORD).expect_refusal(&["Email must be a valid email address"]);
    create("other", "other@example.org", "battery").expect_refusal(&["Password must be 8 to 72 bytes"]);
    create("other", "other@example.org", "\n").expect_refusal(&["Password is required"]);
    // All violations are reported at once.
    create("a@b", "nowhere", "battery").expect_refusal(&["Username", "Email", "Password"]);
    run(home.agora(&["admin", "create", "--email", "a@example.org"]), PASSWORD).expect_misuse(&["--username"]);
    run(home.agora(&["admin", "create", "--username", "other"]), PASSWORD).expect_misuse(&["--email"]);

    let service = home.start();
    let root = service.api.log_in("root").await;
    assert_eq!(list(&service.api.get(&root, "/api/users/all").await.expect(200).data()).len(), 1);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_service_soon_sees_who_was_granted_admin() {
    let home = Home::new();
    let service = home.start();
    let (alice, bob) = (service.api.user("alice").await, service.api.user("bob").await);
    for (user, identifier) in [(&alice, "ALICE"), (&bob, "bob@example.org")] {
        service.api.get(user, "/api/users/all").await.expect(403);
        run(home.agora(&["admin", "grant", identifier]), "").expect_success();
        let api = &service.api;
        eventually("the role is effective", async || {
            (api.get(user, "/api/users/all").await.status == 200).then_some(())
        })
        .await;
    }
    run(home.agora(&["admin", "grant", "alice"]), "").expect_success();
    for unknown in ["carol", "carol@example.org"] {
        run(home.agora(&["admin", "grant", unknown]), "").expect_refusal(&[unknown]);
    }
    run(home.agora(&["admin", "grant", ""]), "").expect_refusal(&["required"]);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_administrator_of_the_variables_is_made_once() {
    let home = Home::new();
    let service = home.start_with_root();
    assert!(is_admin(&service.api, "root").await);
    let root = service.api.log_in("root").await;
    let change = json!({ "currentPassword": PASSWORD, "newPassword": "battery staple" });
    service.api.call_json(&root, reqwest::Method::PUT, "/api/users/me/password", change).await.expect(200);
    assert!(!service.stop().stdout.contains("ADMIN"));

    // A second start with the same settings neither creates nor resets anything, nor does one with another name while there is an
    // administrator.
    let service = home.start_with_root();
    service.api.login("root", PASSWORD).await.expect(401);
    service.api.login("root", "battery staple").await.expect(200);
    service.stop();
    let service = home.start_with(&[
        ("AGORA_ADMIN_USERNAME", "second"),
        ("AGORA_ADMIN_EMAIL", "second@example.org"),
        ("AGORA_ADMIN_PASSWORD", PASSWORD),
    ]);
    service.api.login("second", PASSWORD).await.expect(401);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_variables_must_be_complete_and_valid() {
    let home = Home::new();
    let [name, email, password] = [
        ("AGORA_ADMIN_USERNAME", "root"),
        ("AGORA_ADMIN_EMAIL", "root@example.org"),
        ("AGORA_ADMIN_PASSWORD", PASSWORD),
    ];
    for incomplete in [&[name][..], &[email], &[password], &[name, email], &[name, password], &[email, password]] {
        let refused = run(with(home.agora(&[]), incomplete), "");
        refused.expect_misuse(&["AGORA_ADMIN_USERNAME", "AGORA_ADMIN_EMAIL", "AGORA_ADMIN_PASSWORD"]);
    }
    let short = ("AGORA_ADMIN_PASSWORD", "battery");
    let refused = run(with(home.agora(&[]), &[name, email, short]), "");
    let refused = refused.expect_misuse(&["AGORA_ADMIN_", "Password must be 8 to 72 bytes"]);
    assert!(!refused.stderr.contains("battery"), "{refused:?}");

    // A name that is taken by somebody without ADMIN is not silently promoted.
    let service = home.start();
    service.api.register("root").await.expect(201);
    service.stop();
    run(with(home.agora(&[]), &[name, email, password]), "").expect_refusal(&["AGORA_ADMIN_USERNAME", "already"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_use_only_the_database_need_neither_images_nor_mail() {
    let home = Home::new();
    home.start().stop();
    let none = home.path("none");
    let elsewhere = none.join("media");
    let away = [
        ("AGORA_MEDIA_URL", format!("file://{}", elsewhere.display())),
        ("AGORA_MAIL_TEMPLATES", none.display().to_string()),
        ("AGORA_SMTP_URL", "smtp://127.0.0.1:1".to_owned()),
        ("AGORA_MAIL_FROM", "agora@example.org".to_owned()),
    ];
    let create = ["admin", "create", "--username", "root", "--email", "root@example.org", "--password", PASSWORD];
    for command in [&create[..], &["admin", "list"], &["audit"], &["reports", "list"], &["mail", "list"]] {
        let mut command = home.agora(command);
        command.envs(away.iter().map(|(name, value)| (name, value)));
        run(command, "").expect_success();
    }
    assert!(!none.exists(), "nothing is created");
}
