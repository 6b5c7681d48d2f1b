//! What likes and follows have in common.

use crate::clock::Timestamp;
use crate::id::RelationId;

/// A new like or follow: what the repository stores when a toggle is turned on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewRelation {
    /// Names it.
    pub id: RelationId,
    /// When it was made.
    pub at: Timestamp,
}
