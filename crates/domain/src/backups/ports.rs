//! What backups need of adapters.

use bytes::Bytes;
use futures_util::stream::BoxStream;

use crate::error::Result;

/// The bytes of a backup, as they are made. Whoever drops it ends the work.
pub type BackupBytes = BoxStream<'static, Result<Bytes>>;

/// Makes backups: everything but the secrets of the service.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait BackupSource: Send + Sync {
    /// Begins a backup. It is made no faster than its bytes are taken, and one at a time.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable) while another one is made.
    fn begin(&self) -> Result<BackupBytes>;
}
