//! The data directory and the signing secret in it.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::{Finding, data_dir, unknown};
use crate::data_dir::SECRET_FILE;
use agora_config::{Config, Loaded, SETTINGS};

const SUBJECT: &str = "data directory";
const SECRET: &str = "signing secret";

pub(super) fn findings(loaded: &Loaded) -> Vec<Finding> {
    if !loaded.is_certain(&SETTINGS.data_dir) {
        return vec![unknown(SUBJECT, &SETTINGS.data_dir)];
    }
    let path = data_dir(loaded.best_guess());
    vec![directory(&path), secret(loaded, &path)]
}

/// Returns whether this process may read, write and search the directory.
pub(super) fn is_ours(directory: &Path) -> bool {
    rustix::fs::access(directory, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// Returns the directory, or what it would be made in.
pub(super) fn nearest(directory: &Path) -> Option<PathBuf> {
    let whole = std::path::absolute(directory).ok()?;
    whole.ancestors().find(|directory| directory.exists()).map(Path::to_owned)
}

fn directory(path: &Path) -> Finding {
    let shown = path.display();
    let found = match fs::metadata(path) {
        Ok(found) if found.is_dir() => found,
        Ok(_) => return Finding::failed(SUBJECT, format!("{shown} is no directory: set AGORA_DATA_DIR to another")),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return match nearest(path).filter(|above| above.is_dir() && is_ours(above)) {
                Some(_) => Finding::ok(SUBJECT, format!("{shown} is not there yet: the first start makes it")),
                None => Finding::failed(
                    SUBJECT,
                    format!("{shown} is not there and cannot be made: make it, for the user of the service"),
                ),
            };
        }
        Err(error) => {
            return Finding::failed(SUBJECT, format!("{shown}: {error}: let the user of the service read it"));
        }
    };
    let us = rustix::process::geteuid().as_raw();
    if !is_ours(path) {
        return Finding::failed(SUBJECT, format!("{shown} cannot be written by user {us}: chown it to that user"));
    }
    if found.uid() != us {
        return Finding::warning(
            SUBJECT,
            format!("{shown} belongs to user {}, and this is user {us}: run agora as its owner", found.uid()),
        );
    }
    if found.permissions().mode() & 0o077 != 0 {
        return Finding::warning(SUBJECT, format!("others can enter {shown}: chmod 700 {shown}"));
    }
    Finding::ok(SUBJECT, format!("{shown}, of its owner alone"))
}

fn secret(loaded: &Loaded, data_dir: &Path) -> Finding {
    if !loaded.is_certain(&SETTINGS.jwt_secret) {
        return unknown(SECRET, &SETTINGS.jwt_secret);
    }
    if let Some(given) = loaded.values.given(&SETTINGS.jwt_secret) {
        return Finding::ok(SECRET, format!("from {}", given.name(&SETTINGS.jwt_secret)));
    }
    let file = data_dir.join(SECRET_FILE);
    let shown = file.display();
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Finding::ok(SECRET, format!("{shown} is not there yet: the first start draws one"));
        }
        Err(error) => {
            return Finding::failed(
                SECRET,
                format!("cannot read {shown}: {error}: chown it to the user of the service"),
            );
        }
    };
    if text.trim().len() < Config::MIN_SECRET_BYTES {
        return Finding::failed(SECRET, format!("{shown} is damaged: restore it, or delete it to log everybody out"));
    }
    if fs::metadata(&file).is_ok_and(|it| it.permissions().mode() & 0o077 != 0) {
        return Finding::warning(SECRET, format!("others can read {shown}: chmod 600 {shown}"));
    }
    Finding::ok(SECRET, format!("{shown}, of its owner alone"))
}
