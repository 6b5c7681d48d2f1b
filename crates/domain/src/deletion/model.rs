//! What is left of an account that was deleted.

use crate::accounts::Account;
use crate::error::{Disallowed, Error, Result};
use crate::media::ImageKey;
use crate::page::Keyset;

/// For how long the username and the address of a deleted account are not given out.
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

/// Where erasing an account got to. What is before it is gone, save what came late: the account itself goes only after a walk from the
/// beginning, which is the default, that found nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ErasurePosition {
    /// Which kind of things is being erased, by a number that means something to the adapter alone.
    pub step: u8,
    /// The last of them that is gone.
    pub after: Option<Keyset>,
}

/// Some of what belonged to a deleted account, after it was erased.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Erased {
    /// How many things it was, about.
    pub count: usize,
    /// The images that no row names any more.
    pub images: Vec<ImageKey>,
    /// Where to go on.
    pub next: ErasurePosition,
    /// Whether nothing is left of the account.
    pub is_done: bool,
}
