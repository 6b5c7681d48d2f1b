//! The tour of the README, run as written.

use std::fs;

use crate::process::{Home, run};

const README: &str = include_str!("../../README.md");

#[test]
fn the_tour_of_the_readme_works_as_written() {
    let blocks = README.split("```sh\n").skip(1).filter_map(|after| after.split_once("```"));
    let tour: String = blocks.map(|(block, _)| block).collect();
    let home = Home::new();
    let service = home.start();
    let default = "AGORA=http://127.0.0.1:8080";
    assert!(tour.contains(default), "the tour uses the default address");
    let tour = tour.replace(default, &format!("AGORA=http://{}", service.address));

    // As on a terminal: the shell reads line by line, with history expansion enabled.
    let mut shell = home.program("bash");
    shell.args(["-e", "-u", "-o", "pipefail", "-o", "history", "-o", "histexpand"]);
    let output = run(shell, &tour).expect_success().stdout;

    let mut rest = output.as_str();
    for expected in [
        r#"{"message":"User registered successfully"}"#,
        r#"{"message":"User registered successfully"}"#,
        r#"{"message":"Post created successfully","data":{"#,
        r#""content":"Hello, Agora!""#,
        "copy.png",
        r#"{"message":"Post liked successfully","data":null}"#,
        r#"{"message":"Comment created successfully","data":null}"#,
        r#"{"success":true,"message":"Followed user successfully","data":null}"#,
        r#""postCount":1,"followerCount":1,"followedCount":0,"relationship":{"following":true,"#,
        r#"{"message":"success","data":[{"#,
        r#""likeCount":1,"likedByMe":true,"commentCount":1"#,
        r#""content":"Welcome""#,
        r#"{"message":"No products found","products":[]}"#,
        r#"{"message":"User registered successfully"}"#,
        r#"{"success":true,"message":"Followed user successfully","data":null}"#,
        r#""content":"Hello, Agora!""#,
    ] {
        let (_, after) = rest.split_once(expected).unwrap_or_else(|| panic!("{expected} is missing in {output}"));
        rest = after;
    }
    let file = |name: &str| fs::read(home.path(name)).unwrap();
    assert_eq!(file("picture.png"), file("copy.png"), "the picture comes back as it was sent");
    service.stop();
}
