//! Versions of what can be edited: each is named by the instant at which the thing was last changed.

use crate::clock::Timestamp;
use crate::error::{Error, Result};

/// Returns the version that an edit at `now` makes of the one before: no two versions of a thing have the same name,
/// however quickly one edit follows another.
pub fn next_version(before: Timestamp, now: Timestamp) -> Timestamp {
    now.max(before.plus_millis(1))
}

/// The versions of a thing that an edit is meant for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Versions {
    /// Whichever there is.
    #[default]
    Any,
    /// One of these.
    OneOf(Vec<Timestamp>),
}

impl Versions {
    /// The rule that nobody edits what they have not seen.
    ///
    /// # Errors
    /// [`Error::Stale`] when the edit is not meant for this version.
    pub fn ensure_include(&self, version: Timestamp) -> Result<()> {
        match self {
            Self::Any => Ok(()),
            Self::OneOf(versions) if versions.contains(&version) => Ok(()),
            Self::OneOf(_) => Err(Error::Stale),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: i64) -> Timestamp {
        Timestamp::from_unix_millis(millis)
    }

    #[test]
    fn a_version_is_later_than_the_one_before_it() {
        assert_eq!(next_version(at(5), at(9)), at(9));
        assert_eq!(next_version(at(9), at(9)), at(10));
        assert_eq!(next_version(at(20), at(9)), at(21), "after a clock was put back");
    }

    #[test]
    fn an_edit_is_stale_unless_it_is_meant_for_the_version() {
        assert!(Versions::Any.ensure_include(at(1)).is_ok());
        let some = Versions::OneOf(vec![at(1), at(3)]);
        assert!(some.ensure_include(at(3)).is_ok());
        for versions in [some, Versions::OneOf(vec![])] {
            assert!(matches!(versions.ensure_include(at(2)), Err(Error::Stale)));
        }
    }
}
