//! What the post use cases need of an adapter.

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

/// A post as its viewer sees it, with what decides whether they may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPost {
    /// The post.
    pub view: PostView,
    /// Whether the viewer follows the author.
    pub standing: Standing,
}

impl FoundPost {
    /// Returns what decides who may do what with it.
    pub fn access(&self) -> PostAccess {
        let Post { id, author, visibility, is_hidden, .. } = self.view.post;
        PostAccess { id, author, visibility, is_hidden, standing: self.standing }
    }
}

/// Which part of a following feed is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedRequest {
    /// The feed is that of the posts made before this instant; of all without one. No page holds another post, in
    /// whichever direction it was reached.
    pub made_before: Option<Timestamp>,
    /// The page of it.
    pub page: PageRequest,
}

/// A post after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedPost {
    /// The post now.
    pub view: PostView,
    /// The images that no row names any more.
    pub replaced_images: Vec<ImageKey>,
}

/// A change of whether a post is hidden.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostHiding {
    /// Whether it is from now on.
    pub hidden: bool,
    /// The images that the post has.
    pub before: Vec<Attachment>,
    /// Those that take their place.
    pub after: Vec<Attachment>,
}

/// Keeps posts and their likes. Each method is one atomic change or one consistent read, and a read takes a number of
/// queries that does not depend on how many posts, likes or follows there are.
///
/// A change that gives a post an image, or takes one from it, is one of [`UnreferencedImages`](crate::media::UnreferencedImages)
/// as well, as said there.
///
/// Lists of posts run newest first: by [`Post::created_at`], then by id, both descending. Those of all authors, or of several,
/// have no post of anybody [apart](Standing::Apart) from the viewer, unless the viewer sees all, and none of anybody whom the
/// viewer mutes. Lists of likers have nobody apart from the viewer, unless the viewer sees all.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait PostRepository: Send + Sync {
    /// Stores a new post, with who is told of it, and returns it as its author sees it.
    async fn create(&self, post: &Post, notices: &[Notice], attempt: Option<AttemptId>) -> Result<PostView>;

    /// Returns the post as `viewer` sees it, whether or not they may; `None` when there is none.
    async fn find(&self, id: PostId, viewer: Viewer) -> Result<Option<FoundPost>>;

    /// Returns what decides about the rights of `viewer`; `None` when there is no such post.
    async fn find_access(&self, id: PostId, viewer: UserId) -> Result<Option<PostAccess>>;

    /// Returns all posts of all authors.
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

    /// Returns the posts with a hashtag that are visible to somebody and whose authors are enabled.
    async fn list_by_tag(&self, tag: &Hashtag, visible: VisibleTo, page: PageRequest) -> Result<Page<PostView>>;

    /// Applies [`Post::apply`] to the stored post and returns it as its author sees it.
    ///
    /// This and the next one MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no such post.
    async fn edit(&self, id: PostId, viewer: Viewer, edit: &PostEdit, at: Timestamp) -> Result<EditedPost>;

    /// Hides a post, or shows it again, and records `entry`; returns whether the post was not hidden, or shown, already. MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no such
    /// post, and with [`Error::Stale`](crate::Error::Stale) when it has other images.
    async fn set_hidden(&self, id: PostId, hiding: &PostHiding, entry: &AuditEntry) -> Result<bool>;

    /// Deletes a post with its likes and comments; returns it as it was. It is gone from every read and for every
    /// change when this returns; where there is much to erase, that may be left to
    /// [`erase_deleted`](Self::erase_deleted).
    async fn delete(&self, id: PostId, at: Timestamp) -> Result<Post>;

    /// Erases some of what is left of deleted posts, no more at a time than others can wait for; returns how many rows,
    /// 0 when nothing is left.
    async fn erase_deleted(&self) -> Result<usize>;

    /// Turns the like of `user` on if it is off and off if it is on; returns whether it is on now. Any number of
    /// concurrent toggles MUST end in the state of their parity, none failing.
    ///
    /// This and the next two MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no such post.
    async fn toggle_like(
        &self,
        post: PostId,
        user: UserId,
        like: NewRelation,
        attempt: Option<AttemptId>,
    ) -> Result<bool>;

    /// Turns the like of `user` on; nothing happens when it is.
    async fn set_like(&self, post: PostId, user: UserId, like: NewRelation) -> Result<()>;

    /// Turns the like of `user` off; returns whether it was on.
    async fn unset_like(&self, post: PostId, user: UserId) -> Result<bool>;

    /// Turns the like of `user` off. MUST fail with [`Error::NotFound`](crate::Error::NotFound), and store no outcome, where it is off.
    async fn take_back_like(&self, post: PostId, user: UserId, attempt: Option<AttemptId>) -> Result<()>;

    /// Returns those who like a post, newest like first.
    async fn list_likers(&self, post: PostId, viewer: Viewer, page: PageRequest) -> Result<Page<Liker>>;
}
