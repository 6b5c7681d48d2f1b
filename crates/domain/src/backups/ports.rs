//! The port of backups.

use bytes::Bytes;
use futures_util::stream::BoxStream;

use crate::error::Result;

/// The bytes of a backup while it is being made. Dropping the stream cancels the backup.
pub type BackupBytes = BoxStream<'static, Result<Bytes>>;

/// Makes backups of everything except the secrets of the service.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait BackupSource: Send + Sync {
    /// Begins a backup. It advances only as fast as the stream is read, and only one is made at a time.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable) while another backup is being made.
    fn begin(&self) -> Result<BackupBytes>;
}
