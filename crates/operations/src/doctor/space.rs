//! Free space where data are kept.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use url::Url;

use super::directory::nearest;
use super::{Finding, data_dir, database};
use agora_config::Config;

const SUBJECT: &str = "free space";

const MIB: u64 = 1 << 20;

/// Less is soon used up.
const WARNING: u64 = 1024 * MIB;

/// Less may not do for a start and an upload.
const FAILURE: u64 = 64 * MIB;

/// Returns a finding for each disk.
pub(super) fn findings(config: &Config) -> Vec<Finding> {
    let images = config.media_url.as_deref().and_then(|url| Url::parse(url).ok()).filter(|url| url.scheme() == "file");
    let images = images.and_then(|url| url.to_file_path().ok());
    let places = [Some(data_dir(config)), database::file(config), images];
    let mut disks = BTreeSet::new();
    let mut findings = Vec::new();
    for place in places.into_iter().flatten().filter_map(|place| nearest(&place)) {
        if fs::metadata(&place).is_ok_and(|it| disks.insert(it.dev())) {
            findings.push(finding(&place));
        }
    }
    findings
}

fn finding(place: &PathBuf) -> Finding {
    match rustix::fs::statvfs(place) {
        Ok(disk) => {
            let has_files = disk.f_files == 0 || disk.f_favail > 0;
            judge(place, disk.f_bavail.saturating_mul(disk.f_frsize), has_files)
        }
        Err(error) => Finding::warning(SUBJECT, format!("cannot be told of {}: {error}", place.display())),
    }
}

fn judge(place: &Path, bytes: u64, has_files: bool) -> Finding {
    let shown = place.display();
    let text = format!("{} MiB on the disk of {shown}", bytes / MIB);
    match bytes {
        _ if !has_files => Finding::failed(SUBJECT, format!("no file can be made on the disk of {shown}: delete some")),
        0..FAILURE => Finding::failed(SUBJECT, format!("{text}: make room, since writes are refused without")),
        FAILURE..WARNING => Finding::warning(SUBJECT, format!("{text}: make room soon")),
        _ => Finding::ok(SUBJECT, text),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn a_disk_that_is_nearly_full_is_told_of() {
        let place = Path::new("/srv");
        for (bytes, has_files, state) in [
            (0, true, State::Failed),
            (FAILURE - 1, true, State::Failed),
            (FAILURE, true, State::Warning),
            (WARNING, true, State::Ok),
            (u64::MAX, true, State::Ok),
            (WARNING, false, State::Failed),
        ] {
            assert_eq!(judge(place, bytes, has_files).state, state, "{bytes} {has_files}");
        }
    }
}
