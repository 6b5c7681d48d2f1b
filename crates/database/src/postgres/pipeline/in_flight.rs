//! Reads that the server is at work on.

use std::sync::Arc;
use std::time::Duration;

use diesel_async::SimpleAsyncConnection;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::connection::{Pipeline, Waiting};

/// What was sent, with its permit.
///
/// When its request goes away before the answer, the server goes on. So the permit is kept, and the connection counts
/// as busy, until the server is done with it.
pub(super) struct InFlight(Option<Sent>);

struct Sent {
    pipeline: Arc<Pipeline>,
    // Ends before the permit is released: whoever gets it looks for a connection that is free.
    _waiting: Waiting,
    _permit: OwnedSemaphorePermit,
    /// How long it may take.
    limit: Duration,
}

impl InFlight {
    pub(super) fn begin(pipeline: &Arc<Pipeline>, permit: OwnedSemaphorePermit, limit: Duration) -> Self {
        let waiting = Waiting::on(&pipeline.waiting);
        Self(Some(Sent { pipeline: Arc::clone(pipeline), _waiting: waiting, _permit: permit, limit }))
    }

    /// Ends with its answer, or with its connection.
    pub(super) fn end(mut self) {
        self.0 = None;
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        // Without a runtime, that of the connection has ended as well.
        let (Some(sent), Ok(runtime)) = (self.0.take(), Handle::try_current()) else { return };
        runtime.spawn(async move {
            // Answered behind it.
            if timeout(sent.limit, (&mut &sent.pipeline.conn).batch_execute("")).await.is_err() {
                sent.pipeline.give_up();
            }
        });
    }
}
