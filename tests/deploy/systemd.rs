//! The units of systemd.

use crate::files::lines;

/// What a unit says, as section, name and value.
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

/// All values of a setting of a unit's service.
pub(crate) fn values(unit: &[(String, String, String)], name: &str) -> Vec<String> {
    let of_it = unit.iter().filter(|(section, found, _)| section == "Service" && found == name);
    of_it.map(|(_, _, value)| value.clone()).collect()
}

#[test]
fn units_may_do_no_more_than_they_need() {
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
fn the_service_is_started_again_and_keeps_its_data_where_it_may_write() {
    let unit = unit("agora.service");
    for (setting, value) in
        [("ExecStart", "/usr/local/bin/agora"), ("Restart", "on-failure"), ("StateDirectory", "agora")]
    {
        assert_eq!(values(&unit, setting), [value]);
    }
    assert!(values(&unit, "Environment").contains(&"AGORA_DATA_DIR=/var/lib/agora".to_owned()));
    assert_eq!(values(&unit, "SystemCallFilter").last().unwrap(), "setpriority", "threads lower their priority");
    let tried = |(section, name, value): &(String, String, String)| {
        (&**section, &**name, &**value) == ("Unit", "StartLimitIntervalSec", "0")
    };
    assert!(unit.iter().any(tried), "systemd gives up after five failures in ten seconds");
}

#[test]
fn a_backup_works_on_what_the_service_has() {
    let (service, backup) = (unit("agora.service"), unit("agora-backup.service"));
    for setting in ["User", "Group", "EnvironmentFile"] {
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
fn every_credential_is_read_by_a_setting() {
    let drop_in = unit("secrets.conf");
    let loaded: Vec<_> =
        values(&drop_in, "LoadCredential").iter().map(|it| it.split(':').next().unwrap().to_owned()).collect();
    let read: Vec<_> =
        values(&drop_in, "Environment").iter().map(|it| it.split("=%d/").nth(1).unwrap().to_owned()).collect();
    assert!(!loaded.is_empty() && loaded == read, "{loaded:?} {read:?}");
}
