//! Programs of others that know the interface from `docs/openapi.json` alone, against the real binary.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../end_to_end/api.rs"]
mod api;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../end_to_end/backend.rs"]
mod backend;
mod fuzzing;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../end_to_end/process.rs"]
mod process;
mod typescript;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// A path of the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Runs a command to its end, which is to be good; what it wrote.
#[track_caller]
fn succeed(command: &mut Command, without_it: &str) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; {without_it}"));
    let written = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned()).concat();
    assert!(output.status.success(), "{command:?} ended with {}; {without_it}\n{written}", output.status);
    written
}
