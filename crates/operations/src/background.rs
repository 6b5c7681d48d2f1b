//! Blocking work on a thread of its own, that hands over what it makes.

use anyhow::Result;
use tokio::sync::mpsc;
use tokio::task;
use tokio::task::JoinHandle;

/// What a thread makes, one by one.
pub struct Background<T> {
    made: mpsc::Receiver<T>,
    work: Option<JoinHandle<Result<()>>>,
}

impl<T: Send + 'static> Background<T> {
    /// Begins work, which is told whether what it made is still wanted.
    pub fn begin(work: impl FnOnce(&mut dyn FnMut(T) -> bool) -> Result<()> + Send + 'static) -> Self {
        let (sender, made) = mpsc::channel(1);
        let work = task::spawn_blocking(move || work(&mut |one| sender.blocking_send(one).is_ok()));
        Self { made, work: Some(work) }
    }

    /// Returns what comes next; nothing after the end.
    ///
    /// # Errors
    /// Those of the work.
    pub async fn next(&mut self) -> Result<Option<T>> {
        if let Some(one) = self.made.recv().await {
            return Ok(Some(one));
        }
        if let Some(work) = self.work.take() {
            work.await??;
        }
        Ok(None)
    }
}
