//! Reads files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Returns the path of a file of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Returns the text of a file of the repository.
#[track_caller]
pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the documents of a YAML file of the repository.
#[track_caller]
pub(crate) fn yaml(path: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the lines of a file without blank ones and comments.
pub(crate) fn lines(path: &str) -> Vec<String> {
    let text = read(path);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// Returns the sorted paths of all files below a directory of the repository.
pub(crate) fn below(directory: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(repository(directory)).unwrap().map(Result::unwrap) {
        let path = format!("{directory}/{}", entry.file_name().to_str().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(below(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// Returns the names in a text that begin with `AGORA_`.
pub(crate) fn settings(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_uppercase() || c == '_';
    let found = text.match_indices("AGORA_").filter(|(at, _)| !text[..*at].ends_with(is_part));
    let name = |at: usize| text[at..].split(|c| !is_part(c)).next().unwrap_or_default().to_owned();
    found.map(|(at, _)| name(at)).collect()
}

#[test]
fn every_setting_in_deploy_is_documented() {
    let known = settings(&read("docs/configuration.md"));
    assert!(known.len() > 30);
    let mut count = 0;
    for path in below("deploy").into_iter().filter(|path| !path.contains("/secrets/")) {
        for name in settings(&read(&path)) {
            count += 1;
            // An argument of the build.
            if name == "AGORA_COMMIT" {
                continue;
            }
            // The name of a secret may have the suffix `_FILE`.
            let plain = name.strip_suffix("_FILE").unwrap_or(&name);
            assert!([plain, &name].iter().any(|name| known.iter().any(|known| known == name)), "{path} has {name}");
        }
    }
    assert!(count > 20, "{count}");
}
