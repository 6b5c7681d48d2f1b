//! Tests that documents and messages agree with the settings: the tables of docs/configuration.md, and the names of variables.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use agora_config::{ALL, DefaultValue, PREFIX, Setting};

const BEGIN: &str = "<!-- From the table of settings: renew with `just settings`. -->";
const END: &str = "<!-- The end of the settings. -->";

/// Returns the tables of settings, one for each group, in Markdown.
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

/// Variables that are not settings of the program, but are read by a build and by the fuzzer.
const NO_SETTINGS: [&str; 2] = ["AGORA_COMMIT", "AGORA_FUZZ_TARGET"];

/// Adds all files below a path, except those of tests.
fn add_files(path: PathBuf, files: &mut Vec<PathBuf>) {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    if path.is_dir() && name != "tests" {
        fs::read_dir(path).unwrap().for_each(|entry| add_files(entry.unwrap().path(), files));
    } else if path.is_file() && name != "tests.rs" {
        files.push(path);
    }
}

/// Returns the variables that a text names, without prefixes of several names such as `AGORA_S3_`.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
    words.filter(|word| word.starts_with(PREFIX) && !word.ends_with('_'))
}

#[test]
fn every_setting_that_is_named_exists() {
    let variables = ALL.iter().flat_map(|setting| [setting.variable(), format!("{}_FILE", setting.variable())]);
    let known: BTreeSet<String> = variables.chain(NO_SETTINGS.map(str::to_owned)).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md")];
    for directory in ["deploy", "docs"] {
        add_files(root.join(directory), &mut files);
    }
    for package in fs::read_dir(root.join("crates")).unwrap() {
        add_files(package.unwrap().path().join("src"), &mut files);
    }
    let mut checked = 0;
    for file in files {
        let text = fs::read(&file).unwrap();
        for variable in named(&String::from_utf8_lossy(&text)) {
            assert!(known.contains(variable), "{} names {variable}, which is no setting", file.display());
            checked += 1;
        }
    }
    assert!(checked > 100, "the files were found");
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
