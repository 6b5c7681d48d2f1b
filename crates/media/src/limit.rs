//! How long storage may take: what takes longer counts as failed, so that no request waits for storage that is away.

use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};
use object_store::{Error, Result};
use tokio::time::timeout;

/// How long one answer may take, all attempts included: an object's beginning, its next part, the next part of a
/// listing, the end of a deletion.
pub(crate) const ANSWER: Duration = Duration::from_secs(8);

/// Returns how long the upload of so many bytes may take: a second more for each mebibyte.
pub(crate) fn for_upload(bytes: usize) -> Duration {
    ANSWER + Duration::from_secs(u64::try_from(bytes >> 20).unwrap_or(u64::MAX >> 1))
}

/// Returns the outcome of some work, or a failure when it takes too long.
pub(crate) async fn within<T>(limit: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    timeout(limit, work).await.unwrap_or_else(|_| Err(too_late(limit)))
}

/// Returns a stream that ends with a failure when its next item, once asked for, takes too long. Whoever reads slowly
/// may.
pub(crate) fn each_within<T: Send + 'static>(
    limit: Duration,
    items: BoxStream<'static, Result<T>>,
) -> BoxStream<'static, Result<T>> {
    let next = move |items: Option<BoxStream<'static, Result<T>>>| async move {
        let mut items = items?;
        match timeout(limit, items.next()).await {
            Ok(item) => Some((item?, Some(items))),
            Err(_) => Some((Err(too_late(limit)), None)),
        }
    };
    stream::unfold(Some(items), next).boxed()
}

fn too_late(limit: Duration) -> Error {
    Error::Generic { store: "image", source: format!("no answer within {} s", limit.as_secs()).into() }
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt;
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_may_take_as_long_as_it_likes() {
        let mut items = each_within(ANSWER, stream::iter([1, 2, 3].map(Ok)).boxed());
        let mut read = Vec::new();
        while let Some(item) = items.try_next().await.unwrap() {
            read.push(item);
            sleep(10 * ANSWER).await;
        }
        assert_eq!(read, [1, 2, 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_writer_is_given_up_on() {
        let begun = Instant::now();
        let never = stream::iter([Ok(1)]).chain(stream::pending());
        let items: Vec<_> = each_within(ANSWER, never.boxed()).collect().await;
        assert!(matches!(items.as_slice(), [Ok(1), Err(Error::Generic { .. })]), "{items:?}");
        within(ANSWER, std::future::pending::<Result<()>>()).await.unwrap_err();
        assert_eq!(begun.elapsed(), 2 * ANSWER);
    }

    #[test]
    fn a_large_upload_gets_more_time() {
        assert_eq!(for_upload(1000), ANSWER);
        assert_eq!(for_upload(5 << 20), ANSWER + Duration::from_secs(5));
    }
}
