//! Keeps background tasks running after a panic.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::sleep;

/// The time from a panic to the restart.
const PAUSE: Duration = Duration::from_secs(10);

/// Runs a task to its end, and restarts it after a panic: a panic caused by one item must not stop the task for all other items
/// until the node is restarted.
pub async fn restart_on_panic<F: Future<Output = ()>>(name: &str, work: impl Fn() -> F) {
    while AssertUnwindSafe(work()).catch_unwind().await.is_err() {
        tracing::error!(work = name, "a background task panicked and will be restarted");
        sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_task_is_restarted_after_each_panic_until_it_completes() {
        let times = AtomicU32::new(0);
        restart_on_panic("a test", || async {
            assert!(times.fetch_add(1, Ordering::Relaxed) == 2, "not yet");
        })
        .await;
        assert_eq!(times.load(Ordering::Relaxed), 3);
    }
}
