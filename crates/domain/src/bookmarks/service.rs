//! The use cases of bookmarks.

use std::sync::Arc;

use super::BookmarkRepository;
use crate::accounts::Member;
use crate::clock::Clock;
use crate::error::{Error, Resource, Result};
use crate::id::{IdGenerator, PostId, RelationId};
use crate::page::{Page, PageRequest};
use crate::posts::{PostRepository, PostView, VisibleTo};
use crate::relation::NewRelation;

/// Sets, removes and lists bookmarks.
pub struct Bookmarks {
    /// Stores bookmarks.
    pub bookmarks: Arc<dyn BookmarkRepository>,
    /// Stores posts.
    pub posts: Arc<dyn PostRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes the identifiers of bookmarks.
    pub ids: Arc<dyn IdGenerator>,
}

impl Bookmarks {
    /// Bookmarks a post; one that is bookmarked keeps its place in the list.
    ///
    /// # Errors
    /// [`Error::NotFound`] or [`Error::Forbidden`] when the caller may not view the post.
    pub async fn set(&self, caller: &Member, post: PostId) -> Result<()> {
        let access = self.posts.find_access(post, caller.id()).await?;
        access.ok_or(Error::NotFound(Resource::Post))?.ensure_may_view(caller)?;
        let bookmark = NewRelation { id: RelationId::new(self.ids.generate()), at: self.clock.now(), notice: None };
        self.bookmarks.set(post, caller.id(), bookmark).await
    }

    /// Removes the caller's bookmark from a post, whether or not the caller may still view it (`contract`: Posts); nothing
    /// happens when there is none.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is no such post, and when a block separates the caller from its author and there is no
    /// bookmark to remove.
    pub async fn unset(&self, caller: &Member, post: PostId) -> Result<()> {
        let access = self.posts.find_access(post, caller.id()).await?.ok_or(Error::NotFound(Resource::Post))?;
        access.ensure_shown(caller)?;
        if self.bookmarks.unset(post, caller.id()).await? { Ok(()) } else { access.ensure_not_blocked(caller) }
    }

    /// Returns the posts that the caller has bookmarked and may view now, newest bookmark first.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list(&self, caller: &Member, page: PageRequest) -> Result<Page<PostView>> {
        self.bookmarks.list(VisibleTo::of(caller), page).await
    }
}
