//! Files that are there once they are whole and on disk, and never written over another.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tempfile::NamedTempFile;

/// What is to become a file, for its owner alone. It goes when it is dropped.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    file: NamedTempFile,
    path: PathBuf,
}

impl AtomicFile {
    /// Begins a file of this path, under a name with this beginning.
    ///
    /// # Errors
    /// When there is something already, or nothing can be written there.
    pub(crate) fn begin(path: &Path, prefix: &str) -> Result<Self> {
        // A link that leads nowhere is there, too.
        ensure!(path.symlink_metadata().is_err(), "{} exists already", path.display());
        let directory = directory_of(path);
        let file = tempfile::Builder::new().prefix(prefix).tempfile_in(directory);
        let file = file.with_context(|| format!("cannot write to {}", directory.display()))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Returns what is written to.
    pub(crate) fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Moves what is written to its place, durably.
    ///
    /// # Errors
    /// When something has come to be there, or the disk fails.
    pub(crate) fn keep(self) -> Result<()> {
        let Self { file, path } = self;
        let kept = file.as_file().sync_all().and_then(|()| {
            file.persist_noclobber(&path).map_err(|error| error.error)?;
            File::open(directory_of(&path))?.sync_all()
        });
        kept.with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Returns the directory that a file is in.
pub(crate) fn directory_of(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
