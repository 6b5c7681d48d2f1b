//! The tables of docs/configuration.md.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::{env, fs};

use agora_config::{ALL, DefaultValue, Setting};

const BEGIN: &str = "<!-- From the table of settings: renew with `just settings`. -->";
const END: &str = "<!-- The end of the settings. -->";

/// Returns the settings by groups, in Markdown.
fn tables() -> String {
    let mut text = String::new();
    let mut group = "";
    for setting in ALL {
        if group != setting.group {
            group = setting.group;
            text += &format!("\n### {group}\n\n| variable | default | what it is |\n|---|---|---|\n");
        }
        text += &format!("| `{}` | {} | {} |\n", setting.variable(), default(setting), what(setting));
    }
    text + "\n"
}

fn default(setting: &Setting) -> String {
    const MIB: u64 = 1 << 20;
    let DefaultValue::Fixed(value) = setting.default else { return setting.default_in_words().to_owned() };
    match value.parse::<u64>() {
        Ok(bytes) if bytes >= MIB && bytes % MIB == 0 => format!("`{value}` ({} MiB)", bytes / MIB),
        _ => format!("`{value}`"),
    }
}

fn what(setting: &Setting) -> String {
    let file = setting.may_be_in_own_file().then(|| format!("`{}_FILE`", setting.variable()));
    let flag = setting.flag.map(|(flag, _)| format!("`{flag}`"));
    let others: Vec<String> = file.into_iter().chain(flag).collect();
    let others = if others.is_empty() { String::new() } else { format!(". Also {}", others.join(", ")) };
    format!("{}{others}", setting.documentation)
}

#[test]
fn the_tables_of_the_document_are_those_of_the_settings() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let document = fs::read_to_string(&file).unwrap();
    let (before, rest) = document.split_once(BEGIN).expect("where the tables begin");
    let (current, after) = rest.split_once(END).expect("where the tables end");
    let wanted = format!("\n{}", tables());
    if env::var_os("AGORA_RENEW_SETTINGS").is_some() {
        fs::write(&file, format!("{before}{BEGIN}{wanted}{END}{after}")).unwrap();
        return;
    }
    assert!(
        current == wanted,
        "docs/configuration.md is stale: renew it with `just settings`, or with\n\
         AGORA_RENEW_SETTINGS=1 cargo test --package agora-config --test document"
    );
}
