//! What the follow use cases need of an adapter.

use async_trait::async_trait;

use crate::accounts::{UserSummary, Viewer};
use crate::error::Result;
use crate::id::UserId;
use crate::idempotency::AttemptId;
use crate::page::{Page, PageRequest};
use crate::relation::{NewRelation, Standing};

/// Stores who follows whom. Each method is one atomic change or one consistent read.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait FollowRepository: Send + Sync {
    /// Returns the standing of a viewer to another user; `None` when there is no such user.
    async fn find_standing(&self, viewer: UserId, other: UserId) -> Result<Option<Standing>>;

    /// Turns the relation on if it is off and off if it is on; returns whether it is on now. After any number of concurrent
    /// toggles, none of which fails, the state MUST be that of their parity.
    ///
    /// This and the next two MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no user `followed`, or
    /// a [block](Standing::Blocked) separates the two. This and the next one MUST fail with
    /// [`TOO_MANY_FOLLOWED`](super::TOO_MANY_FOLLOWED) when the follower would follow more than
    /// [`MAX_FOLLOWED`](super::MAX_FOLLOWED) users, however many relations are turned on concurrently.
    async fn toggle(
        &self,
        follower: UserId,
        followed: UserId,
        relation: NewRelation,
        attempt: Option<AttemptId>,
    ) -> Result<bool>;

    /// Turns the relation on; nothing happens when it is on already.
    async fn set(&self, follower: UserId, followed: UserId, relation: NewRelation) -> Result<()>;

    /// Turns the relation off; nothing happens when it is off already. A relation across a block is always off.
    async fn unset(&self, follower: UserId, followed: UserId) -> Result<()>;

    /// Returns the followers of a user, newest relation first. This and the next list leave out people whom a block
    /// separates from the viewer, unless the viewer sees all.
    async fn list_followers(&self, user: UserId, viewer: Viewer, page: PageRequest) -> Result<Page<UserSummary>>;

    /// Returns the users whom a user follows, newest relation first.
    async fn list_followed(&self, user: UserId, viewer: Viewer, page: PageRequest) -> Result<Page<UserSummary>>;
}
