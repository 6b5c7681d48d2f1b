//! Moving everything: `agora copy`, `agora backup`, `agora restore`.
//!
//! | module | what it does |
//! |---|---|
//! | `command` | arguments, and what they open |
//! | `copy` | from one database to another, from one image store to another |
//! | `backup`, `restore` | into one file, and back |
//! | `archive` | that file: its form, and that it is whole |
//! | `rows` | rows from a source into a target, with checksums of both |
//! | `images` | images likewise |
//!
//! Rows arrive in one transaction that is committed once they have been read back and agree with the source, so that a
//! target never holds part of them. Images arrive before the rows that name them, and one that is there already is
//! left: whatever was interrupted is simply run again.

use agora_domain::{Error, Result};

use crate::progress::{Interrupt, Progress};

mod archive;
mod backup;
pub(crate) mod command;
mod copy;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod images;
mod restore;
mod rows;

/// What went wrong in an operator's words: those of the domain are for clients.
pub(crate) trait OperatorContext<T> {
    /// Returns the outcome, or what went wrong with `what`.
    fn operator_context(self, what: &str) -> anyhow::Result<T>;
}

impl<T> OperatorContext<T> for Result<T> {
    fn operator_context(self, what: &str) -> anyhow::Result<T> {
        self.map_err(|error| match error {
            Error::Unavailable(cause) | Error::Internal(cause) => anyhow::anyhow!(cause).context(what.to_owned()),
            Error::Conflict(_) => {
                anyhow::anyhow!("{what} has such a row already: it is written to, or the source is damaged")
            }
            error => anyhow::Error::new(error).context(what.to_owned()),
        })
    }
}
