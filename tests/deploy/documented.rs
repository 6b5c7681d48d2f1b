//! Commands of docs/operations.md, as they are written there.

use std::fs;
use std::process::Command;

use super::files::{read, repository};
use crate::process::{AGORA, Home, Service};

/// The first block of commands below a heading.
fn block(heading: &str) -> String {
    let text = read("docs/operations.md");
    let section = text.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_else(|| panic!("no {heading}"));
    section.split("```\n").nth(1).unwrap().to_owned()
}

/// Starts what a shell makes of these lines, of which the last starts the service on the directory `data`.
fn start(home: &Home, script: &str) -> Service {
    let (before, service) = script.trim_end().rsplit_once(' ').map_or(("", script), |(before, it)| (before, it));
    assert_eq!(service, "agora", "{script}");
    let mut shell = home.program("sh");
    // In the place of the shell, so that signals reach it.
    shell.args(["-c", &format!("set -e; {before} exec \"$AGORA\"")]).env("AGORA", AGORA);
    shell.envs(home.backend.variables()).env("AGORA_LISTEN", "127.0.0.1:0").env("AGORA_BCRYPT_COST", "4");
    Service::start(shell)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_signing_secret_is_the_one_that_stays() {
    let section = read("docs/operations.md");
    let home = Home::new();
    let service = start(&home, "agora");
    let old = service.api.user("alice").await;
    service.stop();

    let service = start(&home, &block("A new signing secret"));
    service.api.get(&old, "/api/users/me").await.expect(200);
    let new = service.api.log_in("alice").await;
    service.stop();

    let exchange = "mv data/jwt-secret.new data/jwt-secret";
    assert!(section.contains(&format!("`{exchange}`")));
    let service = start(&home, &format!("{exchange}; agora"));
    service.api.get(&new, "/api/users/me").await.expect(200);
    service.api.get(&old, "/api/users/me").await.expect(401);
    service.stop();
}

#[test]
fn a_machine_that_has_nothing_but_systemd_takes_the_files() {
    let root = tempfile::tempdir().unwrap();
    // What a bare installation has.
    for directory in ["etc/systemd/system", "usr/local"] {
        fs::create_dir_all(root.path().join(directory)).unwrap();
    }
    let block = block("Install");
    let mut commands: Vec<_> =
        block.split(['\n', '&']).map(str::trim).filter(|it| it.starts_with("install ")).collect();
    assert!(commands.len() >= 6, "{block}");
    // A second time as well, over what is there.
    commands.extend(commands.clone());
    for command in commands {
        // Any file will do for the program, which may not be built.
        let command = command.replace(" target/dist/agora ", " Cargo.toml ").replace(" /", " \"$ROOT\"/");
        // Nor need the group be here, which a command before makes.
        let command = command.replace(" -g agora ", " ");
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).env("ROOT", root.path()).current_dir(repository("."));
        assert!(shell.status().unwrap().success(), "{command}");
    }
    for file in ["bin/agora", "sbin/agora-run", "share/agora/restore-drill"] {
        assert!(root.path().join("usr/local").join(file).is_file(), "{file}");
    }
}
