//! Moving everything: `agora copy`, `agora backup`, `agora restore`.
//!
//! | module | what it does |
//! |---|---|
//! | `copy` | from one database to another, from one image store to another |
//! | `backup`, `restore` | into one file, and back |
//! | `download` | the same file, taken while it is made |
//! | `archive` | that file: its form, and that it is whole |
//! | `rows` | rows from a source into a target, with checksums of both |
//! | `images` | images likewise |
//!
//! Rows arrive in one transaction that is committed once they have been read back and agree with the source, so that a
//! target never holds part of them. Images arrive before the rows that name them, and one that is there already is
//! left: whatever was interrupted is simply run again.

mod archive;
mod backup;
mod copy;
mod download;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod images;
mod restore;
mod rows;

pub use self::backup::backup;
pub use self::copy::{CopyArguments, copy};
pub use self::download::BackupDownloads;
pub use self::restore::restore;
