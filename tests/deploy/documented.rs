//! Runs commands of docs/operations.md as they are written there.

use std::fs;
use std::process::Command;

use super::files::{read, repository};
use crate::process::{AGORA, Home, Service};

/// Returns the first code block below a heading.
fn block(heading: &str) -> String {
    let text = read("docs/operations.md");
    let section = text.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_else(|| panic!("no section {heading}"));
    section.split("```\n").nth(1).unwrap().to_owned()
}

/// Runs a shell script, whose last command starts the service with the data directory `data`.
fn start(home: &Home, script: &str) -> Service {
    let (before, service) = script.trim_end().rsplit_once(' ').map_or(("", script), |(before, it)| (before, it));
    assert_eq!(service, "agora", "{script}");
    let mut shell = home.program("sh");
    // Replaces the shell, so that signals reach the service.
    shell.args(["-c", &format!("set -e; {before} exec \"$AGORA\"")]).env("AGORA", AGORA);
    shell.envs(home.backend.variables()).env("AGORA_LISTEN", "127.0.0.1:0").env("AGORA_BCRYPT_COST", "4");
    Service::start(shell)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_rotation_of_the_signing_secret_works() {
    let section = read("docs/operations.md");
    let home = Home::new();
    let service = start(&home, "agora");
    let old = service.api.user("alice").await;
    service.stop();

    let service = start(&home, &block("A new signing secret"));
    service.api.get(&old, "/api/users/me").await.expect(200);
    let new = service.api.log_in("alice").await;
    service.stop();

    let rename = "mv data/jwt-secret.new data/jwt-secret";
    assert!(section.contains(&format!("`{rename}`")));
    let service = start(&home, &format!("{rename}; agora"));
    service.api.get(&new, "/api/users/me").await.expect(200);
    service.api.get(&old, "/api/users/me").await.expect(401);
    service.stop();
}

#[test]
fn the_documented_installation_works_on_a_minimal_system() {
    let root = tempfile::tempdir().unwrap();
    // The directories of a minimal installation.
    for directory in ["etc/systemd/system", "usr/local"] {
        fs::create_dir_all(root.path().join(directory)).unwrap();
    }
    let block = block("Install");
    let mut commands: Vec<_> =
        block.split(['\n', '&']).map(str::trim).filter(|it| it.starts_with("install ")).collect();
    assert!(commands.len() >= 6, "{block}");
    // Twice, to check that the commands also replace existing files.
    commands.extend(commands.clone());
    for command in commands {
        // With another file instead of the binary, which may not be built.
        let command = command.replace(" target/dist/agora ", " Cargo.toml ").replace(" /", " \"$ROOT\"/");
        // Without the group, which an earlier command creates.
        let command = command.replace(" -g agora ", " ");
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).env("ROOT", root.path()).current_dir(repository("."));
        assert!(shell.status().unwrap().success(), "{command}");
    }
    for file in ["bin/agora", "sbin/agora-run", "share/agora/restore-drill"] {
        assert!(root.path().join("usr/local").join(file).is_file(), "{file}");
    }
}
