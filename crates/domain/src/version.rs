//! Versions of things that can be edited, for optimistic concurrency control. A version is identified by the instant at
//! which the thing was last changed.

use crate::clock::Timestamp;
use crate::error::{Error, Result};

/// Returns the version after an edit at `now`. It is always later than the version `before`, so that no two versions of a
/// thing are equal, however quickly one edit follows another.
pub fn next_version(before: Timestamp, now: Timestamp) -> Timestamp {
    now.max(before.plus_millis(1))
}

/// The versions of a thing to which an edit may be applied.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Versions {
    /// Any version.
    #[default]
    Any,
    /// One of these.
    OneOf(Vec<Timestamp>),
}

impl Versions {
    /// Checks that the edit may be applied to this version, so that nobody overwrites a change that they have not seen.
    ///
    /// # Errors
    /// [`Error::Stale`] when it may not.
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
    fn an_edit_made_for_other_versions_is_stale() {
        assert!(Versions::Any.ensure_include(at(1)).is_ok());
        let some = Versions::OneOf(vec![at(1), at(3)]);
        assert!(some.ensure_include(at(3)).is_ok());
        for versions in [some, Versions::OneOf(vec![])] {
            assert!(matches!(versions.ensure_include(at(2)), Err(Error::Stale)));
        }
    }
}
