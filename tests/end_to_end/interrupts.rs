//! Commands that a signal ends, whatever they wait for.

use std::{
    fs::OpenOptions,
    io::{Read, Write},
    process::{Command, Stdio},
};

use crate::process::{Home, Process, run};

/// More than a pipe holds: whoever has written it knows that somebody reads.
const MORE_THAN_A_PIPE: usize = 80 << 10;

/// A home whose database is there and empty.
fn home() -> Home {
    let home = Home::new();
    run(home.agora(&["migrate", "run"]), "").expect_success();
    home
}

/// Products of more text than a pipe holds.
fn products() -> String {
    let row = |n: usize| {
        format!("{{\"sku\":\"S-{n}\",\"name\":\"{}\",\"price\":1,\"category\":\"C\",\"stock\":1}}\n", "n".repeat(80))
    };
    (0..MORE_THAN_A_PIPE / 80).map(row).collect()
}

#[test]
fn an_import_ends_while_its_standard_input_is_open() {
    let home = home();
    let (process, mut stdin) = Process::spawn_open(home.agora(&["products", "import", "-", "--format", "jsonl"]));
    stdin.write_all(products().as_bytes()).unwrap();
    process.signal("INT");
    process.finish().expect_refusal(&["interrupted"]);
    drop(stdin);
    let export = run(home.agora(&["products", "export"]), "").expect_success();
    assert_eq!(export.stdout, "");
}

#[test]
fn an_import_ends_while_a_named_pipe_is_open() {
    let home = home();
    let pipe = home.path("catalog.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let process = Process::spawn(home.agora(&["products", "import", pipe.to_str().unwrap()]), "");
    // It opens when the other end does.
    let open = OpenOptions::new().write(true).open(&pipe).unwrap();
    process.signal("TERM");
    process.finish().expect_refusal(&["interrupted"]);
    drop(open);
}

#[test]
fn an_export_that_nobody_reads_ends_at_the_second_signal() {
    let home = home();
    run(home.agora(&["products", "import", "-", "--format", "jsonl"]), &products()).expect_success();
    let mut command = home.agora(&["products", "export"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0]).unwrap();
    let signal = |name: &str| {
        let id = child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
    };
    signal("INT");
    signal("TERM");
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "agora: interrupted\n");
    drop(stdout);
}
