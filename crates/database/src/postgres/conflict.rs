//! Work that conflicts with others, and is done again.

use std::time::Duration;

use diesel::result::{DatabaseErrorKind, Error as DieselError};
use tokio::time::sleep;

use crate::error::Failure;
use crate::random::random;

/// Waits so that the work that this has conflicted with so often can end: from the third time on, longer each time, and for a random time, so
/// that two do not meet again.
pub(super) async fn give_way(attempts: u32) {
    let most = u64::from(attempts.saturating_sub(2).min(10)) * 10;
    if most > 0 {
        sleep(Duration::from_millis(random() % most)).await;
    }
}

/// Returns whether PostgreSQL ended the transaction to resolve a deadlock, or a conflict of serializable transactions.
///
/// The driver keeps the SQLSTATE (40P01) to itself, and the message is in the server's language. What tells a report of
/// a deadlock from all other errors without a kind of their own that these queries can meet is that it has both a
/// detail (who waits for whom) and a hint. To take another error for one does no harm: the transaction is undone and
/// may be run again, for as long as one may wait for a lock.
pub(super) fn is_conflict(failure: &Failure) -> bool {
    match failure {
        Failure::Database(DieselError::DatabaseError(DatabaseErrorKind::SerializationFailure, _)) => true,
        Failure::Database(DieselError::DatabaseError(DatabaseErrorKind::Unknown, info)) => {
            info.details().is_some() && info.hint().is_some()
        }
        _ => false,
    }
}
