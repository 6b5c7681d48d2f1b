//! What the follow use cases need of an adapter.

use async_trait::async_trait;

use crate::accounts::UserSummary;
use crate::error::Result;
use crate::id::UserId;
use crate::idempotency::AttemptId;
use crate::page::{Page, PageRequest};
use crate::relation::NewRelation;

/// Keeps who follows whom. Each method is one atomic change or one consistent read.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait FollowRepository: Send + Sync {
    /// Returns whether `follower` follows `followed`; `None` when there is no user `followed`.
    async fn is_following(&self, follower: UserId, followed: UserId) -> Result<Option<bool>>;

    /// Turns the relation on if it is off and off if it is on; returns whether it is on now. Any number of concurrent
    /// toggles MUST end in the state of their parity, none failing.
    ///
    /// This and the next two MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no user
    /// `followed`; this and the next one with [`TOO_MANY_FOLLOWED`](super::TOO_MANY_FOLLOWED) when the relation would be
    /// one more than [`MAX_FOLLOWED`](super::MAX_FOLLOWED) of the follower, however many are turned on at once.
    async fn toggle(
        &self,
        follower: UserId,
        followed: UserId,
        relation: NewRelation,
        attempt: Option<AttemptId>,
    ) -> Result<bool>;

    /// Turns the relation on; nothing happens when it is.
    async fn set(&self, follower: UserId, followed: UserId, relation: NewRelation) -> Result<()>;

    /// Turns the relation off; nothing happens when it is.
    async fn unset(&self, follower: UserId, followed: UserId) -> Result<()>;

    /// Returns those who follow a user, newest relation first.
    async fn list_followers(&self, user: UserId, page: PageRequest) -> Result<Page<UserSummary>>;

    /// Returns those whom a user follows, newest relation first.
    async fn list_followed(&self, user: UserId, page: PageRequest) -> Result<Page<UserSummary>>;
}
