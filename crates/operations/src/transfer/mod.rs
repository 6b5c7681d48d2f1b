//! `agora copy`, `agora backup` and `agora restore`: move all rows and images.
//!
//! | module | what it does |
//! |---|---|
//! | `copy` | copies from one database to another and from one image store to another |
//! | `backup`, `restore` | write everything to one file, and restore it |
//! | `download` | streams such a file to an HTTP client while it is made |
//! | `archive` | the format of the file, and its integrity check |
//! | `rows` | moves rows, with checksums of source and target |
//! | `images` | moves images, and reads each back |
//!
//! Rows are written in one transaction that is committed once they have been read back and agree with the source, so that a
//! target never holds part of them. Images are written before the rows that reference them, and those that exist already are
//! kept. So a command that was interrupted is simply run again.

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
