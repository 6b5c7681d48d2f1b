//! Work in the background that never ends.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::sleep;

/// How long after a panic it begins again.
const PAUSE: Duration = Duration::from_secs(10);

/// Does work in the background to its end, and begins it again after a panic: what one thing brings out is not to keep a node from all
/// others until it is restarted.
pub async fn unending<F: Future<Output = ()>>(name: &str, work: impl Fn() -> F) {
    while AssertUnwindSafe(work()).catch_unwind().await.is_err() {
        tracing::error!(work = name, "work in the background panicked, and begins again");
        sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_panics_begins_again_until_it_ends() {
        let times = AtomicU32::new(0);
        unending("a test", || async {
            assert!(times.fetch_add(1, Ordering::Relaxed) == 2, "not yet");
        })
        .await;
        assert_eq!(times.load(Ordering::Relaxed), 3);
    }
}
