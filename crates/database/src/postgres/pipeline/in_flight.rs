//! Statements that the server is at work on, and those that wait.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{runtime::Handle, sync::SemaphorePermit, time::timeout};

use super::{Pipeline, Pipelines};

/// Statements that were sent, with their permit.
///
/// When their request goes away before the answer, the server goes on. So the permit is kept, and the connection counts
/// as busy, until the server is done with them.
pub(super) struct InFlight<'a> {
    pipelines: &'a Arc<Pipelines>,
    pipeline: &'a Arc<Pipeline>,
    permit: Option<SemaphorePermit<'a>>,
}

impl<'a> InFlight<'a> {
    pub(super) fn begin(
        pipelines: &'a Arc<Pipelines>,
        permit: SemaphorePermit<'a>,
        pipeline: &'a Arc<Pipeline>,
    ) -> Self {
        pipeline.waiting.fetch_add(1, Ordering::Relaxed);
        Self { pipelines, pipeline, permit: Some(permit) }
    }

    /// Ends with their answer, or with their connection.
    pub(super) fn end(mut self) {
        // The connection is free before somebody else may look for one.
        self.pipeline.waiting.fetch_sub(1, Ordering::Relaxed);
        self.permit = None;
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let Some(permit) = self.permit.take() else { return };
        permit.forget();
        let abandoned = Abandoned { pipelines: Arc::clone(self.pipelines), pipeline: Arc::clone(self.pipeline) };
        // Without a runtime, that of the connection has ended as well.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                let Abandoned { pipelines, pipeline } = &abandoned;
                // Answered behind them.
                if timeout(pipelines.limits.statement, pipeline.client.batch_execute("")).await.is_err() {
                    pipeline.give_up();
                }
            });
        }
    }
}

/// Statements whose request has gone away. Their permit is released when this is dropped.
struct Abandoned {
    pipelines: Arc<Pipelines>,
    pipeline: Arc<Pipeline>,
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.pipeline.waiting.fetch_sub(1, Ordering::Relaxed);
        self.pipelines.permits.add_permits(1);
    }
}

/// Counts a statement that waits, also when its request goes away.
pub(super) struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    pub(super) fn on(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
