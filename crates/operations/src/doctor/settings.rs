//! The configuration, and who can read the secrets in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::Finding;
use crate::files;
use agora_config::{ALL, Config, Loaded, SettingValue, ValueSource};

const SUBJECT: &str = "configuration";

/// Fewer connections than that, where nobody asked for so few, are hardly meant.
const FEW_CONNECTIONS: usize = Config::MAX_CONNECTIONS / 4;

pub(super) fn findings(loaded: &Loaded) -> Vec<Finding> {
    let mut findings = match loaded.config() {
        Ok(_) => vec![Finding::ok(SUBJECT, loaded.summary())],
        Err(invalid) => invalid.to_string().lines().map(|problem| Finding::failed(SUBJECT, problem)).collect(),
    };
    findings.extend(loaded.values.warnings.iter().map(|warning| Finding::warning(SUBJECT, warning)));
    findings.extend(readable_secrets(loaded));
    findings.push(match files::connections(loaded.best_guess()) {
        Ok(connections) => open_files(connections, loaded.best_guess()),
        Err(error) => Finding::failed("open files", format!("{error:#}")),
    });
    findings
}

fn open_files(connections: usize, config: &Config) -> Finding {
    let text = format!("enough for {connections} connections of clients");
    if config.max_connections.is_some() || connections >= FEW_CONNECTIONS {
        return Finding::ok("open files", text);
    }
    let wanted = files::wanted(config);
    Finding::warning(
        "open files",
        format!("{text} alone: raise the limit (ulimit -n, or LimitNOFILE= of systemd) to {wanted}"),
    )
}

/// Files with secrets that everybody on the machine can read.
fn readable_secrets(loaded: &Loaded) -> Vec<Finding> {
    let secrets = ALL.iter().filter(|setting| setting.may_be_in_own_file());
    let file = |given: &SettingValue| match (&given.own_file, &given.place) {
        (Some(own), _) => Some(own.clone()),
        (None, ValueSource::File(path, _)) => Some(path.clone()),
        (None, ValueSource::Variable | ValueSource::Flag) => None,
    };
    let mut files: Vec<_> = secrets.filter_map(|setting| file(loaded.values.given(setting)?)).collect();
    files.sort();
    files.dedup();
    let is_open = |path: &&Path| fs::metadata(path).is_ok_and(|it| it.permissions().mode() & 0o004 != 0);
    let said = |path: &Path| {
        let path = path.display();
        Finding::warning(SUBJECT, format!("everybody can read {path}, which holds a secret: chmod o-rwx {path}"))
    };
    files.iter().map(|file| file.as_path()).filter(is_open).map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn few_open_files_are_told_of_unless_few_connections_are_asked_for() {
        let config = Config::from_variables(|_| None).unwrap();
        let finding = open_files(14, &config);
        assert_eq!(finding.state, State::Warning, "{finding}");
        assert!(finding.text.contains("ulimit -n"), "{finding}");
        assert_eq!(open_files(FEW_CONNECTIONS, &config).state, State::Ok);
        let asked_for = Config { max_connections: Some(14), ..config };
        assert_eq!(open_files(14, &asked_for).state, State::Ok);
    }
}
