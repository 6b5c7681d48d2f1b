//! The ports of live updates.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Delivery, EndReason, LoggedEvent, Position};
use crate::error::Result;
use crate::id::{CommentId, PostId, UserId};
use crate::posts::Visibility;

/// The events of the last five minutes, of all nodes, in one order.
///
/// The repositories append an [`Event`](super::Event) in the transaction of the change:
///
/// | change | event |
/// |---|---|
/// | a post is stored | [`Event::PostCreated`](super::Event::PostCreated) |
/// | a post is edited | [`Event::PostUpdated`](super::Event::PostUpdated) |
/// | a post is deleted | [`Event::PostDeleted`](super::Event::PostDeleted) |
/// | a comment or a reply is stored | [`Event::Commented`](super::Event::Commented) |
/// | a like of a post is added or removed | [`Event::Liked`](super::Event::Liked) |
/// | a notification is stored, or another actor is added to it | [`Event::Notified`](super::Event::Notified) |
///
/// A call that changes nothing appends no event. If one transaction committed before another began, its event comes first. Once
/// an event was read, it has the same number on every node until it is dropped.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait EventLog: Send + Sync {
    /// Reads the events that any node committed before this call. Those that another node is numbering at this moment may be left
    /// for the next call.
    async fn refresh(&self) -> Result<()>;

    /// Drops events that are past their retention.
    async fn trim(&self) -> Result<()>;

    /// Returns the position after the last event that [`refresh`](Self::refresh) has read.
    fn end(&self) -> Position;

    /// Returns the next events after a position, at most `most`; `None` when the log no longer has all events after it, or
    /// when the position is not on this log.
    fn after(&self, position: Position, most: usize) -> Option<Vec<LoggedEvent>>;
}

/// The state of a post that decides who may receive its events, and what they contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostState {
    /// The post.
    pub id: PostId,
    /// Who wrote it.
    pub author: UserId,
    /// Whether the author's account is enabled.
    pub is_author_enabled: bool,
    /// Who may view it.
    pub visibility: Visibility,
    /// Whether an administrator has hidden it.
    pub is_hidden: bool,
    /// How many users like it.
    pub like_count: u64,
}

/// The state of a comment that, together with its post, decides who may receive its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommentState {
    /// The comment.
    pub id: CommentId,
    /// Who wrote it.
    pub author: UserId,
    /// The comment at the top of its thread; `None` if it is at the top itself.
    pub parent: Option<CommentId>,
    /// Whether an administrator has hidden it.
    pub is_hidden: bool,
    /// The author of the comment at the top of its thread, if that is a different comment and is hidden.
    pub hidden_thread: Option<UserId>,
}

/// Looks up what decides who may receive events. The number of queries of a method does not depend on the number of ids.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait EventAudience: Send + Sync {
    /// Returns the states of those of the posts that exist.
    async fn find_posts(&self, ids: Vec<PostId>) -> Result<Vec<PostState>>;

    /// Returns the states of those of the comments that exist.
    async fn find_comments(&self, ids: Vec<CommentId>) -> Result<Vec<CommentState>>;

    /// Returns the pairs of a user and one of the others where either [blocks](crate::relation::Standing::Blocked) the other: the
    /// user, then the other.
    async fn find_blocks(&self, users: Vec<UserId>, others: Vec<UserId>) -> Result<Vec<(UserId, UserId)>>;

    /// Returns the pairs of a user who mutes one of the others: muter, then muted.
    async fn find_mutes(&self, muters: Vec<UserId>, muted: Vec<UserId>) -> Result<Vec<(UserId, UserId)>>;

    /// Returns the pairs of a user who follows one of the others: follower, then followed.
    async fn find_follows(&self, followers: Vec<UserId>, followed: Vec<UserId>) -> Result<Vec<(UserId, UserId)>>;
}

/// The sending half of a stream: passes messages to one listener. MUST NOT wait for it.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait Outlet: Send + Sync {
    /// Queues a message; returns `false` if the queue is full.
    fn send(&self, delivery: Arc<Delivery>) -> bool;

    /// Ends the stream after the queued messages.
    fn end(&self, reason: EndReason);
}
