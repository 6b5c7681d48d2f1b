//! `scripts/release`: reproducible builds.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use serde_json::json;

use super::files::{lines, read, repository, yaml};

/// Creates a small workspace with a binary `agora`, which contains paths of source files: in panic messages and of a dependency.
fn workspace(directory: &Path) -> PathBuf {
    let write = |path: &str, text: &str| {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let package = |name: &str, more: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{more}\n")
    };
    write(
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n[profile.dist]\ninherits = \"release\"\n",
    );
    let program = "[[bin]]\nname = \"agora\"\npath = \"src/main.rs\"\n[dependencies]\npart = { path = \"../part\" }";
    write("crates/server/Cargo.toml", &package("agora-server", program));
    write("crates/server/build.rs", &fs::read_to_string(repository("crates/server/build.rs")).unwrap());
    write(
        "crates/server/src/main.rs",
        "fn main() { println!(\"{} {}{}\", file!(), part::half(std::env::args().count()), \
         env!(\"BUILT_FROM\")); }",
    );
    write("crates/part/Cargo.toml", &package("part", ""));
    write("crates/part/src/lib.rs", "pub fn half(n: usize) -> usize { [4, 2][n] / file!().len() }");
    write("rust-toolchain.toml", &fs::read_to_string(repository("rust-toolchain.toml")).unwrap());
    write("scripts/release", &fs::read_to_string(repository("scripts/release")).unwrap());
    let locked = Command::new(env!("CARGO")).args(["generate-lockfile", "--offline"]).current_dir(directory).status();
    assert!(locked.unwrap().success());
    directory.to_owned()
}

/// Builds a workspace that is not a Git repository, with this `AGORA_COMMIT`. Returns the output of the binary.
fn release_of(workspace: &Path, commit: &str) -> String {
    let mut script = script(workspace);
    let output = script.env("AGORA_COMMIT", commit).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let program = Command::new(workspace.join("target/dist/agora")).output().unwrap();
    String::from_utf8(program.stdout).unwrap()
}

fn release(workspace: &Path) -> Output {
    script(workspace).output().unwrap()
}

fn script(workspace: &Path) -> Command {
    let mut script = Command::new("bash");
    script.arg(workspace.join("scripts/release")).env_remove("AGORA_COMMIT");
    // Cargo, which runs the tests, sets variables that would change the build.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_") && name != "CARGO_HOME" || name.starts_with("RUST") && name != "RUSTUP_HOME" {
            script.env_remove(name);
        }
    }
    script
}

#[test]
fn the_build_script_sets_no_variables_that_are_settings() {
    assert!(!read("crates/server/build.rs").contains("rustc-env=AGORA_"));
}

#[test]
fn a_build_outside_a_repository_takes_the_commit_from_the_environment() {
    let home = tempfile::tempdir().unwrap();
    let workspace = workspace(home.path());
    assert!(release_of(&workspace, "0123456789abcdef0123456789abcdef01234567\n").ends_with(" (0123456789ab)\n"));
    for none in ["", "main", "0123456"] {
        assert!(!release_of(&workspace, none).contains('('), "{none:?}");
    }
}

#[test]
fn builds_in_different_directories_are_identical() {
    let home = tempfile::tempdir().unwrap();
    let sums = ["here", "there/and/further"].map(|name| {
        let output = release(&workspace(&home.path().join(name)));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().split(' ').next().unwrap().to_owned()
    });
    assert!(sums[0].len() == 64 && sums[0] == sums[1], "{sums:?}");
}

#[test]
fn the_ci_workflow_runs_every_step() {
    let script = lines(".ci/run");
    let steps = script.iter().find_map(|line| line.strip_prefix("[ $# != 0 ] || set -- ")).unwrap();
    let workflow = yaml(".github/workflows/ci.yml").remove(0);
    let job = &workflow["jobs"]["run"];
    assert_eq!(job["strategy"]["matrix"]["step"], json!(steps.split(' ').collect::<Vec<_>>()));
    let runs: Vec<_> = job["steps"].as_array().unwrap().iter().filter_map(|step| step["run"].as_str()).collect();
    assert_eq!(runs, [".ci/run ${{ matrix.step }}"]);
}
