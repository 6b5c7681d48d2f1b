//! The examples of docs/api.md, run as written.

use std::fmt::Write as _;

use crate::process::{Home, run};

const MANUAL: &str = include_str!("../../docs/api.md");

/// Returns the blocks of shell commands, each with its expected output.
fn examples() -> Vec<(&'static str, &'static str)> {
    let mut blocks = MANUAL.split("```").skip(1).step_by(2);
    let mut examples = Vec::new();
    while let Some(block) = blocks.next() {
        let Some(example) = block.strip_prefix("sh\n") else { continue };
        let printed = blocks.next().expect("what the example prints");
        let (language, printed) = printed.split_once('\n').unwrap();
        assert!(["json", "text"].contains(&language), "{language}");
        examples.push((example, printed));
    }
    examples
}

/// Returns whether a text matches a pattern in which three dots stand for anything.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split("...");
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let found = if parts.peek().is_none() { rest.strip_suffix(part).map(|_| "") } else { after(rest, part) };
        let Some(after) = found else { return false };
        rest = after;
    }
    rest.is_empty()
}

fn after<'a>(text: &'a str, part: &str) -> Option<&'a str> {
    text.split_once(part).map(|(_, after)| after)
}

#[test]
fn the_examples_print_the_documented_output() {
    const END: &str = "--- the end of an example ---";
    let home = Home::new();
    let service = home.start();
    let examples = examples();
    assert!(examples.len() > 5, "{}", examples.len());
    let mut script = String::new();
    for (example, _) in &examples {
        writeln!(script, "{example}\necho '{END}'").unwrap();
    }
    let default = "AGORA=http://127.0.0.1:8080";
    assert!(script.contains(default), "the examples use the default address");
    let script = script.replace(default, &format!("AGORA=http://{}", service.address));

    let mut shell = home.program("bash");
    shell.args(["-u", "-o", "history", "-o", "histexpand"]);
    let output = run(shell, &script).expect_success();
    let printed: Vec<_> = output.stdout.split(END).map(str::trim).collect();
    for ((example, expected), printed) in examples.iter().zip(printed) {
        assert!(is_like(printed, expected.trim()), "{example}\nprinted\n{printed}\n{}", output.stderr);
    }
    service.stop();
}
