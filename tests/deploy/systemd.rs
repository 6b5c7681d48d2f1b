//! The systemd units, and `agora-run`.

use std::fs;
use std::process::Command;

use super::files::{lines, read, repository};
use crate::process::mode;

/// Returns the settings of a unit as section, name and value.
pub(crate) fn unit(name: &str) -> Vec<(String, String, String)> {
    let mut section = String::new();
    let mut settings = Vec::new();
    for line in lines(&format!("deploy/systemd/{name}")) {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => section = name.to_owned(),
            None => {
                let (name, value) = line.split_once('=').unwrap_or_else(|| panic!("{name}: {line}"));
                settings.push((section.clone(), name.to_owned(), value.to_owned()));
            }
        }
    }
    settings
}

/// Returns all values of a setting in the section `Service` of a unit.
pub(crate) fn values(unit: &[(String, String, String)], name: &str) -> Vec<String> {
    let settings = unit.iter().filter(|(section, found, _)| section == "Service" && found == name);
    settings.map(|(_, _, value)| value.clone()).collect()
}

#[test]
fn units_are_sandboxed() {
    for name in ["agora.service", "agora-backup.service"] {
        let unit = unit(name);
        for (setting, value) in [
            ("User", "agora"),
            ("NoNewPrivileges", "yes"),
            ("CapabilityBoundingSet", ""),
            ("ProtectSystem", "strict"),
            ("ProtectHome", "yes"),
            ("PrivateTmp", "yes"),
            ("PrivateDevices", "yes"),
            ("MemoryDenyWriteExecute", "yes"),
            ("RestrictAddressFamilies", "AF_INET AF_INET6 AF_UNIX"),
            ("RestrictNamespaces", "yes"),
            ("SystemCallArchitectures", "native"),
            ("StateDirectoryMode", "0700"),
            ("UMask", "0077"),
            ("LimitCORE", "0"),
        ] {
            assert_eq!(values(&unit, setting), [value], "{setting} of {name}");
        }
        assert_eq!(values(&unit, "SystemCallFilter")[0], "@system-service", "{name}");
    }
}

#[test]
fn the_service_is_restarted_on_failure_and_has_a_writable_data_directory() {
    let unit = unit("agora.service");
    for (setting, value) in
        [("ExecStart", "/usr/local/bin/agora"), ("Restart", "on-failure"), ("StateDirectory", "agora")]
    {
        assert_eq!(values(&unit, setting), [value]);
    }
    assert!(values(&unit, "Environment").contains(&"AGORA_DATA_DIR=/var/lib/agora".to_owned()));
    assert_eq!(values(&unit, "SystemCallFilter").last().unwrap(), "setpriority", "threads lower their priority");
    let is_unlimited = |(section, name, value): &(String, String, String)| {
        (&**section, &**name, &**value) == ("Unit", "StartLimitIntervalSec", "0")
    };
    assert!(unit.iter().any(is_unlimited), "by default, systemd gives up after five failures in ten seconds");
}

#[test]
fn the_backup_unit_has_the_settings_of_the_service() {
    let (service, backup) = (unit("agora.service"), unit("agora-backup.service"));
    for setting in ["User", "Group", "EnvironmentFile", "WorkingDirectory"] {
        assert_eq!(values(&backup, setting), values(&service, setting), "{setting}");
    }
    let settings = |unit: &_| {
        let ours = |value: &String| value.starts_with("AGORA_");
        values(unit, "Environment").into_iter().filter(ours).collect::<Vec<_>>()
    };
    assert_eq!(settings(&backup), settings(&service));
    assert_eq!(values(&backup, "ReadWritePaths"), ["/var/lib/agora"]);
    let command = values(&backup, "ExecStart").concat();
    assert!(command.contains("/usr/local/bin/agora backup \"%S/agora-backup/"), "{command}");
}

#[test]
fn old_backups_and_temporary_files_of_killed_ones_are_deleted() {
    const TOUCH: &str = "cd \"$1\" && touch -d '15 days ago' agora-old.tar && touch -d '2 days ago' agora-new.tar \
        .agora-backup-Killed && touch .agora-backup-Works mine.tar && touch -d '90 days ago' other.tar";
    let state = tempfile::tempdir().unwrap();
    let directory = state.path().join("agora-backup");
    fs::create_dir(&directory).unwrap();
    let shell = |script: &str| {
        let mut shell = Command::new("sh");
        assert!(shell.args(["-ec", script, "sh"]).arg(&directory).status().unwrap().success(), "{script}");
    };
    shell(TOUCH);
    let unit = unit("agora-backup.service");
    for command in [values(&unit, "ExecStartPre"), values(&unit, "ExecStartPost")].concat() {
        shell(&command.replace("%S", state.path().to_str().unwrap()));
    }
    let mut left: Vec<_> =
        fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, [".agora-backup-Works", "agora-new.tar", "mine.tar", "other.tar"]);
}

#[test]
fn every_loaded_credential_is_used_by_a_setting() {
    let drop_in = unit("secrets.conf");
    let loaded: Vec<_> =
        values(&drop_in, "LoadCredential").iter().map(|it| it.split(':').next().unwrap().to_owned()).collect();
    let read: Vec<_> =
        values(&drop_in, "Environment").iter().map(|it| it.split("=%d/").nth(1).unwrap().to_owned()).collect();
    assert!(!loaded.is_empty() && loaded == read, "{loaded:?} {read:?}");
}

#[test]
fn a_shell_parses_the_environment_file_like_systemd() {
    let script = format!(". {}; echo \"$AGORA_TRUSTED_PROXIES\"", repository("deploy/systemd/agora.env").display());
    let shell = Command::new("sh").args(["-ec", &script]).output().unwrap();
    assert_eq!(String::from_utf8(shell.stdout).unwrap(), "127.0.0.1, ::1\n", "{:?}", String::from_utf8(shell.stderr));
}

/// Runs `agora-run` with a fake systemd that has these units. Returns whether it succeeded, and the arguments of `systemd-run`.
fn agora_run(units: &str, arguments: &[&str]) -> (bool, Vec<String>) {
    // Written by another process. Otherwise a process that another thread spawns could inherit the open file, and executing it
    // would fail (ETXTBSY).
    const SYSTEMD: &str = r#"
printf '%s\n' '#!/bin/sh' '[ "$*" = "cat agora.service" ] && cat units' >systemctl
printf '%s\n' '#!/bin/sh' 'printf "%s\n" "$@"' >systemd-run
chmod 755 systemctl systemd-run
PATH=$PWD:$PATH
exec "$0" "$@"
"#;
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("units"), units).unwrap();
    let mut script = Command::new("sh");
    script.args(["-ec", SYSTEMD]).arg(repository("deploy/systemd/agora-run")).args(arguments);
    let output = script.current_dir(home.path()).env("SUDO_USER", "ada").output().unwrap();
    let arguments = String::from_utf8(output.stdout).unwrap();
    (output.status.success(), arguments.lines().map(str::to_owned).collect())
}

#[test]
fn agora_run_passes_the_settings_of_the_service_without_its_sandbox() {
    let units: Vec<_> = ["agora.service", "secrets.conf"].map(|name| read(&format!("deploy/systemd/{name}"))).into();
    let more = "[Service]\nEnvironment=AGORA_LOG=warn \\\n  \"AGORA_CORS_ORIGINS=a, b\"\nEnvironment=AGORA_SMTP_URL=smtp://me%%40b/\n";
    let (succeeded, arguments) =
        agora_run(&[&*units.concat(), more].concat(), &["agora", "admin", "grant", "it's bob"]);
    assert!(succeeded);
    let at = arguments.iter().position(|argument| argument == "--").unwrap();
    assert_eq!(arguments[at + 1..], ["agora", "admin", "grant", "it's bob"]);
    let options = &arguments[..at];
    for option in ["--pty", "--pipe", "--wait", "--collect", "--description=ada: agora admin grant it's bob"] {
        assert!(options.iter().any(|it| it == option), "{option} is missing: {options:?}");
    }

    let properties: Vec<_> = options.iter().filter_map(|option| option.strip_prefix("--property=")).collect();
    let of_the_service = ["agora.service", "secrets.conf"].map(unit).concat();
    let is_sandbox = |name: &str| {
        ["Restrict", "Protect", "Private", "SystemCall", "Capabilit", "Memory", "NoNew"]
            .iter()
            .any(|it| name.contains(it))
    };
    // In transient units, the directory of the credentials has to be given explicitly.
    let credentials: Vec<_> = properties.iter().filter(|it| it.contains("/run/credentials/agora-run-")).collect();
    assert!(credentials.len() == 2 && credentials.iter().all(|it| it.contains(".service/")), "{credentials:?}");
    let with_percent: Vec<_> = properties.iter().filter(|it| it.contains('%')).collect();
    assert_eq!(with_percent, [&"Environment=AGORA_SMTP_URL=smtp://me%40b/"]);
    for name in ["User", "Group", "EnvironmentFile", "LoadCredential", "WorkingDirectory", "UMask"] {
        let expected = values(&of_the_service, name);
        let passed = properties.iter().filter_map(|it| it.strip_prefix(&format!("{name}="))).collect::<Vec<_>>();
        assert!(
            !expected.is_empty() && passed[..expected.len()] == expected[..],
            "{name}: {passed:?}, not {expected:?}"
        );
    }
    for expected in values(&of_the_service, "Environment").into_iter().filter(|it| !it.contains('%')) {
        assert!(properties.contains(&&*format!("Environment={expected}")), "{expected}: {properties:?}");
    }
    assert!(properties.contains(&"Environment=AGORA_LOG=warn    \"AGORA_CORS_ORIGINS=a, b\""), "{properties:?}");
    assert!(properties.iter().all(|property| !is_sandbox(property.split('=').next().unwrap())), "{properties:?}");
}

#[test]
fn the_description_in_the_journal_contains_no_secrets_of_a_command() {
    let described = |arguments: &[&str]| {
        let options = agora_run("[Service]\nUser=agora\n", arguments).1;
        options.into_iter().find_map(|it| it.strip_prefix("--description=").map(str::to_owned)).unwrap()
    };
    assert_eq!(described(&["agora", "admin", "create", "--password", "secret"]), "ada: agora admin create");
    assert_eq!(described(&["env", "AGORA_JWT_SECRET=secret", "agora"]), "ada: env");
}

#[test]
fn agora_run_fails_without_the_service_or_a_command() {
    assert!(!agora_run("", &["agora"]).0);
    assert!(!agora_run("[Service]\nUser=agora\n", &[]).0);
    assert_eq!(mode(&repository("deploy/systemd/agora-run")) & 0o111, 0o111);
}
