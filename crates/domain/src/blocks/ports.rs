//! What the use cases of blocks and mutes need of an adapter.

use async_trait::async_trait;

use super::{NewBlock, NewMute};
use crate::accounts::Viewer;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::UserId;
use crate::page::{Page, PageRequest};
use crate::people::Person;

/// Keeps who blocks and who mutes whom. Each method is one atomic change or one consistent read, and a read takes a number of
/// queries that does not depend on how many there are.
///
/// Two users of whom one blocks the other are [apart](crate::relation::Standing::Apart). Lists leave out people apart from whom
/// they are shown to, unless that one sees all; timelines, feeds, bookmarks and searches also the posts of people whom that
/// one mutes.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait BlockRepository: Send + Sync {
    /// Has one user block another; one who is blocked already keeps the place in the list. Neither follows the other then, and
    /// neither is told any longer of what the other did.
    ///
    /// MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no user `blocked`, and with
    /// [`TOO_MANY_BLOCKED`](super::TOO_MANY_BLOCKED) when it would be one more than [`MAX_BLOCKED`](super::MAX_BLOCKED).
    async fn block(&self, blocker: UserId, blocked: UserId, block: NewBlock) -> Result<()>;

    /// Takes a block back; returns whether there was one.
    async fn unblock(&self, blocker: UserId, blocked: UserId) -> Result<bool>;

    /// Returns those whom the viewer blocks, newest block first; disabled accounts only if the viewer sees all.
    async fn list_blocked(&self, viewer: Viewer, page: PageRequest) -> Result<Page<Person>>;

    /// Has one user mute another; one who is muted already keeps the place in the list, and gets the new end. The muter is no
    /// longer told of what the other did, and is told of nothing that the other does meanwhile.
    ///
    /// MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no user `muted`, and with
    /// [`TOO_MANY_MUTED`](super::TOO_MANY_MUTED) when it would be one more than [`MAX_MUTED`](super::MAX_MUTED).
    async fn mute(&self, muter: UserId, muted: UserId, mute: NewMute) -> Result<()>;

    /// Takes a mute back; returns whether there was one.
    async fn unmute(&self, muter: UserId, muted: UserId) -> Result<bool>;

    /// Returns those whom the viewer mutes, newest mute first, each with when the mute ends; none apart from the viewer, and
    /// disabled accounts only if the viewer sees all.
    async fn list_muted(&self, viewer: Viewer, page: PageRequest) -> Result<Page<(Person, Option<Timestamp>)>>;

    /// Takes back some of the mutes that have ended by an instant, no more at a time than others can wait for; returns how many,
    /// 0 when none is left.
    async fn end_mutes(&self, now: Timestamp) -> Result<usize>;
}
