//! What likes and follows have in common.

use crate::clock::Timestamp;
use crate::id::RelationId;
use crate::notices::Notice;

/// A new like or follow: what the repository stores when a toggle is turned on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewRelation {
    /// Names it.
    pub id: RelationId,
    /// When it was made.
    pub at: Timestamp,
    /// Who is told of it; nobody where it is nobody's business or the recipient's own.
    pub notice: Option<Notice>,
}
