//! The post repository.

use std::sync::Arc;

use agora_domain::Result;
use agora_domain::accounts::{Account, Viewer};
use agora_domain::audit::AuditEntry;
use agora_domain::clock::Timestamp;
use agora_domain::entities::Hashtag;
use agora_domain::id::{PostId, UserId};
use agora_domain::idempotency::{AttemptId, Outcome};
use agora_domain::notices::Notice;
use agora_domain::page::{Keyset, Page, PageRequest};
use agora_domain::posts::{
    EditedPost, FeedRequest, FoundPost, Liker, Post, PostAccess, PostEdit, PostHiding, PostRepository, PostView,
    Visibility, VisibleTo,
};
use agora_domain::relation::NewRelation;
use agora_domain::search::IndexedText;
use async_trait::async_trait;

use crate::account_filters::DbViewer;
use crate::database::Database;
use crate::parts::Parts;
use crate::rows::{PostRow, Slice, keyset, page_of};
use crate::schema::{AuditRecord, LikeRecord};
use crate::sql_types::{DbId, DbInstant};
use crate::values::{VisiblePosts, visible_codes};
use crate::{call, once, part};

fn page_of_views<A>(page: PageRequest, views: Vec<PostView<A>>) -> Page<PostView<A>> {
    page.page_of(views, |PostView { post, .. }| Keyset { at: post.created_at, id: post.id.uuid() })
}

fn like_record(post: PostId, user: UserId, like: NewRelation) -> LikeRecord {
    let (post_id, user_id) = (DbId(post.uuid()), DbId(user.uuid()));
    LikeRecord { post_id, user_id, id: DbId(like.id.uuid()), created_at: DbInstant(like.at) }
}

#[async_trait]
impl PostRepository for Database {
    async fn create(&self, post: &Post, notices: &[Notice], attempt: Option<AttemptId>) -> Result<PostView> {
        let (id, row, feeds) = (post.id, PostRow::of(post), Arc::clone(&self.feeds));
        let (words, notices) = (IndexedText::of_post(&post.text).by(post.author), notices.to_vec());
        once!(self, attempt, statement posts::create(row, words, notices), did given => Outcome::PostCreated(id),
            then move |view| feeds.announce(&view.post))
    }

    async fn find(&self, id: PostId, viewer: Viewer) -> Result<Option<FoundPost>> {
        call!(self, read posts::find(DbId(id.uuid()), DbViewer::of(viewer)))
    }

    async fn find_access(&self, id: PostId, viewer: UserId) -> Result<Option<PostAccess>> {
        call!(self, read posts::find_access(DbId(id.uuid()), DbId(viewer.uuid())))
    }

    async fn list_all(&self, viewer: Viewer, page: PageRequest) -> Result<Page<PostView<Account>>> {
        let found = call!(self, list posts::list_all(DbViewer::of(viewer), Slice::newest_first(page)))?;
        Ok(page_of_views(page, found))
    }

    async fn list_by_author(
        &self,
        author: UserId,
        visible: &'static [Visibility],
        viewer: Viewer,
        page: PageRequest,
    ) -> Result<Page<PostView>> {
        let (author, viewer) = (DbId(author.uuid()), DbViewer::of(viewer));
        let (visible, slice) = (visible_codes(visible), Slice::newest_first(page));
        let found = call!(self, list posts::list_by_author(author, visible, viewer, slice))?;
        Ok(page_of_views(page, found))
    }

    async fn list_public(&self, viewer: Viewer, page: PageRequest) -> Result<Page<PostView>> {
        let viewer = DbViewer::of(viewer);
        let mut parts = Parts::new(page, Slice::newest_first(page));
        while let Some((slice, most)) = parts.next() {
            parts.add(part!(self, parts, timelines::list_public(viewer, slice, most))?);
        }
        Ok(page_of_views(page, parts.found))
    }

    async fn list_followed(
        &self,
        viewer: Viewer,
        visible: &'static [Visibility],
        feed: FeedRequest,
    ) -> Result<Page<PostView>> {
        let (viewer, visible) = (DbViewer::of(viewer), visible_codes(visible));
        let call = self.calls.begin("posts.list_followed");
        let found = call.end(self.feeds.page(&self.backend, viewer, visible, feed).await)?;
        Ok(page_of_views(feed.page, found))
    }

    async fn list_by_tag(&self, tag: &Hashtag, visible: VisibleTo, page: PageRequest) -> Result<Page<PostView>> {
        let (visible, mut parts) = (VisiblePosts::of(visible), Parts::new(page, Slice::newest_first(page)));
        while let Some((slice, most)) = parts.next() {
            let tag = tag.as_str().to_owned();
            parts.add(part!(self, parts, timelines::list_by_tag(tag, visible, slice, most))?);
        }
        Ok(page_of_views(page, parts.found))
    }

    async fn edit(&self, id: PostId, viewer: Viewer, edit: &PostEdit, at: Timestamp) -> Result<EditedPost> {
        let (id, viewer) = (DbId(id.uuid()), DbViewer::of(viewer));
        let (edit, words) = (edit.clone(), edit.text.as_ref().map(IndexedText::of_post));
        // The post may now be visible to more people.
        let feeds = edit.visibility.map(|_| Arc::clone(&self.feeds));
        call!(self, write posts::edit(id, viewer, edit, words, at), then move |edited| {
            if let Some(feeds) = feeds {
                feeds.announce(&edited.view.post);
            }
        })
    }

    async fn set_hidden(&self, id: PostId, hiding: &PostHiding, entry: &AuditEntry) -> Result<bool> {
        let (hiding, entry, feeds) = (hiding.clone(), AuditRecord::of(entry), Arc::clone(&self.feeds));
        let changed = call!(self, write posts::set_hidden(DbId(id.uuid()), hiding, entry), then move |post| {
            // The post may now be visible to more people.
            if let Some(post) = post.as_ref().filter(|post| !post.is_hidden) {
                feeds.announce(post);
            }
        })?;
        Ok(changed.is_some())
    }

    async fn delete(&self, id: PostId, at: Timestamp) -> Result<Post> {
        call!(self, write posts::delete(DbId(id.uuid()), DbInstant(at)))
    }

    async fn erase_deleted(&self) -> Result<usize> {
        call!(self, write posts::erase())
    }

    async fn toggle_like(
        &self,
        post: PostId,
        user: UserId,
        like: NewRelation,
        attempt: Option<AttemptId>,
    ) -> Result<bool> {
        let (notice, like) = (like.notice, like_record(post, user, like));
        once!(self, attempt, statement posts::toggle_like(like, notice), did likes => Outcome::LikeToggled(likes),
            at post.uuid())
    }

    async fn set_like(&self, post: PostId, user: UserId, like: NewRelation) -> Result<()> {
        let (notice, like) = (like.notice, like_record(post, user, like));
        call!(self, write_idempotent posts::set_like(like, notice), at post.uuid())
    }

    async fn unset_like(&self, post: PostId, user: UserId) -> Result<bool> {
        call!(self, write posts::unset_like(DbId(post.uuid()), DbId(user.uuid())), at post.uuid())
    }

    async fn retract_like(&self, post: PostId, user: UserId, attempt: Option<AttemptId>) -> Result<()> {
        let (row, post, user) = (post.uuid(), DbId(post.uuid()), DbId(user.uuid()));
        once!(self, attempt, write posts::retract_like(post, user), did given => Outcome::LikeToggled(false), at row)
    }

    async fn list_likers(&self, post: PostId, viewer: Viewer, page: PageRequest) -> Result<Page<Liker>> {
        let (post, viewer, slice) = (DbId(post.uuid()), DbViewer::of(viewer), Slice::newest_first(page));
        let found = call!(self, list posts::list_likers(post, viewer, slice))?;
        page_of(page, found, |(at, id, row)| Ok((keyset(at, id), row.liker()?)))
    }
}
