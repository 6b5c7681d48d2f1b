//! The configuration, and who can read the secrets in it.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use super::Finding;
use crate::{
    config::{Given, Loaded, Place, table},
    files,
};

const SUBJECT: &str = "configuration";

pub(super) fn findings(loaded: &Loaded) -> Vec<Finding> {
    let mut findings = match loaded.config() {
        Ok(config) => vec![Finding::ok(SUBJECT, loaded.summary(config))],
        Err(invalid) => invalid.to_string().lines().map(|problem| Finding::failed(SUBJECT, problem)).collect(),
    };
    findings.extend(loaded.warnings.iter().map(|warning| Finding::warning(SUBJECT, warning)));
    findings.extend(readable_secrets(loaded));
    findings.push(match files::connections(loaded.best_guess()) {
        Ok(connections) => Finding::ok("open files", format!("enough for {connections} connections of clients")),
        Err(error) => Finding::failed("open files", format!("{error:#}")),
    });
    findings
}

/// Files with secrets that everybody on the machine can read.
fn readable_secrets(loaded: &Loaded) -> Vec<Finding> {
    let secrets = table::ALL.iter().filter(|setting| setting.may_be_in_own_file());
    let file = |given: &Given| match (&given.own_file, &given.place) {
        (Some(own), _) => Some(own.clone()),
        (None, Place::File(path, _)) => Some(path.clone()),
        (None, Place::Variable | Place::Flag) => None,
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
