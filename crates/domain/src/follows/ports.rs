//! What the follow use cases need of an adapter.

use async_trait::async_trait;

use crate::accounts::{UserSummary, Viewer};
use crate::error::Result;
use crate::id::UserId;
use crate::idempotency::AttemptId;
use crate::page::{Page, PageRequest};
use crate::relation::{NewRelation, Standing};

/// Keeps who follows whom. Each method is one atomic change or one consistent read.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait FollowRepository: Send + Sync {
    /// Returns how a viewer stands to another user; `None` when there is no such user.
    async fn find_standing(&self, viewer: UserId, other: UserId) -> Result<Option<Standing>>;

    /// Turns the relation on if it is off and off if it is on; returns whether it is on now. Any number of concurrent
    /// toggles MUST end in the state of their parity, none failing.
    ///
    /// This and the next two MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no user
    /// `followed`, or one [apart](Standing::Apart) from the follower; this and the next one with [`TOO_MANY_FOLLOWED`](super::TOO_MANY_FOLLOWED) when the relation would be
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

    /// Turns the relation off; nothing happens when it is. Nobody follows whom a block keeps apart.
    async fn unset(&self, follower: UserId, followed: UserId) -> Result<()>;

    /// Returns those who follow a user, newest relation first. People apart from the viewer are left out of this and the next
    /// one, unless the viewer sees all.
    async fn list_followers(&self, user: UserId, viewer: Viewer, page: PageRequest) -> Result<Page<UserSummary>>;

    /// Returns those whom a user follows, newest relation first.
    async fn list_followed(&self, user: UserId, viewer: Viewer, page: PageRequest) -> Result<Page<UserSummary>>;
}
