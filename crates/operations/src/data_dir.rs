//! The data directory: created at the first start, readable by its owner alone.

use std::fs;
use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use agora_config::{Config, Secret};
use anyhow::{Context, Result, ensure};

use crate::atomic_file::AtomicFile;

/// The name of the file in the data directory that holds the generated signing secret.
pub const SECRET_FILE: &str = "jwt-secret";

/// Creates the directory if it is missing; returns its absolute path.
///
/// # Errors
/// When it cannot be created or read.
pub fn prepare(path: &Path) -> Result<PathBuf> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.with_context(|| format!("cannot create the data directory {} (AGORA_DATA_DIR)", path.display()))?;
    path.canonicalize().with_context(|| format!("cannot read the data directory {} (AGORA_DATA_DIR)", path.display()))
}

/// Returns the secret that signs tokens: the configured one, or the one stored in the data directory, where the first start
/// generates it.
///
/// Warns if it was generated for a database that has been served before, possibly by other nodes with another secret.
///
/// # Errors
/// When it cannot be read or generated.
pub fn signing_secret(config: &Config, data_dir: &Path, was_served_before: bool) -> Result<Secret> {
    if let Some(secret) = &config.jwt_secret {
        return Ok(secret.clone());
    }
    let (secret, is_new) = own_secret(data_dir)?;
    if is_new && was_served_before {
        tracing::warn!(
            "generated a new signing secret for a database that already has accounts: earlier tokens and those of other nodes \
             are rejected; set AGORA_JWT_SECRET to the same value on every node"
        );
    }
    Ok(secret)
}

/// Returns the secret stored in the directory, and whether it was generated just now because there was none.
fn own_secret(data_dir: &Path) -> Result<(Secret, bool)> {
    if let Some(secret) = existing_secret(data_dir)? {
        return Ok((secret, false));
    }
    let mut random = [0; 32];
    getrandom::fill(&mut random).context("cannot get random bytes")?;
    let generated: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    write_if_absent(&data_dir.join(SECRET_FILE), &generated)?;
    Ok((existing_secret(data_dir)?.context("the signing secret was deleted just now")?, true))
}

/// Returns the secret stored in the directory, if there is one.
///
/// # Errors
/// When it cannot be read, or is too short.
pub fn existing_secret(data_dir: &Path) -> Result<Option<Secret>> {
    let file = data_dir.join(SECRET_FILE);
    if !file.exists() {
        return Ok(None);
    }
    let secret = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let secret = secret.trim().to_owned();
    ensure!(
        secret.len() >= Config::MIN_SECRET_BYTES,
        "{} is damaged: restore it, or delete it, which logs all users out",
        file.display()
    );
    let mode = fs::metadata(&file)?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(file = %file.display(), "other users can read the signing secret: run chmod 600 on it");
    }
    Ok(Some(Secret::from(secret)))
}

/// Stores the secret in the directory, which must have none or the same one.
///
/// # Errors
/// When it cannot be written, or another process has stored another one meanwhile.
pub fn store_secret(data_dir: &Path, secret: &Secret) -> Result<()> {
    let file = data_dir.join(SECRET_FILE);
    write_if_absent(&file, secret.expose())?;
    let is_kept = existing_secret(data_dir)?.as_ref() == Some(secret);
    ensure!(is_kept, "another process has just created a different {}", file.display());
    Ok(())
}

/// Writes a secret, readable by the owner alone, unless the file exists. If another process is faster, its secret stays.
fn write_if_absent(file: &Path, secret: &str) -> Result<()> {
    let written = AtomicFile::begin(file, SECRET_FILE).and_then(|draft| {
        draft.file().write_all(secret.as_bytes())?;
        draft.keep()
    });
    if file.exists() { Ok(()) } else { written }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_is_generated_once_and_readable_by_the_owner_alone() {
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
