//! Blocking work on a separate thread that produces items for an async consumer.

use anyhow::Result;
use tokio::sync::mpsc;
use tokio::task;
use tokio::task::JoinHandle;

/// The items that a blocking task produces, one by one. At most one item waits while the consumer is busy.
pub struct Background<T> {
    items: mpsc::Receiver<T>,
    work: Option<JoinHandle<Result<()>>>,
}

impl<T: Send + 'static> Background<T> {
    /// Starts the work on a blocking thread. It passes each item to a callback that returns `false` once the consumer is gone.
    pub fn begin(work: impl FnOnce(&mut dyn FnMut(T) -> bool) -> Result<()> + Send + 'static) -> Self {
        let (sender, items) = mpsc::channel(1);
        let work = task::spawn_blocking(move || work(&mut |item| sender.blocking_send(item).is_ok()));
        Self { items, work: Some(work) }
    }

    /// Returns the next item, or `None` after the last.
    ///
    /// # Errors
    /// The error of the work, after its last item.
    pub async fn next(&mut self) -> Result<Option<T>> {
        if let Some(item) = self.items.recv().await {
            return Ok(Some(item));
        }
        if let Some(work) = self.work.take() {
            work.await??;
        }
        Ok(None)
    }
}
