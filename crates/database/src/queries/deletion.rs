//! Deletion of accounts, which takes effect at once, and the erasure of their data, batch by batch.

use std::collections::BTreeMap;

use agora_domain::accounts::ConfirmedPassword;
use agora_domain::comments::Deletion;
use agora_domain::deletion::{Erased, ErasurePosition, NAMES_KEPT_MILLIS};
use agora_domain::notices::NotificationKind;
use agora_domain::page::Keyset;
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl};

use super::accounts::{lock_confirmed, revoke_sessions};
use super::comments::ERASURE_BATCH;
use super::kept_names::{Name, reserve};
use super::{Conn, RunQueryDsl, built, comments as all_comments, id_in, images, notices, posts as all_posts};
use crate::error::Outcome;
use crate::notices::Gathered;
use crate::rows::{Slice, Toward, count};
use crate::schema::{
    ErasureRecord, blocks, bookmarks, comment_likes, comments, erasures, follows, idempotency, likes, mail_tokens,
    mails, mutes, notifications, posts, reports, sessions, users,
};
use crate::sql_types::{DbId, DbInstant};

/// The number of comments, likes of comments or follows deleted in one transaction. Each takes several statements.
const ACTIVITY_BATCH: usize = 20;

/// The number of likes deleted in one transaction.
const LIKE_BATCH: usize = 100;

/// Deletes an account: it disappears for everybody, however much data belongs to it. Returns its picture, which is no longer in
/// use.
pub(crate) async fn delete(conn: &mut Conn<'_>, account: ConfirmedPassword, at: DbInstant) -> Outcome<Option<String>> {
    let id = DbId(account.user.uuid());
    super::lock_admins(conn, id).await?;
    super::lock_whole_user(conn, id).await?;
    let row = lock_confirmed(conn, account).await?;
    let others = users::table.filter(users::is_admin.and(users::enabled.eq(true)).and(users::id.ne(id))).count();
    let others = count(others.get_result(conn).await?);
    let picture = row.picture.profile_picture.clone();
    let account = row.account()?;
    account.ensure_deletable(others)?;
    // Keys have no capital letters, so that nobody can ever refer to the account by this name.
    let nobody = format!("DELETED {}", id.0);
    diesel::update(users::table.find(id))
        .set((
            (users::username.eq(nobody.clone()), users::username_key.eq(nobody.clone())),
            (users::email.eq(nobody.clone()), users::email_key.eq(nobody), users::email_verified.eq(false)),
            (users::password_hash.eq(""), users::display_name.eq(None::<String>), users::biography.eq(None::<String>)),
            (users::profile_picture.eq(None::<String>), users::small_picture.eq(None::<String>)),
            (users::is_admin.eq(false), users::is_user.eq(false), users::enabled.eq(false)),
            (users::discoverable.eq(false), users::searchable.eq(false)),
        ))
        .execute(conn)
        .await?;
    diesel::insert_into(erasures::table).values(ErasureRecord { user_id: id, deleted_at: at }).execute(conn).await?;
    let kept_until = DbInstant(at.0.plus_millis(NAMES_KEPT_MILLIS));
    let (username, email) = (account.username.key(), account.email.key());
    for name in [Name::Username(&username), Name::Email(&email)] {
        reserve(conn, name, kept_until).await?;
    }
    revoke_sessions(conn, id, None, at).await?;
    diesel::delete(mail_tokens::table.filter(mail_tokens::user_id.eq(id))).execute(conn).await?;
    diesel::delete(mails::table.filter(mails::user_id.eq(id))).execute(conn).await?;
    images::replace(conn, picture.as_deref().as_slice(), &[], at).await?;
    Ok(picture)
}

/// Returns the account deleted first among those whose erasure is not complete.
pub(crate) async fn next_unerased(conn: &mut Conn<'_>) -> Outcome<Option<DbId>> {
    let first = erasures::table.order((erasures::deleted_at, erasures::user_id)).select(erasures::user_id).limit(1);
    Ok(first.get_result(conn).await.optional()?)
}

/// Deletes a batch of the rows of a table that belong to an account, found by a column of keys. If there were any, returns their
/// number from the calling function.
macro_rules! delete_batch {
    ($conn:expr, $table:ident, $owner:expr, $key:expr) => {{
        let some: Vec<DbId> = $table::table.filter($owner).select($key).limit(ERASURE_BATCH).load($conn).await?;
        if !some.is_empty() {
            let these = $table::table.filter($owner).filter(id_in($key, some));
            let count = diesel::delete(these).execute($conn).await?;
            return Ok(Some(count));
        }
    }};
}

/// The kinds of data of which an account may have very many, in the order of erasure: its posts by visibility, then those marked
/// as deleted, and its activity on what belongs to others, which appears in counts and notifications.
const STEPS: [Step; 8] = [
    Step::Posts(0),
    Step::Posts(1),
    Step::Posts(2),
    Step::MarkedPosts,
    Step::Comments,
    Step::Likes,
    Step::CommentLikes,
    Step::Follows,
];

#[derive(Debug, Clone, Copy)]
enum Step {
    Posts(i16),
    MarkedPosts,
    Comments,
    Likes,
    CommentLikes,
    Follows,
}

/// Erases a batch of the data of a deleted account, and the account itself in the end.
///
/// It continues after the position of the previous batch: PostgreSQL would otherwise read over all deleted rows each time until
/// it vacuums them.
pub(crate) async fn erase(conn: &mut Conn<'_>, user: DbId, from: ErasurePosition, at: DbInstant) -> Outcome<Erased> {
    // From here on, rows that another node still lets the account write are either committed or will never be.
    super::lock_whole_user(conn, user).await?;
    for (number, step) in (0..).zip(STEPS).skip(from.step.into()) {
        let after = from.after.filter(|_| number == from.step);
        let erased = step.erase_batch(conn, user, after, at).await?;
        if erased.count > 0 {
            return Ok(Erased { next: ErasurePosition { step: number, ..erased.next }, ..erased });
        }
    }
    if let Some(count) = erase_rest(conn, user).await? {
        let next = ErasurePosition { step: u8::try_from(STEPS.len()).unwrap_or(u8::MAX), after: None };
        return Ok(Erased { count, next, ..Erased::default() });
    }
    if from != ErasurePosition::default() {
        return Ok(Erased::default());
    }
    let count = diesel::delete(users::table.find(user)).execute(conn).await?;
    Ok(Erased { count, is_done: true, ..Erased::default() })
}

/// Erases a batch of the remaining data: rows of which an account has a bounded number, and rows that other accounts look up.
/// Returns the number of rows, or `None` if nothing is left.
async fn erase_rest(conn: &mut Conn<'_>, user: DbId) -> Outcome<Option<usize>> {
    delete_batch!(conn, follows, follows::followed_id.eq(user), follows::follower_id);
    delete_batch!(conn, bookmarks, bookmarks::user_id.eq(user), bookmarks::post_id);
    delete_batch!(conn, blocks, blocks::user_id.eq(user), blocks::other_id);
    delete_batch!(conn, blocks, blocks::other_id.eq(user), blocks::user_id);
    delete_batch!(conn, mutes, mutes::muter_id.eq(user), mutes::muted_id);
    delete_batch!(conn, mutes, mutes::muted_id.eq(user), mutes::muter_id);
    delete_batch!(conn, sessions, sessions::user_id.eq(user), sessions::id);
    delete_batch!(conn, reports, reports::reporter_id.eq(user), reports::id);
    let of_user = idempotency::caller.eq(user).and(idempotency::outcome.is_not_null());
    delete_batch!(conn, idempotency, of_user, idempotency::attempt);
    delete_batch!(conn, notifications, notifications::actor_id.eq(user), notifications::id);
    let count = super::notifications::delete_of(conn, user).await?;
    Ok((count > 0).then_some(count))
}

/// Loads the keys of a batch of an account's rows after a position, with the time and id of each; and the position of the last.
macro_rules! load_batch_after {
    ($conn:expr, $table:ident, $owner:expr, $key:expr, $after:expr, $most:expr) => {{
        let rows = $table::table.filter($owner).select(($key, $table::created_at, $table::id));
        let slice = Slice::new(Toward::Newer, $after, $most);
        let rows: Vec<(_, DbInstant, DbId)> = super::load!(rows, $table, slice, $conn)?;
        let last = rows.last().map(|(_, at, id)| Keyset { at: at.0, id: id.0 });
        (rows, last)
    }};
}

/// Returns the result of a batch that erased `count` things up to a position.
fn progress(count: usize, after: Option<Keyset>) -> Erased {
    Erased { count, next: ErasurePosition { step: 0, after }, ..Erased::default() }
}

impl Step {
    /// Erases a batch of this kind of data after a position.
    async fn erase_batch(
        self,
        conn: &mut Conn<'_>,
        user: DbId,
        after: Option<Keyset>,
        at: DbInstant,
    ) -> Outcome<Erased> {
        match self {
            Self::Posts(visibility) => {
                let shown = posts::author_id.eq(user).and(posts::visibility.eq(visibility));
                let shown = shown.and(posts::deleted_at.is_null());
                // One post per batch: with its likes and comments it is a large write already.
                let (some, last): (Vec<(DbId, _, _)>, _) = load_batch_after!(conn, posts, shown, posts::id, after, 1);
                let [(post, ..)] = some[..] else { return Ok(Erased::default()) };
                let deleted = all_posts::delete(conn, post, at).await?;
                let images = deleted.attachments.into_iter().map(|attachment| attachment.key).collect();
                Ok(Erased { images, ..progress(1, last) })
            }
            Self::MarkedPosts => {
                let marked = posts::table.filter(posts::author_id.eq(user).and(posts::deleted_at.is_not_null()));
                let marked = marked.select(posts::id).limit(1).get_result::<DbId>(conn).await.optional()?;
                let Some(marked) = marked else { return Ok(Erased::default()) };
                Ok(progress(all_posts::erase_post(conn, marked).await?, None))
            }
            Self::Comments => erase_comments(conn, user, after).await,
            Self::Likes => {
                let (some, last) =
                    load_batch_after!(conn, likes, likes::user_id.eq(user), likes::post_id, after, LIKE_BATCH);
                let posts: Vec<DbId> = some.into_iter().map(|(post, ..)| post).collect();
                Ok(progress(remove_likes(conn, user, posts).await?, last))
            }
            Self::CommentLikes => {
                let of_user = comment_likes::user_id.eq(user);
                let (some, last) =
                    load_batch_after!(conn, comment_likes, of_user, comment_likes::comment_id, after, ACTIVITY_BATCH);
                let comments: Vec<DbId> = some.into_iter().map(|(comment, ..)| comment).collect();
                Ok(progress(remove_comment_likes(conn, user, comments).await?, last))
            }
            Self::Follows => {
                let of_user = follows::follower_id.eq(user);
                let (some, last) =
                    load_batch_after!(conn, follows, of_user, follows::followed_id, after, ACTIVITY_BATCH);
                let followed: Vec<DbId> = some.into_iter().map(|(followed, ..)| followed).collect();
                let these = follows::table.filter(of_user).filter(id_in(follows::followed_id, followed));
                let these = diesel::delete(these).returning((follows::followed_id, follows::id, follows::created_at));
                let removed: Vec<(DbId, DbId, DbInstant)> = these.load(conn).await?;
                remove_from_notifications(conn, NotificationKind::Follow, &removed).await?;
                Ok(progress(removed.len(), last))
            }
        }
    }
}

/// Deletes a batch of an account's comments, with the replies in their threads.
async fn erase_comments(conn: &mut Conn<'_>, user: DbId, after: Option<Keyset>) -> Outcome<Erased> {
    let deleted_with_it = comments::reply_count + comments::like_count;
    let key = (comments::id, deleted_with_it);
    let (some, _): (Vec<((DbId, i64), _, _)>, _) =
        load_batch_after!(conn, comments, comments::author_id.eq(user), key, after, ACTIVITY_BATCH);
    let (mut rows, mut erased) = (0, progress(0, after));
    for ((id, deleted_with_it), made, _) in some {
        // A comment with more rows than a batch is deleted in parts, in batches of its own.
        if rows > 0 && rows + 1 + deleted_with_it > ERASURE_BATCH {
            break;
        }
        rows += 1 + deleted_with_it;
        erased.count += 1;
        // A reply may have been deleted with the top comment of its thread.
        let is_there = comments::table.find(id).select(comments::id);
        if is_there.get_result::<DbId>(conn).await.optional()?.is_some()
            && all_comments::delete(conn, id).await? == Deletion::InPart
        {
            break;
        }
        erased.next.after = Some(Keyset { at: made.0, id: id.0 });
    }
    Ok(erased)
}

/// Removes the account's likes of some posts. Returns the number of removed likes.
async fn remove_likes(conn: &mut Conn<'_>, user: DbId, liked: Vec<DbId>) -> Outcome<usize> {
    super::lock_all_counters(conn, liked.clone()).await?;
    let these = likes::table.filter(likes::user_id.eq(user)).filter(id_in(likes::post_id, liked));
    let removed = diesel::delete(these).returning((likes::post_id, likes::id, likes::created_at));
    let removed: Vec<(DbId, DbId, DbInstant)> = removed.load(conn).await?;
    let posts: Vec<DbId> = removed.iter().map(|(post, ..)| *post).collect();
    let counted = posts::table.filter(id_in(posts::id, posts));
    diesel::update(counted).set(posts::like_count.eq(posts::like_count - 1)).execute(conn).await?;
    remove_from_notifications(conn, NotificationKind::Like, &removed).await?;
    Ok(removed.len())
}

/// Removes the account's likes of some comments. Returns the number of removed likes.
async fn remove_comment_likes(conn: &mut Conn<'_>, user: DbId, liked: Vec<DbId>) -> Outcome<usize> {
    super::lock_comments(conn, liked.clone()).await?;
    let these = comment_likes::table.filter(comment_likes::user_id.eq(user));
    let these = these.filter(id_in(comment_likes::comment_id, liked));
    let removed = (comment_likes::comment_id, comment_likes::id, comment_likes::created_at);
    let removed: Vec<(DbId, DbId, DbInstant)> = diesel::delete(these).returning(removed).load(conn).await?;
    let liked: Vec<DbId> = removed.iter().map(|(comment, ..)| *comment).collect();
    let counted = comments::table.filter(id_in(comments::id, liked));
    diesel::update(counted).set(comments::like_count.eq(comments::like_count - 1)).execute(conn).await?;
    remove_from_notifications(conn, NotificationKind::CommentLike, &removed).await?;
    Ok(removed.len())
}

/// Removes likes or follows from the notifications that gather them.
async fn remove_from_notifications(
    conn: &mut Conn<'_>,
    kind: NotificationKind,
    removed: &[(DbId, DbId, DbInstant)],
) -> Outcome<()> {
    let mut days = BTreeMap::<_, (Vec<_>, Vec<_>)>::new();
    for (target, act, made) in removed {
        let (targets, acts) = days.entry(Gathered::new(kind, *target, *made).day).or_default();
        targets.push(*target);
        acts.push(*act);
    }
    for (day, (targets, acts)) in days {
        notices::remove_acts_of_day(conn, kind, day, targets, acts).await?;
    }
    Ok(())
}
