//! Accounts that are deleted at once, and erased some rows at a time.

use std::collections::BTreeMap;

use agora_domain::accounts::Confirmed;
use agora_domain::comments::Deletion;
use agora_domain::deletion::{Erased, ErasurePosition, NAMES_KEPT_MILLIS};
use agora_domain::notices::NotificationKind;
use agora_domain::page::Keyset;
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl};

use super::accounts::{lock_confirmed, revoke_sessions};
use super::comments::ERASED_AT_ONCE;
use super::kept_names::{Name, keep};
use super::{Conn, RunQueryDsl, built, comments as all_comments, id_in, images, notices, posts as all_posts};
use crate::error::Outcome;
use crate::notices::Gathered;
use crate::rows::{Slice, Toward, count};
use crate::schema::{
    ErasureRecord, blocks, bookmarks, comment_likes, comments, erasures, follows, idempotency, likes, mail_tokens,
    mails, mutes, notifications, posts, reports, sessions, users,
};
use crate::sql_types::{DbId, DbInstant};

/// How many comments, likes of comments, and follows are deleted at once, each by several statements.
const ACTS_AT_ONCE: usize = 20;

/// How many likes are deleted at once.
const LIKES_AT_ONCE: usize = 100;

/// Deletes an account for everybody, whatever belongs to it; the picture it lost.
pub(crate) async fn delete(conn: &mut Conn<'_>, account: Confirmed, at: DbInstant) -> Outcome<Option<String>> {
    let id = DbId(account.user.uuid());
    super::lock_admins(conn, id).await?;
    super::lock_whole_user(conn, id).await?;
    let row = lock_confirmed(conn, account).await?;
    let others = users::table.filter(users::is_admin.and(users::enabled.eq(true)).and(users::id.ne(id))).count();
    let others = count(others.get_result(conn).await?);
    let picture = row.picture.profile_picture.clone();
    let account = row.account()?;
    account.ensure_deletable(others)?;
    // No key has capital letters: nobody ever names the account so.
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
        keep(conn, name, kept_until).await?;
    }
    revoke_sessions(conn, id, None, at).await?;
    diesel::delete(mail_tokens::table.filter(mail_tokens::user_id.eq(id))).execute(conn).await?;
    diesel::delete(mails::table.filter(mails::user_id.eq(id))).execute(conn).await?;
    images::replace(conn, picture.as_deref().as_slice(), &[], at).await?;
    Ok(picture)
}

/// Returns the account that was deleted first of those of which something is left.
pub(crate) async fn next_unerased(conn: &mut Conn<'_>) -> Outcome<Option<DbId>> {
    let first = erasures::table.order((erasures::deleted_at, erasures::user_id)).select(erasures::user_id).limit(1);
    Ok(first.get_result(conn).await.optional()?)
}

/// Deletes the rows of a table that a column of keys names, of those that belong to an account; returns how many, if any did.
macro_rules! some_of {
    ($conn:expr, $table:ident, $owner:expr, $key:expr) => {{
        let some: Vec<DbId> = $table::table.filter($owner).select($key).limit(ERASED_AT_ONCE).load($conn).await?;
        if !some.is_empty() {
            let these = $table::table.filter($owner).filter(id_in($key, some));
            let count = diesel::delete(these).execute($conn).await?;
            return Ok(Some(count));
        }
    }};
}

/// What an account may have very many of, in the order in which it is erased: its posts, one visibility after the other, those of them that are
/// left marked, and what it did to what belongs to others, where it is counted or told.
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

/// Erases some of what belonged to a deleted account, and in the end the account.
///
/// It goes on behind what is gone: PostgreSQL would pass over all of that each time until it is vacuumed.
pub(crate) async fn erase(conn: &mut Conn<'_>, user: DbId, from: ErasurePosition, at: DbInstant) -> Outcome<Erased> {
    // What another node still lets the account write is there by now, or never.
    super::lock_whole_user(conn, user).await?;
    for (number, step) in (0..).zip(STEPS).skip(from.step.into()) {
        let after = from.after.filter(|_| number == from.step);
        let erased = step.erase_some(conn, user, after, at).await?;
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

/// Erases some of what an account has a bounded number of, or what is looked up by others; how much, if any is left.
async fn erase_rest(conn: &mut Conn<'_>, user: DbId) -> Outcome<Option<usize>> {
    some_of!(conn, follows, follows::followed_id.eq(user), follows::follower_id);
    some_of!(conn, bookmarks, bookmarks::user_id.eq(user), bookmarks::post_id);
    some_of!(conn, blocks, blocks::user_id.eq(user), blocks::other_id);
    some_of!(conn, blocks, blocks::other_id.eq(user), blocks::user_id);
    some_of!(conn, mutes, mutes::muter_id.eq(user), mutes::muted_id);
    some_of!(conn, mutes, mutes::muted_id.eq(user), mutes::muter_id);
    some_of!(conn, sessions, sessions::user_id.eq(user), sessions::id);
    some_of!(conn, reports, reports::reporter_id.eq(user), reports::id);
    let of_user = idempotency::caller.eq(user).and(idempotency::outcome.is_not_null());
    some_of!(conn, idempotency, of_user, idempotency::attempt);
    some_of!(conn, notifications, notifications::actor_id.eq(user), notifications::id);
    let count = super::notifications::delete_of(conn, user).await?;
    Ok((count > 0).then_some(count))
}

/// Loads the keys of some rows that an account made after one, with when each was made.
macro_rules! some_after {
    ($conn:expr, $table:ident, $owner:expr, $key:expr, $after:expr, $most:expr) => {{
        let rows = $table::table.filter($owner).select(($key, $table::created_at, $table::id));
        let slice = Slice::new(Toward::Newer, $after, $most);
        let rows: Vec<(_, DbInstant, DbId)> = super::load!(rows, $table, slice, $conn)?;
        let last = rows.last().map(|(_, at, id)| Keyset { at: at.0, id: id.0 });
        (rows, last)
    }};
}

/// So many things are gone, up to one of them.
fn gone(count: usize, after: Option<Keyset>) -> Erased {
    Erased { count, next: ErasurePosition { step: 0, after }, ..Erased::default() }
}

impl Step {
    /// Erases some of these things after one.
    async fn erase_some(
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
                // One alone: with it go so many likes and comments that it is a write of its own.
                let (some, last): (Vec<(DbId, _, _)>, _) = some_after!(conn, posts, shown, posts::id, after, 1);
                let [(post, ..)] = some[..] else { return Ok(Erased::default()) };
                let deleted = all_posts::delete(conn, post, at).await?;
                let images = deleted.attachments.into_iter().map(|attachment| attachment.key).collect();
                Ok(Erased { images, ..gone(1, last) })
            }
            Self::MarkedPosts => {
                let marked = posts::table.filter(posts::author_id.eq(user).and(posts::deleted_at.is_not_null()));
                let marked = marked.select(posts::id).limit(1).get_result::<DbId>(conn).await.optional()?;
                let Some(marked) = marked else { return Ok(Erased::default()) };
                Ok(gone(all_posts::erase_post(conn, marked).await?, None))
            }
            Self::Comments => comments_of(conn, user, after).await,
            Self::Likes => {
                let (some, last) =
                    some_after!(conn, likes, likes::user_id.eq(user), likes::post_id, after, LIKES_AT_ONCE);
                let posts: Vec<DbId> = some.into_iter().map(|(post, ..)| post).collect();
                Ok(gone(take_likes_back(conn, user, posts).await?, last))
            }
            Self::CommentLikes => {
                let of_user = comment_likes::user_id.eq(user);
                let (some, last) =
                    some_after!(conn, comment_likes, of_user, comment_likes::comment_id, after, ACTS_AT_ONCE);
                let comments: Vec<DbId> = some.into_iter().map(|(comment, ..)| comment).collect();
                Ok(gone(take_comment_likes_back(conn, user, comments).await?, last))
            }
            Self::Follows => {
                let of_user = follows::follower_id.eq(user);
                let (some, last) = some_after!(conn, follows, of_user, follows::followed_id, after, ACTS_AT_ONCE);
                let followed: Vec<DbId> = some.into_iter().map(|(followed, ..)| followed).collect();
                let these = follows::table.filter(of_user).filter(id_in(follows::followed_id, followed));
                let these = diesel::delete(these).returning((follows::followed_id, follows::id, follows::created_at));
                let taken: Vec<(DbId, DbId, DbInstant)> = these.load(conn).await?;
                take_out(conn, NotificationKind::Follow, &taken).await?;
                Ok(gone(taken.len(), last))
            }
        }
    }
}

/// Deletes some comments of an account, with what stands in their threads.
async fn comments_of(conn: &mut Conn<'_>, user: DbId, after: Option<Keyset>) -> Outcome<Erased> {
    let deleted_with_it = comments::reply_count + comments::like_count;
    let key = (comments::id, deleted_with_it);
    let (some, _): (Vec<((DbId, i64), _, _)>, _) =
        some_after!(conn, comments, comments::author_id.eq(user), key, after, ACTS_AT_ONCE);
    let (mut rows, mut erased) = (0, gone(0, after));
    for ((id, deleted_with_it), made, _) in some {
        // One with more is deleted in parts, by itself.
        if rows > 0 && rows + 1 + deleted_with_it > ERASED_AT_ONCE {
            break;
        }
        rows += 1 + deleted_with_it;
        erased.count += 1;
        // What stands in a thread goes with its top.
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

/// Takes likes of some posts back; how many.
async fn take_likes_back(conn: &mut Conn<'_>, user: DbId, liked: Vec<DbId>) -> Outcome<usize> {
    super::lock_all_counters(conn, liked.clone()).await?;
    let these = likes::table.filter(likes::user_id.eq(user)).filter(id_in(likes::post_id, liked));
    let taken = diesel::delete(these).returning((likes::post_id, likes::id, likes::created_at));
    let taken: Vec<(DbId, DbId, DbInstant)> = taken.load(conn).await?;
    let posts: Vec<DbId> = taken.iter().map(|(post, ..)| *post).collect();
    let counted = posts::table.filter(id_in(posts::id, posts));
    diesel::update(counted).set(posts::like_count.eq(posts::like_count - 1)).execute(conn).await?;
    take_out(conn, NotificationKind::Like, &taken).await?;
    Ok(taken.len())
}

/// Takes likes of some comments back; how many.
async fn take_comment_likes_back(conn: &mut Conn<'_>, user: DbId, liked: Vec<DbId>) -> Outcome<usize> {
    super::lock_comments(conn, liked.clone()).await?;
    let these = comment_likes::table.filter(comment_likes::user_id.eq(user));
    let these = these.filter(id_in(comment_likes::comment_id, liked));
    let taken = (comment_likes::comment_id, comment_likes::id, comment_likes::created_at);
    let taken: Vec<(DbId, DbId, DbInstant)> = diesel::delete(these).returning(taken).load(conn).await?;
    let liked: Vec<DbId> = taken.iter().map(|(comment, ..)| *comment).collect();
    let counted = comments::table.filter(id_in(comments::id, liked));
    diesel::update(counted).set(comments::like_count.eq(comments::like_count - 1)).execute(conn).await?;
    take_out(conn, NotificationKind::CommentLike, &taken).await?;
    Ok(taken.len())
}

/// Takes acts out of what others were told of them.
async fn take_out(conn: &mut Conn<'_>, kind: NotificationKind, taken: &[(DbId, DbId, DbInstant)]) -> Outcome<()> {
    let mut days = BTreeMap::<_, (Vec<_>, Vec<_>)>::new();
    for (target, act, made) in taken {
        let (targets, acts) = days.entry(Gathered::new(kind, *target, *made).day).or_default();
        targets.push(*target);
        acts.push(*act);
    }
    for (day, (targets, acts)) in days {
        notices::take_out_all(conn, kind, day, targets, acts).await?;
    }
    Ok(())
}
