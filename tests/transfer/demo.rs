//! `agora demo seed`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::client::{list, text};
use crate::place::Deployment;
use crate::process::{Home, run};

const SMALL: [&str; 6] = ["demo", "seed", "--users", "300", "--posts", "2000"];

/// Returns the sums of the rows of each table, from the summary of a backup.
fn sums(home: &Home, place: &Deployment, name: &str) -> BTreeMap<String, Value> {
    place.run(home, &["backup", name]).expect_success();
    let mut archive = tar::Archive::new(std::fs::File::open(home.path(name)).unwrap());
    let mut entries = archive.entries().unwrap().map(Result::unwrap);
    let summary = entries.find(|entry| entry.path().unwrap().ends_with("summary.json")).unwrap();
    let mut summary: Value = serde_json::from_reader(summary).unwrap();
    serde_json::from_value(summary["rows"].take()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_databases_get_the_same_data_and_accounts_can_log_in() {
    let home = Home::new();
    let places = [Deployment::embedded(&home, "a"), Deployment::embedded(&home, "b"), Deployment::scaled(&home, "c")];
    // In a data directory in which no service was ever started.
    std::fs::remove_dir(&places[0].directory).unwrap();
    let mut made = Vec::new();
    for (n, place) in places.iter().enumerate() {
        let output = place.run(&home, &SMALL).expect_success();
        for words in ["Generated ", "users ", "demo password", "reader_10_1"] {
            assert!(output.stdout.contains(words), "{words:?} is missing: {output:?}");
        }
        let mut sums = sums(&home, place, &format!("{n}.tar"));
        assert_eq!(sums["posts"]["rows"], 2_000);
        // The password hash has a random salt.
        assert_eq!(sums.remove("users").unwrap()["rows"], 300 + 3 * 64 + 64 + 1);
        made.push(sums);
        place.run(&home, &SMALL).expect_refusal(&["the database is not empty"]);
    }
    assert_eq!(made[0], made[1]);
    assert_eq!(made[0], made[2]);

    for place in [&places[0], &places[2]] {
        let service = place.start(&home);
        let api = &service.api;
        let token = text(&api.login("reader_100_7", "demo password").await.expect(200).json()["token"]);
        let reader = crate::client::User { id: String::new(), name: "reader_100_7".to_owned(), token };
        let me = api.get(&reader, "/api/users/me").await.expect(200).data();
        let followed = format!("/api/follow/followed/{}", text(&me["id"]));
        assert_eq!(list(&api.get(&reader, &followed).await.expect(200).data()).len(), 100);
        let feed = api.get(&reader, "/api/posts/following/all?size=100").await.expect(200).data();
        let posts = list(&feed);
        assert_eq!(posts.len(), 100);
        for post in &posts[..10] {
            let comments = api.get(&reader, &format!("/api/comments/all/{}", text(&post["id"]))).await;
            assert_eq!(list(&comments.expect(200).data()).len(), post["commentCount"], "{post}");
        }
        service.stop();
    }
}

#[test]
fn invalid_arguments_are_refused_and_nothing_is_created() {
    let home = Home::new();
    for arguments in [["--users", "19"], ["--users", "1000001"], ["--posts", "10000001"], ["--seed", "first"]] {
        let refused = run(home.agora(&[&["demo", "seed"], arguments.as_slice()].concat()), "");
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(arguments[0]), "{refused:?}");
    }
    assert!(!home.data_dir().exists());
}
