//! What the use cases of bookmarks need of an adapter.

use async_trait::async_trait;

use crate::error::Result;
use crate::id::{PostId, UserId};
use crate::page::{Page, PageRequest};
use crate::posts::{PostView, VisibleTo};
use crate::relation::NewRelation;

/// Stores bookmarks. Each method is one atomic change or one consistent read, and the number of queries of a read does not
/// depend on how many bookmarks there are.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait BookmarkRepository: Send + Sync {
    /// Sets the bookmark of `user` on a post; one that is set stays as it is.
    ///
    /// This and the next one MUST fail with [`Error::NotFound`](crate::Error::NotFound) when there is no such post.
    async fn set(&self, post: PostId, user: UserId, bookmark: NewRelation) -> Result<()>;

    /// Removes the bookmark of `user` from a post; returns whether there was one.
    async fn unset(&self, post: PostId, user: UserId) -> Result<bool>;

    /// Returns the bookmarked posts of the viewer that are visible, newest bookmark first, without posts of users whom the
    /// viewer mutes.
    async fn list(&self, visible: VisibleTo, page: PageRequest) -> Result<Page<PostView>>;
}
