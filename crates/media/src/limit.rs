//! Timeouts of storage operations, so that no request waits for storage that does not answer.

use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};
use object_store::{Error, Result};
use tokio::time::timeout;

/// The timeout of one response, including all retries: of the beginning of an object, its next part, the next part of a
/// listing, or the end of a deletion.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(8);

/// Returns the timeout for an upload of this size: [`CALL_TIMEOUT`] and a second more for each mebibyte.
pub(crate) fn upload_timeout(bytes: usize) -> Duration {
    CALL_TIMEOUT + Duration::from_secs(u64::try_from(bytes >> 20).unwrap_or(u64::MAX >> 1))
}

/// Returns the result of `work`, or an error if it takes longer than `limit`.
pub(crate) async fn with_timeout<T>(limit: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    timeout(limit, work).await.unwrap_or_else(|_| Err(timeout_error(limit)))
}

/// Returns a stream that ends with an error if it takes longer than `limit` to produce an item. The time that the consumer takes
/// between items does not count.
pub(crate) fn with_item_timeout<T: Send + 'static>(
    limit: Duration,
    items: BoxStream<'static, Result<T>>,
) -> BoxStream<'static, Result<T>> {
    let next = move |items: Option<BoxStream<'static, Result<T>>>| async move {
        let mut items = items?;
        match timeout(limit, items.next()).await {
            Ok(item) => Some((item?, Some(items))),
            Err(_) => Some((Err(timeout_error(limit)), None)),
        }
    };
    stream::unfold(Some(items), next).boxed()
}

fn timeout_error(limit: Duration) -> Error {
    Error::Generic { store: "image", source: format!("no answer within {} s", limit.as_secs()).into() }
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt;
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_slow_consumer_does_not_time_out() {
        let mut items = with_item_timeout(CALL_TIMEOUT, stream::iter([1, 2, 3].map(Ok)).boxed());
        let mut read = Vec::new();
        while let Some(item) = items.try_next().await.unwrap() {
            read.push(item);
            sleep(10 * CALL_TIMEOUT).await;
        }
        assert_eq!(read, [1, 2, 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_producer_that_stalls_times_out() {
        let started = Instant::now();
        let never = stream::iter([Ok(1)]).chain(stream::pending());
        let items: Vec<_> = with_item_timeout(CALL_TIMEOUT, never.boxed()).collect().await;
        assert!(matches!(items.as_slice(), [Ok(1), Err(Error::Generic { .. })]), "{items:?}");
        with_timeout(CALL_TIMEOUT, std::future::pending::<Result<()>>()).await.unwrap_err();
        assert_eq!(started.elapsed(), 2 * CALL_TIMEOUT);
    }

    #[test]
    fn the_timeout_of_an_upload_grows_with_its_size() {
        assert_eq!(upload_timeout(1000), CALL_TIMEOUT);
        assert_eq!(upload_timeout(5 << 20), CALL_TIMEOUT + Duration::from_secs(5));
    }
}
