//! Reads that were sent to the server.

use std::sync::Arc;
use std::time::Duration;

use diesel_async::SimpleAsyncConnection;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::connection::{Pipeline, WaitingGuard};

/// A read that was sent, with its permit.
///
/// If its request is cancelled before the answer, the server still carries the read out. So the permit is kept, and the
/// connection counts as busy, until the server is done with it.
pub(super) struct InFlight(Option<Sent>);

struct Sent {
    pipeline: Arc<Pipeline>,
    // Dropped before the permit is released, since whoever acquires that looks for an idle connection.
    _waiting: WaitingGuard,
    _permit: OwnedSemaphorePermit,
    /// How long the read may take.
    limit: Duration,
}

impl InFlight {
    pub(super) fn begin(pipeline: &Arc<Pipeline>, permit: OwnedSemaphorePermit, limit: Duration) -> Self {
        let waiting = WaitingGuard::new(&pipeline.waiting);
        Self(Some(Sent { pipeline: Arc::clone(pipeline), _waiting: waiting, _permit: permit, limit }))
    }

    /// Ends the read: it was answered, took too long, or lost its connection.
    pub(super) fn end(mut self) {
        self.0 = None;
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        // Without a current runtime, that of the connection has ended as well.
        let (Some(sent), Ok(runtime)) = (self.0.take(), Handle::try_current()) else { return };
        runtime.spawn(async move {
            // Answered after the read.
            if timeout(sent.limit, (&mut &sent.pipeline.conn).batch_execute("")).await.is_err() {
                sent.pipeline.abort();
            }
        });
    }
}
