//! A signal ends a command, whatever it waits for.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::process::Command;

use crate::process::{AGORA, Home, Process, run};

/// The number of products that a query of an export reads.
const BATCH: usize = 200;

/// Returns a home with an empty database.
fn home() -> Home {
    let home = Home::new();
    run(home.agora(&["migrate", "run"]), "").expect_success();
    home
}

/// Returns more products than a pipe can buffer: a writer that has written all of them knows that the reader is reading, and a
/// writer without a reader blocks.
fn products() -> String {
    let text = "d".repeat(1 << 10);
    let row = |n: usize| {
        format!(r#"{{"sku":"S-{n}","name":"N","description":"{text}","price":1,"category":"C","stock":1}}"#) + "\n"
    };
    (0..BATCH).map(row).collect()
}

#[test]
fn an_import_ends_while_its_standard_input_is_open() {
    let home = home();
    for signal in ["INT", "HUP"] {
        // With the default actions of signals, whatever these tests were started under.
        let import = ["--default-signal=HUP", AGORA, "products", "import", "-", "--format", "jsonl"];
        let (process, mut stdin) = Process::spawn_open(home.release("env", &import));
        stdin.write_all(products().as_bytes()).unwrap();
        process.signal(signal);
        process.finish().expect_refusal(&["interrupted"]);
        drop(stdin);
    }
    let export = run(home.agora(&["products", "export"]), "").expect_success();
    assert_eq!(export.stdout, "");
}

#[test]
fn an_import_ends_while_a_named_pipe_is_open() {
    let home = home();
    let pipe = home.path("catalog.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let process = Process::spawn(home.agora(&["products", "import", pipe.to_str().unwrap()]), "");
    // Opening blocks until the other end is opened.
    let open = OpenOptions::new().write(true).open(&pipe).unwrap();
    process.signal("TERM");
    process.finish().expect_refusal(&["interrupted"]);
    drop(open);
}

#[test]
fn an_export_that_nobody_reads_ends_at_the_second_signal() {
    let home = home();
    run(home.agora(&["products", "import", "-", "--format", "jsonl"]), &products()).expect_success();
    let (process, mut stdout) = Process::spawn_unread(home.agora(&["products", "export"]));
    // The export has certainly begun.
    stdout.read_exact(&mut [0]).unwrap();
    process.signal("INT");
    process.signal("TERM");
    assert_eq!(process.finish().expect_refusal(&[]).stderr, "agora: interrupted\n");
    drop(stdout);
}
