use std::collections::HashSet;

use agora_domain::Error;
use agora_domain::comments::{CommentAccess, CommentTarget, Deletion};
use agora_domain::error::Resource;
use agora_domain::events::Event;
use agora_domain::notices::{Notice, NotificationKind};
use agora_domain::posts::PostAccess;
use agora_domain::relation::Standing;
use diesel::dsl::{auto_type, case_when, exists, not};
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};

use super::hidden::{comment_shown_to, hidden_thread};
pub(crate) use super::insert_comment as insert;
use super::likes::NO_POST;
use super::timelines::shown_rows;
use super::views::author_followed_by;
use super::{Conn, RunQueryDsl, built, id_in, notices};
use crate::account_filters::{DbViewer, is_account_deleted, is_blocked, is_user_blocked_or_deleted};
use crate::error::{Failure, Outcome};
use crate::notices::Gathered;
use crate::prepared::prepared;
use crate::rows::{After, CommentRow, FlatCommentRow, PreviewRow, Slice, SummaryRow, shown_visibility};
use crate::schema::{AuditRecord, CommentLikeRecord, comment_likes, comments, posts, users};
use crate::sql_types::{DbId, DbInstant};
use crate::values::ThreadedRow;

/// The maximum number of likes and comments, of bookmarks and of likes of comments that are deleted with their post in one write;
/// and the number of rows that one write erases. Longer writes would delay others.
pub(super) const ERASURE_BATCH: i64 = 500;

const NO_COMMENT: Failure = Failure::Rule(Error::NotFound(Resource::Comment));

/// Returns what decides whether `caller` may access a comment; `None` if it does not exist, or its post is deleted.
pub(crate) async fn find_access(
    conn: &mut Conn<'_>,
    target: CommentTarget,
    caller: DbId,
) -> Outcome<Option<CommentAccess>> {
    let viewer = DbViewer::ordinary(caller.0.into());
    let there = comments::table.inner_join(posts::table).filter(posts::deleted_at.is_null());
    let there = there
        .filter(not(is_account_deleted(posts::author_id)).and(not(is_account_deleted(comments::author_id))))
        .select((
            (comments::id, comments::author_id, comments::parent_id, is_blocked(viewer, comments::author_id)),
            (comments::is_hidden, hidden_thread()),
            (
                posts::id,
                posts::author_id,
                posts::visibility,
                posts::hidden_visibility,
                author_followed_by(caller),
                is_blocked(viewer, posts::author_id),
            ),
        ));
    let found = match target {
        CommentTarget::Comment(id) => there.filter(comments::id.eq(DbId(id.uuid()))).get_result(conn),
        CommentTarget::NewestOn(post) => there
            .filter(comments::post_id.eq(DbId(post.uuid())).and(comments::author_id.eq(caller)))
            .order((comments::created_at.desc(), comments::id.desc()))
            .limit(1)
            .get_result(conn),
    };
    type OfPost = (DbId, DbId, i16, Option<i16>, bool, bool);
    type Deciding = ((DbId, DbId, Option<DbId>, bool), (bool, Option<DbId>), OfPost);
    let found: Option<Deciding> = found.await.optional()?;
    let access = |((id, author, parent, is_blocked), (is_hidden, hidden_thread), of_post): Deciding| {
        let (post, post_author, code, hidden, follows, is_post_author_blocked) = of_post;
        let (visibility, is_post_hidden) = shown_visibility(code, hidden)?;
        let post = PostAccess {
            id: post.0.into(),
            author: post_author.0.into(),
            visibility,
            is_hidden: is_post_hidden,
            standing: Standing::of(follows, is_post_author_blocked),
        };
        Ok(CommentAccess {
            id: id.0.into(),
            author: author.0.into(),
            parent: parent.map(|parent| parent.0.into()),
            standing: Standing::of(false, is_blocked),
            is_hidden,
            hidden_thread: hidden_thread.map(|author| author.0.into()),
            post,
        })
    };
    found.map(access).transpose()
}

/// Stores a reply to a comment, and updates the counts.
pub(crate) async fn insert_reply(conn: &mut Conn<'_>, row: CommentRow, notices: Vec<Notice>) -> Outcome<()> {
    // Locks the post first, as a deletion of its comments does: from here on, no comment of it can be deleted.
    let post = posts::table.find(row.post_id).filter(posts::deleted_at.is_null());
    let counted = diesel::update(post).set(posts::comment_count.eq(posts::comment_count + 1));
    let counted = prepared(counted).execute(conn).await?;
    if counted == 0 {
        return Err(NO_POST);
    }
    let (Some(parent), Some(answered)) = (row.parent_id, row.reply_to_id) else { return Err(NO_COMMENT) };
    let thread = comments::table.find(parent).filter(comments::post_id.eq(row.post_id));
    let thread = thread.filter(comments::parent_id.is_null()).filter(not(comments::is_hidden));
    let counted = diesel::update(thread).set(comments::reply_count.eq(comments::reply_count + 1));
    let counted = prepared(counted).execute(conn).await?;
    let is_in_thread = comments::table.find(answered).filter(comments::parent_id.eq(parent));
    let is_in_thread = is_in_thread.filter(not(comments::is_hidden));
    if counted == 0 || answered != parent && !diesel::select(exists(is_in_thread)).get_result::<bool>(conn).await? {
        return Err(NO_COMMENT);
    }
    let event = Event::Commented(row.post_id.0.into(), row.id.0.into(), row.author_id.0.into());
    diesel::insert_into(comments::table).values(row).execute(conn).await?;
    super::record(conn, event).await?;
    notices::notify(conn, &notices).await
}

pub(crate) async fn update(
    conn: &mut Conn<'_>,
    id: DbId,
    content: String,
    entities: String,
    at: DbInstant,
) -> Outcome<()> {
    // Locks the post first, as a deletion does: the second update of the comment makes the database check that the post exists.
    super::lock_counters_of(conn, id).await?;
    let updated = diesel::update(comments::table.find(id).filter(not(comments::is_hidden)))
        .set((comments::content.eq(content), comments::updated_at.eq(at)))
        .execute(conn)
        .await?;
    if updated == 0 {
        return Err(NO_COMMENT);
    }
    // Stored after the text, since a trigger resets the entities of a changed text.
    diesel::update(comments::table.find(id)).set(comments::entities.eq(Some(entities))).execute(conn).await?;
    Ok(())
}

/// Hides a comment, or shows it again, and updates the counts of visible comments.
pub(crate) async fn set_hidden(conn: &mut Conn<'_>, id: DbId, hidden: bool, entry: AuditRecord) -> Outcome<()> {
    // Locks the post first, so that nobody replies or deletes meanwhile.
    super::lock_counters_of(conn, id).await?;
    if !is_there(conn, id).await? {
        return Err(NO_COMMENT);
    }
    let found = comments::table.find(id);
    let found = found.select((comments::post_id, comments::parent_id, comments::reply_count, hidden_thread()));
    let found = found.get_result(conn).await.optional()?;
    let (post, parent, reply_count, hidden_thread): (DbId, Option<DbId>, i64, Option<DbId>) =
        found.ok_or(NO_COMMENT)?;
    let other = comments::table.find(id).filter(comments::is_hidden.ne(hidden));
    if diesel::update(other).set(comments::is_hidden.eq(hidden)).execute(conn).await? == 0 {
        return Ok(());
    }
    let shown = if hidden { -1 } else { 1 };
    if let Some(thread) = parent {
        let count = comments::reply_count.eq(comments::reply_count + shown);
        diesel::update(comments::table.find(thread)).set(count).execute(conn).await?;
    }
    if hidden_thread.is_none() {
        // The replies of a thread are hidden with its top comment; a reply has no replies itself.
        let count = posts::comment_count.eq(posts::comment_count + shown * (1 + reply_count));
        diesel::update(posts::table.find(post)).set(count).execute(conn).await?;
    }
    super::audit::record(conn, entry).await
}

/// Deletes a batch of a comment's thread, and the comment itself with the last batch.
pub(crate) async fn delete(conn: &mut Conn<'_>, id: DbId) -> Outcome<Deletion> {
    // Locks the post first, so that nobody replies meanwhile.
    super::lock_counters_of(conn, id).await?;
    let erasable = (comments::id, comments::like_count, comments::is_hidden);
    let found = comments::table.find(id).select((comments::post_id, comments::parent_id, hidden_thread(), erasable));
    let found = found.get_result(conn).await.optional()?;
    type Found = (DbId, Option<DbId>, Option<DbId>, (DbId, i64, bool));
    let (post, parent, hidden_thread, top): Found = found.ok_or(NO_COMMENT)?;
    let (.., is_hidden) = top;
    let replies = comments::table.filter(comments::parent_id.eq(id)).limit(ERASURE_BATCH);
    let mut rows: Vec<(DbId, i64, bool)> = replies.select(erasable).load(conn).await?;
    rows.push(top);
    let erased = erase(conn, rows.iter().map(|(id, likes, _)| (*id, *likes)).collect()).await?;
    let is_done = erased.contains(&id);
    // Hidden comments were not counted.
    let erased: HashSet<DbId> = erased.into_iter().collect();
    let shown = rows.iter().filter(|(id, _, is_hidden)| !is_hidden && erased.contains(id)).count();
    let count = i64::try_from(shown).unwrap_or(i64::MAX);
    let is_thread_hidden = hidden_thread.is_some() || parent.is_none() && is_hidden;
    if !is_thread_hidden {
        diesel::update(posts::table.find(post))
            .set(posts::comment_count.eq(posts::comment_count - count))
            .execute(conn)
            .await?;
    }
    let (thread, replies) = if is_done { (parent, i64::from(!is_hidden)) } else { (Some(id), count) };
    if let Some(thread) = thread {
        diesel::update(comments::table.find(thread))
            .set(comments::reply_count.eq(comments::reply_count - replies))
            .execute(conn)
            .await?;
    }
    Ok(if is_done { Deletion::Done } else { Deletion::InPart })
}

/// Deletes as many of some comments, from the first on, as fit into a batch together with their likes. If the first comment alone
/// has too many likes, it deletes a batch of these instead. Each comment is given with its number of likes. Returns the ids of
/// the deleted comments.
pub(super) async fn erase(conn: &mut Conn<'_>, rows: Vec<(DbId, i64)>) -> Outcome<Vec<DbId>> {
    let [(first, _), ..] = rows[..] else { return Ok(Vec::new()) };
    let mut count = 0;
    let few = rows.into_iter().take_while(|(_, likes)| {
        count += 1 + likes;
        count <= ERASURE_BATCH
    });
    let few: Vec<DbId> = few.map(|(id, _)| id).collect();
    if few.is_empty() {
        super::lock_comment(conn, first).await?;
        let some = comment_likes::table.filter(comment_likes::comment_id.eq(first)).limit(ERASURE_BATCH);
        let some: Vec<DbId> = some.select(comment_likes::user_id).load(conn).await?;
        let some = comment_likes::table
            .filter(comment_likes::comment_id.eq(first))
            .filter(id_in(comment_likes::user_id, some));
        let deleted = diesel::delete(some).execute(conn).await?;
        count_likes(conn, first, -i64::try_from(deleted).unwrap_or(i64::MAX)).await?;
        return Ok(few);
    }
    let deleted = diesel::delete(comments::table.filter(id_in(comments::id, few)));
    Ok(deleted.returning(comments::id).load(conn).await?)
}

async fn is_there(conn: &mut Conn<'_>, id: DbId) -> Outcome<bool> {
    let on_post = comments::table.inner_join(posts::table).filter(posts::deleted_at.is_null());
    Ok(diesel::select(exists(on_post.filter(comments::id.eq(id)))).get_result(conn).await?)
}

/// Adds to a comment's count of likes.
async fn count_likes(conn: &mut Conn<'_>, id: DbId, likes: i64) -> Outcome<()> {
    let counted = diesel::update(comments::table.find(id)).set(comments::like_count.eq(comments::like_count + likes));
    prepared(counted).execute(conn).await?;
    Ok(())
}

pub(crate) async fn set_like(conn: &mut Conn<'_>, like: CommentLikeRecord, notice: Option<Notice>) -> Outcome<()> {
    let (id, like_id) = (like.comment_id, like.id);
    super::lock_comment(conn, id).await?;
    if !is_there(conn, id).await? {
        return Err(NO_COMMENT);
    }
    let inserted = diesel::insert_into(comment_likes::table)
        .values(like)
        .on_conflict((comment_likes::comment_id, comment_likes::user_id))
        .do_nothing()
        .execute(conn)
        .await
        .map_err(Failure::missing(Resource::Comment))?;
    if inserted > 0 {
        count_likes(conn, id, 1).await?;
        super::gather(conn, like_id, notice).await?;
    }
    Ok(())
}

pub(crate) async fn unset_like(conn: &mut Conn<'_>, id: DbId, user: DbId) -> Outcome<bool> {
    super::lock_comment(conn, id).await?;
    if !is_there(conn, id).await? {
        return Err(NO_COMMENT);
    }
    let of_user = comment_likes::table.find((id, user));
    let deleted = diesel::delete(of_user).returning((comment_likes::id, comment_likes::created_at));
    let deleted: Option<(DbId, DbInstant)> = deleted.get_result(conn).await.optional()?;
    if let Some((like, made)) = deleted {
        count_likes(conn, id, -1).await?;
        super::withdraw(conn, Gathered::new(NotificationKind::CommentLike, id, made), like, user).await?;
    }
    Ok(deleted.is_some())
}

/// Returns a slice of the likes of a comment: the time and id of each, then the user.
pub(crate) async fn list_likers(
    conn: &mut Conn<'_>,
    id: DbId,
    viewer: DbViewer,
    slice: Slice,
) -> Outcome<Vec<(DbInstant, DbId, PreviewRow)>> {
    let of_comment = comment_likes::table.inner_join(users::table).filter(comment_likes::comment_id.eq(id));
    let of_comment = of_comment.filter(not(is_user_blocked_or_deleted(viewer))).select((
        comment_likes::created_at,
        comment_likes::id,
        PreviewRow::as_select(),
    ));
    Ok(super::load!(of_comment, comment_likes, slice, conn)?)
}

/// The condition that the viewer likes a comment. A scalar subquery for each comment: with EXISTS, PostgreSQL may read everything
/// that the viewer likes.
#[auto_type]
fn liked_by(viewer: DbId) -> _ {
    let like = comment_likes::table.filter(comment_likes::comment_id.eq(comments::id));
    let liker = like.filter(comment_likes::user_id.eq(viewer)).select(comment_likes::user_id);
    case_when(comments::like_count.gt(0_i64), liker.single_value().is_not_null()).otherwise(false)
}

/// The columns of a [`ThreadedRow`] as `viewer` sees it.
macro_rules! threaded {
    ($viewer:expr) => {
        (
            CommentRow::as_select(),
            PreviewRow::as_select(),
            comments::reply_count,
            comments::like_count,
            liked_by($viewer),
        )
    };
}

pub(crate) async fn find(conn: &mut Conn<'_>, id: DbId, viewer: DbId) -> Outcome<Option<ThreadedRow>> {
    let found = comments::table.inner_join(users::table).filter(comments::id.eq(id));
    let found = found.filter(not(users::is_deleted)).select(threaded!(viewer));
    Ok(built(found).get_result(conn).await.optional()?)
}

/// Returns the comments of a part of a list that are shown to a viewer, at most `$most`, and where the next part begins.
macro_rules! threaded_part {
    ($comments:expr, $viewer:expr, $slice:expr, $most:expr, $conn:expr) => {{
        let is_shown = not(is_user_blocked_or_deleted($viewer)).and(comment_shown_to($viewer));
        let rows = comments::table.inner_join(users::table).filter($comments).select((is_shown, threaded!($viewer.id)));
        let rows: Vec<(bool, ThreadedRow)> = super::load!(rows, comments, $slice, $conn)?;
        Ok(shown_rows(rows, |row| row.after(), $slice, $most))
    }};
}

/// Returns at most `most` of the top-level comments of a post in a slice, and where the next part begins.
pub(crate) async fn list_top_level(
    conn: &mut Conn<'_>,
    post: DbId,
    viewer: DbViewer,
    slice: Slice,
    most: usize,
) -> Outcome<(Vec<ThreadedRow>, Option<After>)> {
    let top_level = comments::post_id.eq(post).and(comments::parent_id.is_null());
    threaded_part!(top_level, viewer, slice, most, conn)
}

/// Returns at most `most` of the replies of a thread in a slice, and where the next part begins.
pub(crate) async fn list_replies(
    conn: &mut Conn<'_>,
    thread: DbId,
    viewer: DbViewer,
    slice: Slice,
    most: usize,
) -> Outcome<(Vec<ThreadedRow>, Option<After>)> {
    threaded_part!(comments::parent_id.eq(thread), viewer, slice, most, conn)
}

/// Returns at most `most` of all comments on a post in a slice, and where the next part begins.
pub(crate) async fn list(
    conn: &mut Conn<'_>,
    post: DbId,
    viewer: DbViewer,
    slice: Slice,
    most: usize,
) -> Outcome<(Vec<(FlatCommentRow, SummaryRow)>, Option<After>)> {
    let rows = super::list_comments(conn, post, viewer, slice).await?;
    let rows = rows.into_iter().map(|(is_shown, row, author)| (is_shown, (row, author))).collect();
    Ok(shown_rows(rows, |(row, _)| After(row.created_at, row.id), slice, most))
}
