//! The rules of deletion, and the progress of erasing what belonged to a deleted account.

use crate::accounts::Account;
use crate::error::{Disallowed, Error, Result};
use crate::media::ImageKey;
use crate::page::Keyset;

/// For how long the username and the email address of a deleted account stay reserved: 30 days.
pub const NAMES_KEPT_MILLIS: i64 = 30 * 24 * 60 * 60 * 1000;

impl Account {
    /// Checks that the account may be deleted. `other_admins` counts the other enabled accounts with ADMIN.
    ///
    /// # Errors
    /// [`Error::Disallowed`] when this would leave no enabled ADMIN.
    pub fn ensure_deletable(&self, other_admins: u64) -> Result<()> {
        if self.is_last_admin(other_admins) { Err(Error::Disallowed(Disallowed::LastAdmin)) } else { Ok(()) }
    }
}

/// How far the erasure of an account has progressed. Everything before this position is gone, except for rows that were written
/// late; therefore the account itself is erased only after a pass from the beginning (the default) has found nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ErasurePosition {
    /// The kind of row being erased, as a number that only the adapter interprets.
    pub step: u8,
    /// The last row of that kind that was erased.
    pub after: Option<Keyset>,
}

/// The result of erasing one batch of what belonged to a deleted account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Erased {
    /// Roughly how many rows were erased.
    pub count: usize,
    /// The images that no row references any more.
    pub images: Vec<ImageKey>,
    /// Where the next batch continues.
    pub next: ErasurePosition,
    /// Whether nothing is left of the account.
    pub is_done: bool,
}
