//! The post repository.

use std::sync::Arc;

use agora_domain::accounts::Account;
use agora_domain::clock::Timestamp;
use agora_domain::error::Resource;
use agora_domain::id::{PostId, UserId};
use agora_domain::idempotency::Once;
use agora_domain::page::{Page, PageRequest};
use agora_domain::posts::{
    EditedPost, FeedRequest, FoundPost, Liker, Post, PostAccess, PostEdit, PostRepository, PostView, Visibility,
};
use agora_domain::relation::NewRelation;
use agora_domain::{Error, Result};
use async_trait::async_trait;

use crate::database::{Backend, Database};
use crate::error::Outcome;
use crate::postgres::hot;
use crate::rows::{AuthorRow, PostRow, Slice, UserRow, keyset, page_of};
use crate::sql_types::{DbId, DbInstant};
use crate::values::{LikeRow, PostViewRow, Visible};
use crate::{hot, list, rows, sqlite, write};

impl<R> PostViewRow<R> {
    /// Returns the post, its author made of the columns read.
    pub(crate) fn view<A>(self, author: fn(R) -> Outcome<A>) -> Outcome<PostView<A>> {
        let Self { row, liked_by } = self;
        Ok(PostView {
            liked_by,
            post: row.post.post()?,
            author: author(row.author)?,
            like_count: rows::count(row.like_count),
            liked_by_viewer: row.liked_by_viewer,
            comment_count: rows::count(row.comment_count),
        })
    }
}

fn page_of_views<R, A>(
    page: PageRequest,
    found: Vec<PostViewRow<R>>,
    author: fn(R) -> Outcome<A>,
) -> Result<Page<PostView<A>>> {
    let positioned = found.into_iter().map(|seen| {
        let key = keyset(seen.row.post.created_at, seen.row.post.id);
        Ok((key, seen.view(author)?))
    });
    Ok(page_of(page, positioned.collect::<Result<_>>()?))
}

fn visible_codes(visible: &[Visibility]) -> Visible {
    let code = |n: usize| visible.get(n).or(visible.first()).map_or(-1, |visible| rows::visibility_code(*visible));
    [code(0), code(1), code(2)]
}

fn like_row(post: PostId, user: UserId, like: NewRelation) -> LikeRow {
    LikeRow { post: DbId(post.uuid()), user: DbId(user.uuid()), id: DbId(like.id.uuid()), at: DbInstant(like.at) }
}

const NO_POST: Error = Error::NotFound(Resource::Post);

#[async_trait]
impl PostRepository for Database {
    async fn create(&self, post: &Post, once: Option<Once<PostView>>) -> Result<PostView> {
        let row = PostRow::of(post);
        match &self.backend {
            Backend::Sqlite(database) => {
                let (feeds, made) = (Arc::clone(&self.feeds), row.clone());
                let work =
                    move |conn: &mut sqlite::Conn| sqlite::complete(sqlite::queries::posts::create(conn, row, once));
                let call = self.calls.begin("posts.create");
                call.end(database.write_then(work, move |_| feeds.announce(&made)).await)
            }
            Backend::Postgres(database) if row.image.is_none() && once.is_none() => {
                let call = self.calls.begin("posts.create");
                let made = call.end(hot::posts::create_plain(database, row).await.map_err(Error::from));
                Ok(made?.view(AuthorRow::author)?)
            }
            Backend::Postgres(_) => write!(self, posts::create(row, once)),
        }
    }

    async fn find(&self, id: PostId, viewer: UserId) -> Result<Option<FoundPost>> {
        let found = hot!(self, read posts::find(DbId(id.uuid()), DbId(viewer.uuid())))?;
        let Some(seen) = found else { return Ok(None) };
        let viewer_follows = seen.row.viewer_follows;
        Ok(Some(FoundPost { view: seen.view(AuthorRow::author)?, viewer_follows }))
    }

    async fn find_access(&self, id: PostId, viewer: UserId) -> Result<Option<PostAccess>> {
        let found = hot!(self, read posts::find_access(DbId(id.uuid()), DbId(viewer.uuid())))?;
        Ok(found.map(rows::post_access).transpose()?)
    }

    async fn list_all(&self, viewer: UserId, page: PageRequest) -> Result<Page<PostView<Account>>> {
        let found = list!(self, posts::list_all(DbId(viewer.uuid()), Slice::newest_first(page)))?;
        page_of_views(page, found, UserRow::account)
    }

    async fn list_by_author(
        &self,
        author: UserId,
        visible: &'static [Visibility],
        viewer: UserId,
        page: PageRequest,
    ) -> Result<Page<PostView>> {
        let (author, viewer) = (DbId(author.uuid()), DbId(viewer.uuid()));
        let (visible, slice) = (visible_codes(visible), Slice::newest_first(page));
        let found = hot!(self, list posts::list_by_author(author, visible, viewer, slice))?;
        page_of_views(page, found, AuthorRow::author)
    }

    async fn list_followed(
        &self,
        viewer: UserId,
        visible: &'static [Visibility],
        feed: FeedRequest,
    ) -> Result<Page<PostView>> {
        let (viewer, visible) = (DbId(viewer.uuid()), visible_codes(visible));
        let call = self.calls.begin("posts.list_followed");
        let found = match &self.backend {
            Backend::Sqlite(database) => self.feeds.page(&**database, viewer, visible, feed).await,
            Backend::Postgres(database) => self.feeds.page(&**database, viewer, visible, feed).await,
        };
        page_of_views(feed.page, call.end(found.map_err(Error::from))?, AuthorRow::author)
    }

    async fn edit(&self, id: PostId, edit: &PostEdit, at: Timestamp) -> Result<Option<EditedPost>> {
        let (id, edit) = (DbId(id.uuid()), edit.clone());
        let edited = match &self.backend {
            Backend::Sqlite(database) => {
                // It may be shown to others now.
                let feeds = edit.visibility.map(|_| Arc::clone(&self.feeds));
                let announce = move |edited: &Option<(PostViewRow<AuthorRow>, _)>| {
                    if let (Some(feeds), Some((seen, _))) = (feeds, edited) {
                        feeds.announce(&seen.row.post);
                    }
                };
                let work =
                    move |conn: &mut sqlite::Conn| sqlite::complete(sqlite::queries::posts::edit(conn, id, edit, at));
                let call = self.calls.begin("posts.edit");
                call.end(database.write_then(work, announce).await)
            }
            Backend::Postgres(_) => write!(self, posts::edit(id, edit, at)),
        }?;
        let Some((seen, replaced_image)) = edited else { return Ok(None) };
        Ok(Some(EditedPost { view: seen.view(AuthorRow::author)?, replaced_image }))
    }

    async fn delete(&self, id: PostId, at: Timestamp) -> Result<Option<Post>> {
        let row = write!(self, posts::delete(DbId(id.uuid()), DbInstant(at)))?;
        Ok(row.map(PostRow::post).transpose()?)
    }

    async fn erase_deleted(&self) -> Result<usize> {
        write!(self, posts::erase())
    }

    async fn toggle_like(
        &self,
        post: PostId,
        user: UserId,
        like: NewRelation,
        once: Option<Once<bool>>,
    ) -> Result<bool> {
        let like = like_row(post, user, like);
        match once {
            None => hot!(self, write posts::toggle_like(like)),
            once => write!(self, posts::toggle_like(like, once)),
        }
    }

    async fn set_like(&self, post: PostId, user: UserId, like: NewRelation) -> Result<()> {
        write!(self, posts::set_like(like_row(post, user, like)))
    }

    async fn unset_like(&self, post: PostId, user: UserId) -> Result<()> {
        let known = write!(self, posts::unset_like(DbId(post.uuid()), DbId(user.uuid())))?;
        if known { Ok(()) } else { Err(NO_POST) }
    }

    async fn list_likers(&self, post: PostId, page: PageRequest) -> Result<Page<Liker>> {
        let found = hot!(self, list posts::list_likers(DbId(post.uuid()), Slice::newest_first(page)))?;
        let positioned = found.into_iter().map(|(at, id, row)| Ok((keyset(at, id), row.liker()?)));
        Ok(page_of(page, positioned.collect::<Result<_>>()?))
    }
}
