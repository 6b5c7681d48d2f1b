//! How many requests of one account are worked on at once.

use std::{sync::Arc, time::Duration};

use actix_web::{
    dev::ServiceRequest,
    http::header::{self, HeaderValue},
};
use agora_domain::{Error, id::UserId};
use tokio::{sync::Semaphore, time::timeout};

use super::shares::{Share, Shares};
use crate::error::ApiError;

/// How many reads of one account are worked on at once, at least.
const FEWEST_READS: usize = 2;

/// How many uploads of one account are worked on at once.
const UPLOADS: usize = 4;

/// How many more of each wait; one more is refused.
const WAITING: usize = 128;

/// How long one of them waits.
const PATIENCE: Duration = Duration::from_secs(15);

/// Whose turn it is among the requests of one account.
///
/// As many reads of one account are worked on at once as there are threads that serve requests, and some of its uploads;
/// others wait, in the order in which they came. So whoever asks much at once waits for the own requests, and the requests
/// of others do not stand behind all of them. An upload waits before its body is read. What else an account writes is
/// small, and needs no turn.
pub(crate) struct AccountTurns {
    reads: Turns,
    uploads: Turns,
}

impl AccountTurns {
    /// Creates the turns for so many threads.
    pub(crate) fn new(workers: usize) -> Self {
        Self { reads: Turns::new(workers.max(FEWEST_READS)), uploads: Turns::new(UPLOADS) }
    }

    /// Waits for the turn of a request of this account, if it needs one.
    ///
    /// # Errors
    /// [`ApiError::Busy`] when too many of its requests wait, [`Error::Unavailable`] when those before take long.
    pub(crate) async fn acquire(&self, account: UserId, request: &ServiceRequest) -> Result<Option<Turn>, ApiError> {
        let content_type = request.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
        let is_form = |value: &[u8]| value.get(..FORM.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(FORM));
        if request.method().is_safe() {
            self.reads.acquire(account).await.map(Some)
        } else if content_type.is_some_and(is_form) {
            self.uploads.acquire(account).await.map(Some)
        } else {
            Ok(None)
        }
    }
}

/// What an upload comes as.
const FORM: &[u8] = b"multipart/";

/// Lets so many requests of each account through at once.
struct Turns {
    at_once: usize,
    accounts: Arc<Shares<UserId, Account>>,
}

#[derive(Debug)]
struct Account {
    turns: Semaphore,
    line: Semaphore,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn(Arc<Share<UserId, Account>>);

impl Turns {
    fn new(at_once: usize) -> Self {
        Self { at_once: at_once.min(Semaphore::MAX_PERMITS), accounts: Arc::default() }
    }

    async fn acquire(&self, account: UserId) -> Result<Turn, ApiError> {
        let make = || Account { turns: Semaphore::new(self.at_once), line: Semaphore::new(WAITING) };
        let share = self.accounts.of(account, make);
        let turn = match share.turns.try_acquire() {
            Ok(turn) => turn,
            Err(_) => {
                let _in_line = share.line.try_acquire().map_err(|_| ApiError::Busy)?;
                let acquired = timeout(PATIENCE, share.turns.acquire()).await;
                // It is never closed.
                acquired.map_err(|_| late())?.map_err(|_| ApiError::Busy)?
            }
        };
        turn.forget();
        Ok(Turn(Arc::clone(&share)))
    }
}

fn late() -> Error {
    Error::unavailable("the requests of the account before this one took too long")
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.turns.add_permits(1);
    }
}

#[cfg(test)]
mod tests {
    use actix_web::{http::Method, test::TestRequest};
    use futures_util::FutureExt;
    use tokio::{task::unconstrained, time::Instant};
    use uuid::Uuid;

    use super::*;

    fn account(n: u128) -> UserId {
        UserId::new(Uuid::from_u128(n))
    }

    fn at_once(turns: &Turns, n: u128) -> Option<Turn> {
        unconstrained(turns.acquire(account(n))).now_or_never().map(Result::unwrap)
    }

    #[tokio::test]
    async fn the_requests_of_an_account_wait_for_their_own_alone() {
        let turns = Turns::new(4);
        let mut held: Vec<_> = (0..100).map_while(|_| at_once(&turns, 1)).collect();
        assert_eq!(held.len(), 4);
        assert!(at_once(&turns, 2).is_some());
        let mut waits = Box::pin(turns.acquire(account(1)));
        assert!((&mut waits).now_or_never().is_none());
        held.pop();
        assert!(at_once(&turns, 1).is_none(), "whoever waits is first");
        held.push(waits.await.unwrap());
        assert!(at_once(&turns, 1).is_none());
    }

    #[tokio::test]
    async fn reads_and_uploads_take_turns_and_nothing_else_does() {
        for (workers, reads) in [(1, 2), (6, 6)] {
            let turns = AccountTurns::new(workers);
            let count = |method: Method, content_type: &str| {
                let request = TestRequest::with_uri("/").method(method).insert_header(("content-type", content_type));
                let request = request.to_srv_request();
                let acquire = || unconstrained(turns.acquire(account(1), &request)).now_or_never();
                (0..100).map_while(|_| acquire()).map(Result::unwrap).collect::<Vec<_>>().len()
            };
            assert_eq!(count(Method::GET, ""), reads);
            assert_eq!(count(Method::HEAD, ""), reads);
            assert_eq!(count(Method::POST, "Multipart/Form-Data; boundary=x"), 4);
            assert_eq!(count(Method::PUT, "application/json"), 100);
            assert_eq!(count(Method::DELETE, ""), 100);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_has_waited_for_long_is_refused() {
        let turns = Turns::new(1);
        let _held = at_once(&turns, 1);
        let begun = Instant::now();
        assert!(matches!(turns.acquire(account(1)).await, Err(ApiError::Domain(Error::Unavailable(_)))));
        assert_eq!(begun.elapsed(), PATIENCE);
    }

    #[tokio::test]
    async fn beyond_a_line_of_its_own_they_are_refused() {
        let turns = Turns::new(4);
        let _held: Vec<_> = (0..4).map(|_| at_once(&turns, 1)).collect();
        let mut line: Vec<_> = (0..WAITING).map(|_| Box::pin(turns.acquire(account(1)))).collect();
        assert!(line.iter_mut().all(|waits| waits.now_or_never().is_none()));
        assert!(matches!(turns.acquire(account(1)).await, Err(ApiError::Busy)));
        line.pop();
        assert!(turns.acquire(account(1)).now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_turn_that_is_given_up_is_there_for_others_and_nothing_is_kept() {
        let turns = Turns::new(4);
        let held: Vec<_> = (0..4).map(|_| at_once(&turns, 1)).collect();
        let mut given_up = Box::pin(turns.acquire(account(1)));
        assert!((&mut given_up).now_or_never().is_none());
        drop(held);
        drop(given_up);
        let held: Vec<_> = (0..100).map_while(|_| at_once(&turns, 1)).collect();
        assert_eq!(held.len(), 4);
        drop(held);
        assert_eq!(turns.accounts.count(), 0);
    }
}
