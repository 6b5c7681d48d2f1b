use agora_domain::Error;
use agora_domain::clock::Timestamp;
use agora_domain::events::Event;
use agora_domain::notices::Notice;
use agora_domain::posts::{EditedPost, FoundPost, Post, PostAccess, PostEdit, PostHiding, PostView};
use agora_domain::relation::Standing;
use agora_domain::search::{IndexedText, Kind};
use diesel::dsl::{case_when, exists, not};
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};

use super::comments::ERASURE_BATCH;
use super::hidden::has_no_hidden;
use super::likes::NO_POST;
pub(crate) use super::likes::{list_likers, retract_like, set_like, unset_like};
use super::texts;
use super::views::{author_followed_by, bookmarked_by, liked_by, view};
use super::{Conn, RunQueryDsl, built, id_in, insert_post, likers, with_likers};
pub(crate) use super::{list_all, list_by_author, toggle_like};
use crate::account_filters::{DbViewer, is_account_deleted, is_blocked};
use crate::error::{Failure, Outcome};
use crate::rows::{AuthorRow, PostRow, StoredVisibility, shown_visibility, visibility};
use crate::schema::{AuditRecord, bookmarks, comment_likes, comments, likes, posts, users};
use crate::search_index::TextRow;
use crate::sql_types::{DbId, DbInstant};
use crate::values::ViewRow;

pub(crate) async fn find(conn: &mut Conn<'_>, id: DbId, viewer: DbViewer) -> Outcome<Option<FoundPost>> {
    let view = posts::table
        .inner_join(users::table)
        .filter(posts::id.eq(id))
        .filter(posts::deleted_at.is_null())
        .filter(not(users::is_deleted))
        .select((is_blocked(viewer, posts::author_id), view!(AuthorRow, viewer)));
    let found: Option<(bool, ViewRow<_, _>)> = built(view).get_result(conn).await.optional()?;
    let Some((is_blocked, found)) = found else { return Ok(None) };
    let standing = Standing::of(found.viewer_follows, is_blocked);
    let view = with_likers(conn, vec![found], viewer, AuthorRow::author).await?.pop();
    Ok(view.map(|view| FoundPost { view, standing }))
}

/// Returns what decides whether the viewer may access a post.
pub(crate) async fn find_access(conn: &mut Conn<'_>, id: DbId, viewer: DbId) -> Outcome<Option<PostAccess>> {
    let there =
        posts::table.find(id).filter(posts::deleted_at.is_null()).filter(not(is_account_deleted(posts::author_id)));
    let is_blocked = is_blocked(DbViewer::ordinary(viewer.0.into()), posts::author_id);
    let visibility = (posts::visibility, posts::hidden_visibility);
    let deciding = there.select((posts::author_id, visibility, author_followed_by(viewer), is_blocked));
    let found: Option<(DbId, StoredVisibility, bool, bool)> = built(deciding).get_result(conn).await.optional()?;
    let access = |(author, (code, hidden), follows, is_blocked): (DbId, _, _, _)| {
        let (id, author, standing) = (id.0.into(), author.0.into(), Standing::of(follows, is_blocked));
        let (visibility, is_hidden) = shown_visibility(code, hidden)?;
        Ok(PostAccess { id, author, visibility, is_hidden, standing })
    };
    found.map(access).transpose()
}

/// Hides a post, or shows it again. Returns the changed post, or `None` if it was hidden, or shown, already.
pub(crate) async fn set_hidden(
    conn: &mut Conn<'_>,
    id: DbId,
    PostHiding { hidden, before, after }: PostHiding,
    entry: AuditRecord,
) -> Outcome<Option<Post>> {
    let post = super::lock_post(conn, id).await?.ok_or(NO_POST)?.post()?;
    if post.is_hidden == hidden {
        return Ok(None);
    }
    if post.attachments != before {
        return Err(Failure::Rule(Error::Stale));
    }
    let post = Post { is_hidden: hidden, attachments: after, ..post };
    super::images::replace_of_post(conn, id, &before, &post.attachments, entry.created_at).await?;
    diesel::update(posts::table.find(id)).set(&PostRow::of(&post)).execute(conn).await?;
    super::record(conn, Event::PostUpdated(post.id)).await?;
    super::audit::record(conn, entry).await?;
    Ok(Some(post))
}

/// The text of a post that is marked as deleted, since a post must not be empty.
const DELETED_TEXT: &str = "-";

/// Deletes a post, or marks it as deleted if many rows belong to it. Returns the post as it was.
pub(crate) async fn delete(conn: &mut Conn<'_>, id: DbId, at: DbInstant) -> Outcome<Post> {
    let row = match delete_at_once(conn, id).await? {
        Some(row) => row,
        None => mark_deleted(conn, id, at).await?,
    };
    let (author, visibility) = (row.author_id.0.into(), visibility(row.visibility)?);
    let post = row.post()?;
    super::images::replace_of_post(conn, id, &post.attachments, &[], at).await?;
    super::record(conn, Event::PostDeleted(id.0.into(), author, visibility)).await?;
    Ok(post)
}

async fn delete_at_once(conn: &mut Conn<'_>, id: DbId) -> Outcome<Option<PostRow>> {
    let has_few = (posts::like_count + posts::comment_count).le(ERASURE_BATCH);
    let bookmark = bookmarks::table.filter(bookmarks::post_id.eq(id)).select(bookmarks::user_id);
    let has_few_bookmarks = not(exists(bookmark.limit(1).offset(ERASURE_BATCH)));
    let of_comments = comment_likes::table.inner_join(comments::table).filter(comments::post_id.eq(id));
    let like = of_comments.select(comment_likes::user_id).limit(1).offset(ERASURE_BATCH);
    // In a CASE, so that PostgreSQL reads likes only if there are few comments: it would read them first.
    let has_few = case_when(has_few.and(has_few_bookmarks), not(exists(like))).otherwise(false);
    // The count of comments does not include hidden ones.
    let has_few = has_few.and(has_no_hidden(id));
    let small = posts::table.find(id).filter(posts::deleted_at.is_null()).filter(has_few);
    Ok(diesel::delete(small).returning(PostRow::as_returning()).get_result(conn).await.optional()?)
}

async fn mark_deleted(conn: &mut Conn<'_>, id: DbId, at: DbInstant) -> Outcome<PostRow> {
    let row = super::lock_post(conn, id).await?.ok_or(NO_POST)?;
    diesel::update(posts::table.find(id))
        .set((
            posts::deleted_at.eq(Some(at)),
            posts::content.eq(DELETED_TEXT),
            posts::image.eq(None::<String>),
            posts::attachments.eq(None::<String>),
        ))
        .execute(conn)
        .await?;
    Ok(row)
}

/// Erases a batch of the rows that belong to the first post marked as deleted. Returns the number of deleted rows.
pub(crate) async fn erase(conn: &mut Conn<'_>) -> Outcome<usize> {
    let marked = posts::table.filter(posts::deleted_at.is_not_null()).order(posts::deleted_at).limit(1);
    let Some(post) = marked.select(posts::id).get_result::<DbId>(conn).await.optional()? else { return Ok(0) };
    erase_post(conn, post).await
}

/// Erases a batch of the rows that belong to a post marked as deleted, and the post in the end. Returns the number of deleted
/// rows.
pub(super) async fn erase_post(conn: &mut Conn<'_>, post: DbId) -> Outcome<usize> {
    let some = comments::table.filter(comments::post_id.eq(post)).limit(ERASURE_BATCH);
    let some: Vec<(DbId, i64)> = some.select((comments::id, comments::like_count)).load(conn).await?;
    if !some.is_empty() {
        // At least 1: there is more to erase even if only likes of a comment were deleted.
        return Ok(super::comments::erase(conn, some).await?.len().max(1));
    }
    let some = likes::table.filter(likes::post_id.eq(post)).limit(ERASURE_BATCH);
    let some: Vec<DbId> = some.select(likes::user_id).load(conn).await?;
    if !some.is_empty() {
        let these = likes::table.filter(likes::post_id.eq(post).and(id_in(likes::user_id, some)));
        // At least 1: if another transaction erased these rows, there may still be more.
        return Ok(diesel::delete(these).execute(conn).await?.max(1));
    }
    let some = bookmarks::table.filter(bookmarks::post_id.eq(post)).limit(ERASURE_BATCH);
    let some: Vec<DbId> = some.select(bookmarks::user_id).load(conn).await?;
    if !some.is_empty() {
        let these = bookmarks::table.filter(bookmarks::post_id.eq(post).and(id_in(bookmarks::user_id, some)));
        return Ok(diesel::delete(these).execute(conn).await?.max(1));
    }
    Ok(diesel::delete(posts::table.find(post)).execute(conn).await?.max(1))
}

/// Stores a post and its notifications. Returns the post as its author sees it.
pub(crate) async fn create(
    conn: &mut Conn<'_>,
    row: PostRow,
    words: IndexedText,
    notices: Vec<Notice>,
) -> Outcome<PostView> {
    let text = TextRow::new(Kind::Post, row.id, row.created_at, &words);
    let author = insert_post(conn, row.clone(), text, notices).await?.author()?;
    let (post, liked_by) = (row.post()?, Vec::new());
    Ok(PostView {
        post,
        author,
        liked_by,
        like_count: 0,
        liked_by_viewer: false,
        comment_count: 0,
        bookmarked_by_viewer: false,
    })
}

/// Applies the domain's rule of editing to the stored post. `words` are those of the new text, if it changes. Returns the post as
/// its author sees it, and the images that it no longer has.
pub(crate) async fn edit(
    conn: &mut Conn<'_>,
    id: DbId,
    viewer: DbViewer,
    edit: PostEdit,
    words: Option<IndexedText>,
    at: Timestamp,
) -> Outcome<EditedPost> {
    let row = super::lock_post(conn, id).await?.ok_or(NO_POST)?;
    let old_content = row.content.clone();
    let before = row.post()?;
    let (edited, replaced_images) = before.clone().apply(&edit, at)?;
    let (has_changed, row) = (edited != before, PostRow::of(&edited));
    super::images::replace_of_post(conn, id, &before.attachments, &edited.attachments, DbInstant(at)).await?;
    diesel::update(posts::table.find(id)).set(&row).execute(conn).await?;
    if let Some(words) = words {
        let words = words.by(edited.author);
        super::indexing::renew(conn, Kind::Post, vec![TextRow::new(Kind::Post, id, row.created_at, &words)]).await?;
    }
    if let Some(entities) = row.entities.filter(|_| row.content != old_content) {
        texts::resolve(conn, id, row.content, entities).await?;
    }
    if has_changed {
        super::record(conn, Event::PostUpdated(id.0.into())).await?;
    }
    let FoundPost { view, .. } = find(conn, id, viewer).await?.ok_or(NO_POST)?;
    Ok(EditedPost { view, replaced_images })
}
