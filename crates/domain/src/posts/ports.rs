//! The port of the post use cases.

use async_trait::async_trait;

use super::{Liker, Post, PostAccess, PostEdit, PostView, Visibility, VisibleTo};
use crate::accounts::{Account, Viewer};
use crate::audit::AuditEntry;
use crate::clock::Timestamp;
use crate::entities::Hashtag;
use crate::error::Result;
use crate::id::{PostId, UserId};
use crate::idempotency::AttemptId;
use crate::media::{Attachment, ImageKey};
use crate::notices::Notice;
use crate::page::{Page, PageRequest};
use crate::relation::{NewRelation, Standing};

/// A post as its viewer sees it, with the relation that decides whether they may view it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPost {
    /// The post.
    pub view: PostView,
    /// The viewer's relation to the author.
    pub standing: Standing,
}

impl FoundPost {
    /// Returns the facts that decide what the viewer may do with the post.
    pub fn access(&self) -> PostAccess {
        let Post { id, author, visibility, is_hidden, .. } = self.view.post;
        PostAccess { id, author, visibility, is_hidden, standing: self.standing }
    }
}

/// A request for a page of a following feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedRequest {
    /// Restricts the feed to posts made before this instant; `None` for all posts. It holds for every page of the feed, in
    /// whichever direction the client pages.
    pub created_before: Option<Timestamp>,
    /// The page of the feed.
    pub page: PageRequest,
}

/// A post after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedPost {
    /// The post after the edit.
    pub view: PostView,
    /// The images that no row references any more.
    pub replaced_images: Vec<ImageKey>,
}

/// A request to hide a post or to show it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostHiding {
    /// Whether the post becomes hidden; otherwise it is shown again.
    pub hidden: bool,
    /// The images that the post has now.
    pub before: Vec<Attachment>,
    /// The images that replace them.
    pub after: Vec<Attachment>,
}

/// Stores posts and their likes.
///
/// Each method is one atomic change or one consistent read. The number of queries of a read does not depend on how many
/// posts, likes or follows there are.
///
/// A change that adds images to a post or removes some MUST also update [`UnreferencedImages`](crate::media::UnreferencedImages),
/// as documented there.
///
/// Lists of posts are sorted newest first: by [`Post::created_at`], then by id, both descending. Lists over all or several
/// authors, except [`list_all`](Self::list_all), leave out those whom the viewer mutes and, unless the viewer sees everything,
/// those separated from the viewer by a [block](Standing::Blocked). Lists of likers leave out the latter, with the same
/// exception.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait PostRepository: Send + Sync {
    /// Stores a new post with its notices, and returns it as its author sees it.
    async fn create(&self, post: &Post, notices: &[Notice], attempt: Option<AttemptId>) -> Result<PostView>;

    /// Returns the post as `viewer` sees it, without checking whether they may; `None` when there is none.
    async fn find(&self, id: PostId, viewer: Viewer) -> Result<Option<FoundPost>>;

    /// Returns the facts that decide what `viewer` may do with the post; `None` when there is no such post.
    async fn find_access(&self, id: PostId, viewer: UserId) -> Result<Option<PostAccess>>;

    /// Returns all posts of all authors, for an administrator: mutes and blocks do not apply.
    async fn list_all(&self, viewer: Viewer, page: PageRequest) -> Result<Page<PostView<Account>>>;

    /// Returns the posts of `author` with one of these visibilities.
    async fn list_by_author(
        &self,
        author: UserId,
        visible: &'static [Visibility],
        viewer: Viewer,
        page: PageRequest,
    ) -> Result<Page<PostView>>;

    /// Returns the PUBLIC posts of all authors whose account is enabled.
    async fn list_public(&self, viewer: Viewer, page: PageRequest) -> Result<Page<PostView>>;

    /// Returns the posts with one of these visibilities whose author `viewer` follows and does not mute.
    async fn list_followed(
        &self,
        viewer: Viewer,
        visible: &'static [Visibility],
        feed: FeedRequest,
    ) -> Result<Page<PostView>>;

    /// Returns the posts with a hashtag that pass the filter `visible` and whose authors are enabled.
    async fn list_by_tag(&self, tag: &Hashtag, visible: VisibleTo, page: PageRequest) -> Result<Page<PostView>>;

    /// Applies [`Post::apply`] to the stored post and returns it as its author sees it.
    ///
    /// This and [`set_hidden`](Self::set_hidden) MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no such
    /// post.
    async fn edit(&self, id: PostId, viewer: Viewer, edit: &PostEdit, at: Timestamp) -> Result<EditedPost>;

    /// Hides a post, or shows it again, and records `entry`; returns whether that changed anything. MUST fail with
    /// [`Error::Stale`](crate::Error::Stale) when the images of the post are not [`PostHiding::before`].
    async fn set_hidden(&self, id: PostId, hiding: &PostHiding, entry: &AuditEntry) -> Result<bool>;

    /// Deletes a post with its likes and comments; returns it as it was. When this returns, no read or change finds the post any
    /// more. If there is much to erase, the rows may be left to [`erase_deleted`](Self::erase_deleted).
    async fn delete(&self, id: PostId, at: Timestamp) -> Result<Post>;

    /// Erases a batch of the remaining rows of deleted posts, small enough not to hold up other requests; returns the number
    /// of rows erased, 0 when none are left.
    async fn erase_deleted(&self) -> Result<usize>;

    /// Toggles the like of `user`; returns whether it is on now. Concurrent toggles MUST all succeed and each take effect, so
    /// that an even number of them leaves the like as it was.
    ///
    /// This, [`set_like`](Self::set_like) and [`unset_like`](Self::unset_like) MUST fail with
    /// [`Error::NotFound`](crate::Error::NotFound) when there is no such post.
    async fn toggle_like(
        &self,
        post: PostId,
        user: UserId,
        like: NewRelation,
        attempt: Option<AttemptId>,
    ) -> Result<bool>;

    /// Turns the like of `user` on; has no effect if it is on already.
    async fn set_like(&self, post: PostId, user: UserId, like: NewRelation) -> Result<()>;

    /// Turns the like of `user` off; returns whether it was on.
    async fn unset_like(&self, post: PostId, user: UserId) -> Result<bool>;

    /// Turns the like of `user` off. If it is off already, this MUST fail with [`Error::NotFound`](crate::Error::NotFound) and
    /// store no outcome for `attempt`.
    async fn retract_like(&self, post: PostId, user: UserId, attempt: Option<AttemptId>) -> Result<()>;

    /// Returns the users who like a post, newest like first.
    async fn list_likers(&self, post: PostId, viewer: Viewer, page: PageRequest) -> Result<Page<Liker>>;
}
