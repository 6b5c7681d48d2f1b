//! How many reads of one account are worked on at once.

use std::sync::Arc;

use agora_domain::id::UserId;
use tokio::sync::Semaphore;

use super::shares::{Share, Shares};
use crate::error::ApiError;

/// How many reads of one account are worked on at once, at least.
const AT_LEAST: usize = 4;

/// How many more of them wait; one more is refused.
const WAITING: usize = 128;

/// Has the reads of one account take turns: as many are worked on at once as there are threads that serve requests, and
/// others wait, in the order in which they came. So whoever asks much at once waits for the own requests, and the requests
/// of others do not stand behind all of them.
///
/// What an account writes needs none: there are bounds for what is dear of it, and what it sends may be long on its way.
pub(crate) struct Turns {
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
    /// Creates the turns for so many threads.
    pub(crate) fn new(workers: usize) -> Self {
        Self { at_once: workers.clamp(AT_LEAST, Semaphore::MAX_PERMITS), accounts: Arc::default() }
    }

    /// Waits for a turn of this account.
    ///
    /// # Errors
    /// [`ApiError::Busy`] when too many of its reads wait.
    pub(crate) async fn acquire(&self, account: UserId) -> Result<Turn, ApiError> {
        let make = || Account { turns: Semaphore::new(self.at_once), line: Semaphore::new(WAITING) };
        let share = self.accounts.of(account, make);
        let turn = match share.turns.try_acquire() {
            Ok(turn) => turn,
            Err(_) => {
                let _in_line = share.line.try_acquire().map_err(|_| ApiError::Busy)?;
                // It is never closed.
                share.turns.acquire().await.map_err(|_| ApiError::Busy)?
            }
        };
        turn.forget();
        Ok(Turn(Arc::clone(&share)))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.turns.add_permits(1);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::task::unconstrained;
    use uuid::Uuid;

    use super::*;

    fn account(n: u128) -> UserId {
        UserId::new(Uuid::from_u128(n))
    }

    fn at_once(turns: &Turns, n: u128) -> Option<Turn> {
        unconstrained(turns.acquire(account(n))).now_or_never().map(Result::unwrap)
    }

    #[tokio::test]
    async fn the_reads_of_an_account_wait_for_their_own_alone() {
        for (workers, expected) in [(1, 4), (6, 6)] {
            let turns = Turns::new(workers);
            let mut held: Vec<_> = (0..100).map_while(|_| at_once(&turns, 1)).collect();
            assert_eq!(held.len(), expected);
            assert!(at_once(&turns, 2).is_some());
            let mut waits = Box::pin(turns.acquire(account(1)));
            assert!((&mut waits).now_or_never().is_none());
            held.pop();
            assert!(at_once(&turns, 1).is_none(), "whoever waits is first");
            held.push(waits.await.unwrap());
            assert!(at_once(&turns, 1).is_none());
        }
    }

    #[tokio::test]
    async fn beyond_a_line_of_its_own_they_are_refused() {
        let turns = Turns::new(1);
        let _held: Vec<_> = (0..4).map(|_| at_once(&turns, 1)).collect();
        let mut line: Vec<_> = (0..WAITING).map(|_| Box::pin(turns.acquire(account(1)))).collect();
        assert!(line.iter_mut().all(|waits| waits.now_or_never().is_none()));
        assert!(matches!(turns.acquire(account(1)).await, Err(ApiError::Busy)));
        line.pop();
        assert!(turns.acquire(account(1)).now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_turn_that_is_given_up_is_there_for_others_and_nothing_is_kept() {
        let turns = Turns::new(1);
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
