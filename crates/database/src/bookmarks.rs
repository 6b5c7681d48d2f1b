//! The repository of bookmarks.

use agora_domain::Result;
use agora_domain::bookmarks::BookmarkRepository;
use agora_domain::id::{PostId, UserId};
use agora_domain::page::{Page, PageRequest};
use agora_domain::posts::{PostView, VisibleTo};
use agora_domain::relation::NewRelation;
use async_trait::async_trait;

use crate::parts::Parts;
use crate::rows::{Slice, keyset, page_of};
use crate::schema::BookmarkRecord;
use crate::sql_types::{DbId, DbInstant};
use crate::values::VisiblePosts;
use crate::{Database, call, part};

#[async_trait]
impl BookmarkRepository for Database {
    async fn set(&self, post: PostId, user: UserId, bookmark: NewRelation) -> Result<()> {
        let (user_id, post_id) = (DbId(user.uuid()), DbId(post.uuid()));
        let (id, created_at) = (DbId(bookmark.id.uuid()), DbInstant(bookmark.at));
        call!(self, write_idempotent bookmarks::set(BookmarkRecord { user_id, post_id, id, created_at }))
    }

    async fn unset(&self, post: PostId, user: UserId) -> Result<bool> {
        call!(self, write bookmarks::unset(DbId(post.uuid()), DbId(user.uuid())))
    }

    async fn list(&self, visible: VisibleTo, page: PageRequest) -> Result<Page<PostView>> {
        let (visible, mut parts) = (VisiblePosts::of(visible), Parts::new(page, Slice::newest_first(page)));
        while let Some((slice, most)) = parts.next() {
            parts.add(part!(self, parts, bookmarks::list(visible, slice, most))?);
        }
        page_of(page, parts.found, |(at, id, view)| Ok((keyset(at, id), view)))
    }
}
