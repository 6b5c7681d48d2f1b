//! The memory that large bodies may take together.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Semaphore, time::timeout};

use super::{incoming::Incoming, notice::Notice};
use crate::{body::JSON_LIMIT, error::ApiError};

/// How many bodies wait for room; one more is refused.
const WAITING: usize = 256;

/// How long a body waits for room.
const PATIENCE: Duration = Duration::from_secs(15);

const KIBIBYTE: usize = 1024;

/// The room for large bodies. Small ones, such as JSON, need none: the limit on requests in flight bounds them.
pub(crate) struct Uploads {
    /// A permit for each KiB.
    room: Arc<Semaphore>,
    line: Semaphore,
    size: usize,
    refused: Notice,
}

impl Uploads {
    /// Room for so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let size = (bytes / KIBIBYTE).clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        let refused = Notice::new("uploads at once: AGORA_UPLOAD_MEMORY");
        Self { room: Arc::new(Semaphore::new(size)), line: Semaphore::new(WAITING), size, refused }
    }

    /// How many bytes there is no room for any more.
    pub(crate) fn held(&self) -> usize {
        self.size.saturating_sub(self.room.available_permits()) * KIBIBYTE
    }

    /// How many bodies wait for room.
    pub(crate) fn waiting(&self) -> usize {
        WAITING.saturating_sub(self.line.available_permits())
    }

    /// How many bodies were refused since the start.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.total()
    }

    /// Waits until there is room for a body, of which at most `most` bytes are kept. It has it until its request was
    /// answered. One that has room already has enough.
    ///
    /// # Errors
    /// When too many wait, or there is no room in time.
    pub(crate) async fn make_room(&self, body: &Incoming, most: usize) -> Result<(), ApiError> {
        let bytes = body.expected(most);
        if bytes <= JSON_LIMIT || body.room.borrow().is_some() {
            return Ok(());
        }
        let busy = || {
            self.refused.tell();
            ApiError::Busy
        };
        let _in_line = self.line.try_acquire().map_err(|_| busy())?;
        let needed = u32::try_from(bytes.div_ceil(KIBIBYTE).min(self.size)).unwrap_or(u32::MAX);
        let room = timeout(PATIENCE, Arc::clone(&self.room).acquire_many_owned(needed)).await;
        let room = room.ok().and_then(Result::ok).ok_or_else(busy)?;
        body.room.replace(Some(room));
        Ok(())
    }
}
