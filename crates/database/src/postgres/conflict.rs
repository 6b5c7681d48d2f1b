//! Conflicts between transactions, and the wait before one is run again.

use std::time::Duration;

use diesel::result::{DatabaseErrorKind, Error as DieselError};
use tokio::time::sleep;

use crate::error::Failure;
use crate::random::random;

/// Waits after work has conflicted this often, so that the other work can end: from the third time on, for a random time with a
/// growing bound, 100 ms at most, so that two do not collide again.
pub(super) async fn back_off(attempts: u32) {
    let most = u64::from(attempts.saturating_sub(2).min(10)) * 10;
    if most > 0 {
        sleep(Duration::from_millis(random() % most)).await;
    }
}

/// Returns whether PostgreSQL ended the transaction to resolve a deadlock, or a conflict of serializable transactions.
///
/// The driver does not expose the SQLSTATE (40P01), and the message is in the server's language. Of all errors without a kind
/// of their own that these queries can meet, only the report of a deadlock has both a detail (who waits for whom) and a hint.
/// Taking another error for one does no harm: the transaction is rolled back and may be run again, for as long as it may wait
/// for a lock.
pub(super) fn is_conflict(failure: &Failure) -> bool {
    match failure {
        Failure::Database(DieselError::DatabaseError(DatabaseErrorKind::SerializationFailure, _)) => true,
        Failure::Database(DieselError::DatabaseError(DatabaseErrorKind::Unknown, info)) => {
            info.details().is_some() && info.hint().is_some()
        }
        _ => false,
    }
}
