//! Checks the data directory, the signing secret in it, and the free space where data are stored.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use agora_config::{Config, Loaded, SETTINGS};
use rustix::fs::Access;

use super::{Finding, absent, data_dir, failed, ok, unclear, warning};
use crate::data_dir::SECRET_FILE;
use crate::open;

const MIB: u64 = 1 << 20;

/// The free bytes below which it is a warning: they are soon used up.
const WARNING: u64 = 1024 * MIB;

/// The free bytes below which it is a failure: they may not suffice for a start and an upload.
const FAILURE: u64 = 64 * MIB;

/// Returns whether this process may read, write and search the directory.
pub(super) fn is_ours(directory: &Path) -> bool {
    rustix::fs::access(directory, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// Returns the path itself if it exists, otherwise its nearest ancestor that does.
fn nearest_existing(path: &Path) -> Option<PathBuf> {
    let whole = std::path::absolute(path).ok()?;
    whole.ancestors().find(|directory| directory.exists()).map(Path::to_owned)
}

/// Returns whether a directory that does not exist could be created.
pub(super) fn can_be_made(directory: &Path) -> bool {
    nearest_existing(directory).is_some_and(|above| above.is_dir() && is_ours(&above))
}

pub(super) fn directory(loaded: &Loaded) -> Finding {
    if let Some(finding) = unclear(loaded, &[&SETTINGS.data_dir]) {
        return finding;
    }
    let path = &data_dir(&loaded.best_guess);
    let (shown, us) = (path.display(), rustix::process::geteuid().as_raw());
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => absent(shown, can_be_made(path), "it"),
        Err(error) => failed(format!("{shown}: {error}: let the service's user read it")),
        Ok(it) if !it.is_dir() => failed(format!("{shown} is not a directory: set AGORA_DATA_DIR to one")),
        Ok(_) if !is_ours(path) => failed(format!("{shown} is not writable by user {us}: chown it to that user")),
        Ok(it) if it.uid() != us => {
            let owner = it.uid();
            warning(format!("{shown} belongs to user {owner}, and this is user {us}: run agora as its owner"))
        }
        Ok(it) if it.permissions().mode() & 0o077 != 0 => {
            warning(format!("other users can enter {shown}: chmod 700 {shown}"))
        }
        Ok(_) => ok(format!("{shown}, accessible only to its owner")),
    }
}

pub(super) fn secret(loaded: &Loaded) -> Finding {
    if let Some(finding) = unclear(loaded, &[&SETTINGS.data_dir, &SETTINGS.jwt_secret]) {
        return finding;
    }
    if let Some(given) = loaded.values.given(&SETTINGS.jwt_secret) {
        return ok(format!("from {}", given.name(&SETTINGS.jwt_secret)));
    }
    let file = data_dir(&loaded.best_guess).join(SECRET_FILE);
    let shown = file.display();
    match fs::read_to_string(&file) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            ok(format!("{shown} does not exist yet: the first start generates it"))
        }
        Err(error) => failed(format!("cannot read {shown}: {error}: chown it to the service's user")),
        Ok(text) if text.trim().len() < Config::MIN_SECRET_BYTES => {
            failed(format!("{shown} is damaged: restore it, or delete it, which logs all users out"))
        }
        Ok(_) if fs::metadata(&file).is_ok_and(|it| it.permissions().mode() & 0o077 != 0) => {
            warning(format!("other users can read {shown}: chmod 600 {shown}"))
        }
        Ok(_) => ok(format!("{shown}, accessible only to its owner")),
    }
}

/// Returns a finding for each file system that holds data.
pub(super) fn space(config: &Config) -> Vec<Finding> {
    let images = config.media_url.as_deref().and_then(open::media_directory);
    let data_dir = data_dir(config);
    let places = [Some(data_dir.clone()), open::database_file(config, &data_dir), images];
    let mut disks = BTreeSet::new();
    let places = places.into_iter().flatten().filter_map(|place| nearest_existing(&place));
    places.filter(|place| fs::metadata(place).is_ok_and(|it| disks.insert(it.dev()))).map(|it| of_disk(&it)).collect()
}

fn of_disk(place: &Path) -> Finding {
    match rustix::fs::statvfs(place) {
        Ok(disk) => {
            let has_files = disk.f_files == 0 || disk.f_favail > 0;
            assess_space(place, disk.f_bavail.saturating_mul(disk.f_frsize), has_files)
        }
        Err(error) => warning(format!("cannot determine that of {}: {error}", place.display())),
    }
}

fn assess_space(place: &Path, bytes: u64, has_files: bool) -> Finding {
    let shown = place.display();
    let text = format!("{} MiB on the disk of {shown}", bytes / MIB);
    match bytes {
        _ if !has_files => failed(format!("no free inodes on the disk of {shown}: delete files")),
        0..FAILURE => failed(format!("{text}: free some space, since writes fail without it")),
        FAILURE..WARNING => warning(format!("{text}: free some space soon")),
        _ => ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn a_disk_that_is_nearly_full_is_a_warning_or_a_failure() {
        let place = Path::new("/srv");
        for (bytes, has_files, state) in [
            (0, true, State::Failed),
            (FAILURE - 1, true, State::Failed),
            (FAILURE, true, State::Warning),
            (WARNING, true, State::Ok),
            (u64::MAX, true, State::Ok),
            (WARNING, false, State::Failed),
        ] {
            assert_eq!(assess_space(place, bytes, has_files).0, state, "{bytes} {has_files}");
        }
    }
}
