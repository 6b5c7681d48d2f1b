//! Files that appear at their path only once complete and on disk, and that never overwrite another file.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tempfile::NamedTempFile;

/// A temporary file, readable by its owner alone, that [`keep`](Self::keep) moves to its path. Dropping it deletes it.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    file: NamedTempFile,
    path: PathBuf,
}

impl AtomicFile {
    /// Creates the temporary file in the directory of `path`, with a name that begins with `prefix`.
    ///
    /// # Errors
    /// When `path` exists already, or its directory cannot be written to.
    pub(crate) fn begin(path: &Path, prefix: &str) -> Result<Self> {
        // Not `exists()`, which is false for a dangling symbolic link.
        ensure!(path.symlink_metadata().is_err(), "{} already exists", path.display());
        let directory = directory_of(path);
        let file = tempfile::Builder::new().prefix(prefix).tempfile_in(directory);
        let file = file.with_context(|| format!("cannot write to {}", directory.display()))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Returns the temporary file, to write to.
    pub(crate) fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Moves the file to its path, durably: file and directory are synced.
    ///
    /// # Errors
    /// When something exists at the path by now, or the disk fails.
    pub(crate) fn keep(self) -> Result<()> {
        let Self { file, path } = self;
        let kept = file.as_file().sync_all().and_then(|()| {
            file.persist_noclobber(&path).map_err(|error| error.error)?;
            File::open(directory_of(&path))?.sync_all()
        });
        kept.with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Returns the directory that contains a file; `.` for a bare file name.
pub(crate) fn directory_of(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
