//! What live updates need of adapters.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Delivery, EndReason, LoggedEvent, Position};
use crate::error::Result;
use crate::id::{CommentId, PostId, UserId};
use crate::posts::Visibility;

/// The events of the last five minutes, of all nodes, in one order.
///
/// The repositories put an [`Event`](super::Event) there in the transaction of the change that it tells of:
///
/// | change | event |
/// |---|---|
/// | a post is stored | [`Event::PostCreated`](super::Event::PostCreated) |
/// | a post is edited | [`Event::PostUpdated`](super::Event::PostUpdated) |
/// | a post is deleted | [`Event::PostDeleted`](super::Event::PostDeleted) |
/// | a comment is stored, a reply as well | [`Event::Commented`](super::Event::Commented) |
/// | a like of a post is made or taken back | [`Event::Liked`](super::Event::Liked) |
/// | a notification is stored, or comes to tell of one more who acts | [`Event::Notified`](super::Event::Notified) |
///
/// What changes nothing puts none there. Of two events of which one was committed before the other began, the first one
/// stands first. An event that was read at one place is at that place for every node, until it is dropped.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait EventLog: Send + Sync {
    /// Takes in what was committed, by any node, until this is called; what another node is putting in order at this moment may
    /// be left for the next call.
    async fn refresh(&self) -> Result<()>;

    /// Drops what is older than it has to be.
    async fn trim(&self) -> Result<()>;

    /// Returns the end of what was taken in.
    fn end(&self) -> Position;

    /// Returns the next events after a place, so many at most; `None` when the log does not have all that came after it.
    fn after(&self, position: Position, most: usize) -> Option<Vec<LoggedEvent>>;
}

/// What decides who may be told of a post, and what there is to tell.
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
    /// How many like it.
    pub like_count: u64,
}

/// What decides who may be told of a comment, besides its post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommentState {
    /// The comment.
    pub id: CommentId,
    /// Who wrote it.
    pub author: UserId,
    /// The comment at the top of its thread; `None` of that one itself.
    pub parent: Option<CommentId>,
    /// Whether an administrator has hidden it.
    pub is_hidden: bool,
    /// Who wrote the comment at the top of its thread, where that is another one and hidden.
    pub hidden_thread: Option<UserId>,
}

/// Tells what many listeners may be told, with a number of queries that does not depend on how many there are.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait EventAudience: Send + Sync {
    /// Returns the state of some posts, of those that are there.
    async fn find_posts(&self, ids: Vec<PostId>) -> Result<Vec<PostState>>;

    /// Returns the state of some comments, of those that are there.
    async fn find_comments(&self, ids: Vec<CommentId>) -> Result<Vec<CommentState>>;

    /// Returns which of some users are [apart](crate::relation::Standing::Apart) from which of some others: the user, then the
    /// other.
    async fn find_apart(&self, users: Vec<UserId>, others: Vec<UserId>) -> Result<Vec<(UserId, UserId)>>;

    /// Returns which of some users mute which of some others: muter, then muted.
    async fn find_mutes(&self, muters: Vec<UserId>, muted: Vec<UserId>) -> Result<Vec<(UserId, UserId)>>;

    /// Returns which of some users follow which of some others: follower, then followed.
    async fn find_follows(&self, followers: Vec<UserId>, followed: Vec<UserId>) -> Result<Vec<(UserId, UserId)>>;
}

/// Takes what a listener is told to the listener. MUST NOT wait for it.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait Outlet: Send + Sync {
    /// Hands a message over; returns whether there was room for it.
    fn send(&self, delivery: Arc<Delivery>) -> bool;

    /// Ends the stream behind what was handed over.
    fn end(&self, reason: EndReason);
}
