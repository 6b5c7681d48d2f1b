//! The data directory: made at the first start, readable by the owner alone.

use std::fs;
use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use agora_config::{Config, Secret};
use anyhow::{Context, Result, ensure};

use crate::atomic_file::AtomicFile;

/// The file of the generated secret, in the data directory.
pub const SECRET_FILE: &str = "jwt-secret";

/// Makes the directory when it is missing; returns its absolute path.
///
/// # Errors
/// When it cannot be made or read.
pub fn prepare(path: &Path) -> Result<PathBuf> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.with_context(|| format!("cannot make the data directory {} (AGORA_DATA_DIR)", path.display()))?;
    path.canonicalize().with_context(|| format!("cannot read the data directory {} (AGORA_DATA_DIR)", path.display()))
}

/// Returns the secret that tokens are signed with: that of the configuration, or the one kept in the directory, where it is drawn the
/// first time. Warns when it is drawn although the database has been served before, which other nodes may do as well.
///
/// # Errors
/// When it cannot be read or made.
pub fn signing_secret(config: &Config, data_dir: &Path, was_served_before: bool) -> Result<Secret> {
    if let Some(secret) = &config.jwt_secret {
        return Ok(secret.clone());
    }
    let (secret, is_new) = own_secret(data_dir)?;
    if is_new && was_served_before {
        tracing::warn!(
            "drew a new signing secret for a database that has accounts already: tokens of other nodes, and from before, are \
             refused; set AGORA_JWT_SECRET, the same on every node"
        );
    }
    Ok(secret)
}

/// Returns the secret kept in the directory, and whether it was drawn just now: the first time, one is.
fn own_secret(data_dir: &Path) -> Result<(Secret, bool)> {
    if let Some(secret) = existing_secret(data_dir)? {
        return Ok((secret, false));
    }
    let mut random = [0; 32];
    getrandom::fill(&mut random).context("no randomness")?;
    let drawn: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    place(&data_dir.join(SECRET_FILE), &drawn)?;
    Ok((existing_secret(data_dir)?.context("the signing secret has just vanished")?, true))
}

/// Returns the secret kept in the directory, if there is one.
///
/// # Errors
/// When it cannot be read, or is damaged.
pub fn existing_secret(data_dir: &Path) -> Result<Option<Secret>> {
    let file = data_dir.join(SECRET_FILE);
    if !file.exists() {
        return Ok(None);
    }
    let secret = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let secret = secret.trim().to_owned();
    ensure!(secret.len() >= Config::MIN_SECRET_BYTES, "{} is damaged: delete it to log everybody out", file.display());
    let mode = fs::metadata(&file)?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(file = %file.display(), "others can read the signing secret: chmod 600 it");
    }
    Ok(Some(Secret::from(secret)))
}

/// Keeps this secret in the directory, which has none or this one.
///
/// # Errors
/// When it cannot be written, and when another has come to be there.
pub fn keep_secret(data_dir: &Path, secret: &Secret) -> Result<()> {
    let file = data_dir.join(SECRET_FILE);
    place(&file, secret.expose())?;
    let is_kept = existing_secret(data_dir)?.as_ref() == Some(secret);
    ensure!(is_kept, "another process has just made another {}", file.display());
    Ok(())
}

/// Writes a secret, for the owner alone, where there is none yet. Another process may be first: its secret is the one.
fn place(file: &Path, secret: &str) -> Result<()> {
    let placed = AtomicFile::begin(file, SECRET_FILE).and_then(|draft| {
        draft.file().write_all(secret.as_bytes())?;
        draft.keep()
    });
    if file.exists() { Ok(()) } else { placed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_is_drawn_once_and_for_the_owner_alone() {
        let parent = tempfile::tempdir().unwrap();
        let data_dir = prepare(&parent.path().join("a/b")).unwrap();
        let (first, is_new) = own_secret(&data_dir).unwrap();
        assert_eq!((first.expose().len(), is_new), (64, true));
        assert_eq!(own_secret(&data_dir).unwrap(), (first, false));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&data_dir), mode(&data_dir.join(SECRET_FILE))), (0o700, 0o600));
        assert_eq!(fs::read_dir(&data_dir).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn a_damaged_secret_is_refused() {
        let data_dir = tempfile::tempdir().unwrap();
        fs::write(data_dir.path().join(SECRET_FILE), "short").unwrap();
        assert!(own_secret(data_dir.path()).is_err());
    }
}
