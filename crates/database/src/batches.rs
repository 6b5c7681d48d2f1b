//! Deletes many rows in batches.

use agora_domain::Result;

/// The number of rows that a batch deletes: few enough not to delay other writes, or to exceed the time limit of a statement.
pub(crate) const BATCH: i64 = 1_000;

/// Deletes batch after batch until no rows are left. Returns the number of deleted rows.
pub(crate) async fn until_none<F: Future<Output = Result<usize>>>(batch: impl Fn() -> F) -> Result<usize> {
    let mut deleted = 0;
    loop {
        match batch().await? {
            0 => return Ok(deleted),
            rows => deleted += rows,
        }
    }
}
