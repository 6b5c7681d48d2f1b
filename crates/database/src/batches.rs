//! Deleting much, some at a time.

use agora_domain::Result;

/// How many rows are deleted at once, so that other writes, and the time of a statement, do not suffer from many.
pub(crate) const BATCH: i64 = 1_000;

/// Deletes one batch after another, until none is left; how many rows.
pub(crate) async fn until_none<F: Future<Output = Result<usize>>>(batch: impl Fn() -> F) -> Result<usize> {
    let mut deleted = 0;
    loop {
        match batch().await? {
            0 => return Ok(deleted),
            rows => deleted += rows,
        }
    }
}
