//! `agora audit` and `agora reports`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{PASSWORD, list, text};
use crate::process::{Finished, Home, run};

/// Returns the lines that a command prints.
fn lines(home: &Home, arguments: &[&str]) -> Vec<String> {
    let finished = run(home.agora(arguments), "");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    finished.stdout.lines().map(str::to_owned).collect()
}

fn failure(home: &Home, arguments: &[&str], code: i32) -> Finished {
    let finished = run(home.agora(arguments), "");
    assert_eq!(finished.code, Some(code), "{finished:?}");
    finished
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_has_entries_for_commands() {
    let home = Home::new();
    let service = home.start();
    let ada = service.api.user("ada").await;
    let root = ["admin", "create", "--username", "root", "--email", "root@example.org", "--password", PASSWORD];
    run(home.agora(&root), "").expect_success();
    for command in ["grant", "grant", "revoke", "disable", "enable"] {
        run(home.agora(&["admin", command, "ada"]), "").expect_success();
    }
    run(home.agora(&["admin", "reset-password", "ada"]), PASSWORD).expect_success();
    let products = r#"{"sku":"MUG-1","name":"Mug","price":1,"category":"Kitchen","stock":3}"#;
    std::fs::write(home.path("products.jsonl"), products).unwrap();
    let file = home.path("products.jsonl");
    for _ in 0..2 {
        run(home.agora(&["products", "import", file.to_str().unwrap()]), "").expect_success();
    }
    let printed = lines(&home, &["audit"]);
    let of_ada = format!("USER {}", ada.id);
    let expected = [
        "products_imported  CATALOG  \"1 created, 0 updated\"".to_owned(),
        format!("password_reset  {of_ada}"),
        format!("account_enabled  {of_ada}"),
        format!("account_disabled  {of_ada}"),
        format!("role_removed  {of_ada}  \"ADMIN\""),
        format!("role_added  {of_ada}  \"ADMIN\""),
    ];
    for (line, expected) in printed.iter().zip(&expected) {
        let (at, rest) = line.split_once("  ").unwrap();
        assert_eq!((at.len(), rest), ("2025-07-15T00:24:54Z".len(), format!("cli  {expected}").as_str()));
    }
    assert!(printed[6].contains("cli  role_added  USER "), "{printed:?}");
    assert_eq!(printed.len(), 7);
    assert_eq!(lines(&home, &["audit", "--limit", "2"]), printed[..2]);
    assert_eq!(lines(&home, &["audit", "--target", &ada.id, "--action", "role_added"]), printed[5..6]);
    assert_eq!(lines(&home, &["audit", "--actor", "cli"]), printed);
    assert_eq!(lines(&home, &["audit", "--actor", "ada"]), ["No entry matches."]);

    // The HTTP interface returns the same entries.
    let root = service.api.log_in("root").await;
    let log = service.api.get(&root, "/api/admin/audit?actor=cli").await.expect(200).data();
    let actions: Vec<_> = list(&log).iter().map(|entry| text(&entry["action"])).collect();
    let printed: Vec<_> = printed.iter().map(|line| line.split("  ").nth(2).unwrap().to_owned()).collect();
    assert_eq!(actions, printed);
    assert!(list(&log).iter().all(|entry| entry["actor"] == Value::Null));
    service.api.change_role(&root, &ada, "ADD", "ADMIN").await.expect(200);
    let by_root = lines(&home, &["audit", "--actor", "ROOT@example.org"]);
    assert!(by_root.len() == 1 && by_root[0].contains("  root  role_added  "), "{by_root:?}");

    assert!(failure(&home, &["audit", "--actor", "nobody"], 1).stderr.contains("no account has the username"));
    assert!(failure(&home, &["audit", "--action", "unknown"], 1).stderr.contains("the actions are role_added, "));
    failure(&home, &["audit", "--target", "x"], 2);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_lists_and_decides_reports() {
    let home = Home::new();
    let service = home.start_with_root();
    let (api, root) = (&service.api, service.api.log_in("root").await);
    let (ada, bob) = (api.user("ada").await, api.user("bob").await);
    let report = async |of: &str, comment: &str| {
        let body = json!({ "targetType": "USER", "targetId": of, "category": "ABUSE", "comment": comment });
        text(&api.call_json(&bob, Method::POST, "/api/reports", body).await.expect(201).data()["id"])
    };
    assert_eq!(lines(&home, &["reports", "list"]), ["No report has this status."]);
    let (first, second) = (report(&ada.id, "Rude \u{1b}[31m\"so\"\nmore").await, report(&root.id, "").await);
    let open = lines(&home, &["reports", "list"]);
    assert!(
        open[0].starts_with(&format!("{second}  ")) && open[0].ends_with(&format!("USER {}  by bob", root.id)),
        "{open:?}"
    );
    let quoted = r#""Rude \u{1b}[31m\"so\"\nmore""#;
    assert!(open[1].ends_with(&format!("OPEN  ABUSE  USER {}  by bob  {quoted}", ada.id)), "{open:?}");

    let resolved = lines(&home, &["reports", "resolve", &first, "--note", "Told off"]);
    assert_eq!(resolved, [format!("The report {first} is RESOLVED.")]);
    run(home.agora(&["reports", "reject", &second]), "").expect_success();
    assert_eq!(lines(&home, &["reports", "list"]), ["No report has this status."]);
    let found = lines(&home, &["reports", "list", "--status", "resolved"]);
    assert!(found.len() == 1 && found[0].ends_with("note: \"Told off\""), "{found:?}");
    assert_eq!(lines(&home, &["reports", "list", "--status", "all", "--limit", "5"]).len(), 2);
    let read = api.get(&root, &format!("/api/admin/reports/{first}")).await.expect(200).data();
    assert_eq!((&read["status"], &read["note"]), (&json!("RESOLVED"), &json!("Told off")));
    let log = lines(&home, &["audit"]);
    assert!(log[0].contains(&format!("cli  report_rejected  REPORT {second}")), "{log:?}");
    assert!(log[1].ends_with(&format!("cli  report_resolved  REPORT {first}  \"Told off\"")), "{log:?}");
    let nothing = "01900000-0000-7000-8000-000000000000";
    assert!(failure(&home, &["reports", "resolve", nothing], 1).stderr.contains("no report has the id"));
    service.stop();
}
