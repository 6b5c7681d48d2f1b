//! The limits on how many requests of one account are in progress at once.

use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServiceRequest;
use actix_web::http::header;
use actix_web::http::header::HeaderValue;
use agora_domain::Error;
use agora_domain::id::UserId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::core::weak_map::Entry;
use crate::core::{ApiError, WeakMap};
use crate::request::await_body;

/// The most uploads of one account in progress at once.
const MAX_UPLOADS: usize = 4;

/// The most requests of one account that wait, of each kind. One more is refused.
const MAX_WAITING: usize = 128;

/// How long a request waits for its permit.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(15);

/// The beginning of the media type of an upload.
const MULTIPART: &[u8] = b"multipart/";

/// Limits how many requests of one account are in progress at once: reads to half the number of worker threads, writes to as
/// many besides if the database executes them in parallel, and uploads to a few. Others wait in the order of arrival.
///
/// So the requests of a busy account wait for each other, and those of other accounts do not queue behind all of them. The
/// other half of the workers is left to other accounts: a read keeps a core busy, here or at the database, and so does a
/// parallel write at the database. An upload, which takes memory rather than a core, waits before its body is read. Any other
/// write waits afterwards, so that a body that arrives slowly delays no other write.
pub(crate) struct AccountConcurrency {
    reads: PerAccount,
    /// `None` if the database has a single writer: a write that waits for it keeps no core busy.
    writes: Option<PerAccount>,
    uploads: PerAccount,
}

impl AccountConcurrency {
    /// Creates the limits for this number of worker threads.
    pub(crate) fn new(workers: usize, parallel_writes: bool) -> Self {
        let half = || PerAccount::new((workers / 2).max(1));
        Self { reads: half(), writes: parallel_writes.then(half), uploads: PerAccount::new(MAX_UPLOADS) }
    }

    /// Acquires a permit for a request of this account, or returns `None` if it needs none. `takes_form` is whether the endpoint
    /// accepts forms: elsewhere, a body that calls itself one is no upload.
    ///
    /// # Errors
    /// [`ApiError::Busy`] if too many requests of the account wait already, [`Error::Unavailable`] if those before it take too
    /// long.
    pub(crate) async fn acquire(
        &self,
        account: UserId,
        takes_form: bool,
        request: &mut ServiceRequest,
    ) -> Result<Option<AccountPermit>, ApiError> {
        let content_type = request.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
        let is_multipart =
            |value: &[u8]| value.get(..MULTIPART.len()).is_some_and(|start| start.eq_ignore_ascii_case(MULTIPART));
        let limit = if request.method().is_safe() {
            &self.reads
        } else if takes_form && content_type.is_some_and(is_multipart) {
            &self.uploads
        } else if let Some(writes) = &self.writes {
            await_body(request).await;
            writes
        } else {
            return Ok(None);
        };
        limit.acquire(account).await.map(Some)
    }
}

/// A limit that applies to each account separately.
struct PerAccount {
    limit: usize,
    accounts: Arc<WeakMap<UserId, AccountQueue>>,
}

/// The permits of one account, and its bounded queue for them.
#[derive(Debug)]
struct AccountQueue {
    permits: Arc<Semaphore>,
    queue: Semaphore,
}

/// A permit for a request of an account, released when it is dropped.
#[derive(Debug)]
pub(crate) struct AccountPermit {
    _permit: OwnedSemaphorePermit,
    _account: Arc<Entry<UserId, AccountQueue>>,
}

impl PerAccount {
    fn new(limit: usize) -> Self {
        Self { limit: limit.min(Semaphore::MAX_PERMITS), accounts: Arc::default() }
    }

    async fn acquire(&self, account: UserId) -> Result<AccountPermit, ApiError> {
        let make =
            || AccountQueue { permits: Arc::new(Semaphore::new(self.limit)), queue: Semaphore::new(MAX_WAITING) };
        let account = self.accounts.get_or_insert_with(account, make);
        let permit = match Arc::clone(&account.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let _in_queue = account.queue.try_acquire().map_err(|_| ApiError::Busy)?;
                let acquired = timeout(QUEUE_TIMEOUT, Arc::clone(&account.permits).acquire_owned()).await;
                // The semaphore is never closed.
                acquired.map_err(|_| timed_out())?.map_err(Error::internal)?
            }
        };
        Ok(AccountPermit { _permit: permit, _account: account })
    }
}

fn timed_out() -> Error {
    Error::unavailable("earlier requests of the account took too long")
}

#[cfg(test)]
mod tests {
    use actix_web::http::Method;
    use actix_web::test::TestRequest;
    use futures_util::FutureExt;
    use tokio::task::unconstrained;
    use tokio::time::Instant;
    use uuid::Uuid;

    use super::*;

    fn account(n: u128) -> UserId {
        UserId::new(Uuid::from_u128(n))
    }

    fn try_acquire(limits: &PerAccount, n: u128) -> Option<AccountPermit> {
        unconstrained(limits.acquire(account(n))).now_or_never().map(Result::unwrap)
    }

    #[tokio::test]
    async fn requests_wait_for_those_of_the_same_account_only() {
        let limits = PerAccount::new(4);
        let mut held: Vec<_> = (0..100).map_while(|_| try_acquire(&limits, 1)).collect();
        assert_eq!(held.len(), 4);
        assert!(try_acquire(&limits, 2).is_some());
        let mut waits = Box::pin(limits.acquire(account(1)));
        assert!((&mut waits).now_or_never().is_none());
        held.pop();
        assert!(try_acquire(&limits, 1).is_none(), "whoever waits is first");
        held.push(waits.await.unwrap());
        assert!(try_acquire(&limits, 1).is_none());
    }

    #[tokio::test]
    async fn reads_writes_and_uploads_have_separate_limits() {
        for (workers, half, parallel_writes) in [(1, 1, true), (2, 1, true), (6, 3, true), (6, 3, false)] {
            let limits = AccountConcurrency::new(workers, parallel_writes);
            let all = |method: Method, content_type: &str, takes_form: bool| {
                let request = TestRequest::with_uri("/").method(method).insert_header(("content-type", content_type));
                let mut request = request.to_srv_request();
                let mut acquire = || unconstrained(limits.acquire(account(1), takes_form, &mut request)).now_or_never();
                (0..100).map_while(|_| acquire()).map(Result::unwrap).collect::<Vec<_>>()
            };
            let form = "Multipart/Form-Data; boundary=x";
            let reads = all(Method::GET, "", false);
            assert_eq!((reads.len(), all(Method::HEAD, form, true).len()), (half, 0));
            let writes = all(Method::PUT, "application/json", true);
            let expected = if parallel_writes { (half, 0) } else { (100, 100) };
            assert_eq!((writes.len(), all(Method::DELETE, form, false).len()), expected);
            assert_eq!(all(Method::POST, form, true).len(), 4);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_waits_longer_than_the_timeout_is_refused() {
        let limits = PerAccount::new(1);
        let _held = try_acquire(&limits, 1);
        let begun = Instant::now();
        assert!(matches!(limits.acquire(account(1)).await, Err(ApiError::Domain(Error::Unavailable(_)))));
        assert_eq!(begun.elapsed(), QUEUE_TIMEOUT);
    }

    #[tokio::test]
    async fn requests_beyond_the_queue_are_refused() {
        let limits = PerAccount::new(4);
        let _held: Vec<_> = (0..4).map(|_| try_acquire(&limits, 1)).collect();
        let mut waiting: Vec<_> = (0..MAX_WAITING).map(|_| Box::pin(limits.acquire(account(1)))).collect();
        assert!(waiting.iter_mut().all(|waits| waits.now_or_never().is_none()));
        assert!(matches!(limits.acquire(account(1)).await, Err(ApiError::Busy)));
        waiting.pop();
        assert!(limits.acquire(account(1)).now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_cancelled_wait_takes_no_permit_and_the_entry_of_the_account_is_removed_with_its_last_permit() {
        let limits = PerAccount::new(4);
        let held: Vec<_> = (0..4).map(|_| try_acquire(&limits, 1)).collect();
        let mut cancelled = Box::pin(limits.acquire(account(1)));
        assert!((&mut cancelled).now_or_never().is_none());
        drop(held);
        drop(cancelled);
        let held: Vec<_> = (0..100).map_while(|_| try_acquire(&limits, 1)).collect();
        assert_eq!(held.len(), 4);
        drop(held);
        assert_eq!(limits.accounts.len(), 0);
    }
}
