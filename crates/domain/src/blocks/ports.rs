//! What the use cases of blocks and mutes need of an adapter.

use async_trait::async_trait;

use super::{NewBlock, NewMute};
use crate::accounts::Viewer;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::UserId;
use crate::page::{Page, PageRequest};
use crate::people::Person;

/// Stores who blocks and who mutes whom. Each method is one atomic change or one consistent read, and the number of queries of
/// a read does not depend on how many blocks and mutes there are.
///
/// A block [separates](crate::relation::Standing::Blocked) two users, whichever of them blocks the other. Lists leave out people
/// whom a block separates from the viewer, unless the viewer sees all. Timelines, feeds, bookmarks and searches also leave out
/// the posts of people whom the viewer mutes.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait BlockRepository: Send + Sync {
    /// Makes one user block another; one who is blocked already keeps the place in the list. This ends the follows between the
    /// two. It removes the notifications that each got of what the other did, and prevents new ones while the block lasts;
    /// notifications of reports are not affected.
    ///
    /// MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no user `blocked`, and with
    /// [`TOO_MANY_BLOCKED`](super::TOO_MANY_BLOCKED) when it would be one more than [`MAX_BLOCKED`](super::MAX_BLOCKED).
    async fn block(&self, blocker: UserId, blocked: UserId, block: NewBlock) -> Result<()>;

    /// Removes a block; returns whether there was one.
    async fn unblock(&self, blocker: UserId, blocked: UserId) -> Result<bool>;

    /// Returns the users whom the viewer blocks, newest block first; disabled accounts only if the viewer sees all.
    async fn list_blocked(&self, viewer: Viewer, page: PageRequest) -> Result<Page<Person>>;

    /// Makes one user mute another; one who is muted already keeps the place in the list, and gets the new end. This removes
    /// the muter's notifications of what the other did, and prevents new ones while the mute lasts.
    ///
    /// MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no user `muted`, and with
    /// [`TOO_MANY_MUTED`](super::TOO_MANY_MUTED) when it would be one more than [`MAX_MUTED`](super::MAX_MUTED).
    async fn mute(&self, muter: UserId, muted: UserId, mute: NewMute) -> Result<()>;

    /// Removes a mute; returns whether there was one.
    async fn unmute(&self, muter: UserId, muted: UserId) -> Result<bool>;

    /// Returns the users whom the viewer mutes, newest mute first, each with the end of the mute, without those whom a
    /// block separates from the viewer; disabled accounts only if the viewer sees all.
    async fn list_muted(&self, viewer: Viewer, page: PageRequest) -> Result<Page<(Person, Option<Timestamp>)>>;

    /// Removes some of the mutes that have ended by an instant, few enough not to hold up other requests; returns how many,
    /// 0 when none is left.
    async fn end_mutes(&self, now: Timestamp) -> Result<usize>;
}
