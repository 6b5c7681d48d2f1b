//! Checks the configuration, who can read its secrets, the limit on open files, and the addresses to listen on.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use agora_config::{ALL, Config, Loaded, SETTINGS, SettingValue, ValueSource};

use super::{Finding, failed, ok, unclear, warning};
use crate::host;
use crate::host::is_taken;

/// The number of connections below which a limit that follows from the open files, not from a setting, is a warning.
const FEW_CONNECTIONS: usize = Config::MAX_CONNECTIONS / 4;

pub(super) fn findings(loaded: &Loaded) -> Vec<Finding> {
    let mut findings: Vec<_> = loaded.values.problems.iter().map(|problem| failed(&problem.text)).collect();
    if findings.is_empty() {
        findings.push(ok(loaded.summary()));
    }
    findings.extend(loaded.values.warnings.iter().map(warning));
    findings.extend(readable_secrets(loaded));
    findings
}

/// Returns a warning for each file with secrets that every user of the machine can read.
fn readable_secrets(loaded: &Loaded) -> Vec<Finding> {
    let file = |given: &SettingValue| match (&given.own_file, &given.place) {
        (Some(own), _) => Some(own.clone()),
        (None, ValueSource::File(path, _)) => Some(path.clone()),
        (None, ValueSource::Variable | ValueSource::Flag) => None,
    };
    let secrets = ALL.iter().filter(|setting| setting.may_be_in_own_file());
    let mut files: Vec<_> = secrets.filter_map(|setting| file(loaded.values.given(setting)?)).collect();
    files.sort();
    files.dedup();
    files.retain(|path| fs::metadata(path).is_ok_and(|it| it.permissions().mode() & 0o004 != 0));
    let shown = files.iter().map(|path| path.display());
    shown
        .map(|path| warning(format!("all users can read {path}, which contains a secret: chmod o-rwx {path}")))
        .collect()
}

pub(super) fn open_files(config: &Config) -> Finding {
    match host::connections(config) {
        Ok(connections) => enough_for(connections, config),
        Err(error) => failed(format!("{error:#}")),
    }
}

fn enough_for(connections: usize, config: &Config) -> Finding {
    if config.max_connections.is_some() || connections >= FEW_CONNECTIONS {
        return ok(format!("enough for {connections} client connections"));
    }
    let wanted = host::wanted(config);
    warning(format!(
        "enough for only {connections} client connections: raise the limit (ulimit -n, or LimitNOFILE= of systemd) to {wanted}"
    ))
}

/// Checks whether the configured addresses can be listened on.
pub(super) fn addresses(loaded: &Loaded) -> Vec<Finding> {
    let config = &loaded.best_guess;
    let addresses =
        [(&SETTINGS.listen, Some(&config.listen)), (&SETTINGS.metrics_listen, config.metrics_listen.as_ref())];
    let finding = |(setting, address)| {
        unclear(loaded, &[setting]).or_else(|| {
            let address: &String = address?;
            Some(match is_taken(address, &setting.variable()) {
                Ok(false) => ok(format!("{address} is free")),
                Ok(true) => ok(format!("{address} is in use, by the service if it is running")),
                Err(error) => {
                    failed(format!("{error:#}: use an address of this machine and a port that this user may bind"))
                }
            })
        })
    };
    addresses.into_iter().filter_map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn a_low_limit_on_open_files_is_a_warning_unless_few_connections_are_configured() {
        let config = Config::from_variables(|_| None).unwrap();
        let (state, text) = enough_for(14, &config);
        assert_eq!(state, State::Warning, "{text}");
        assert!(text.contains("ulimit -n"), "{text}");
        assert_eq!(enough_for(FEW_CONNECTIONS, &config).0, State::Ok);
        let configured = Config { max_connections: Some(14), ..config };
        assert_eq!(enough_for(14, &configured).0, State::Ok);
    }
}
