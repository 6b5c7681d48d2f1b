//! Accounts that are deleted at once, and erased some rows at a time.

use std::collections::BTreeMap;

use agora_domain::deletion::{Erased, NAMES_KEPT_MILLIS};
use agora_domain::notices::NotificationKind;
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl};

use super::accounts::{lock_account, revoke_sessions};
use super::comments::ERASED_AT_ONCE;
use super::kept_names::{Name, keep};
use super::{Conn, RunQueryDsl, comments as all_comments, id_in, images, notices, posts as all_posts};
use crate::error::Outcome;
use crate::notices::Gathered;
use crate::rows::{count, image_key};
use crate::schema::{
    ErasureRecord, blocks, bookmarks, comment_likes, comments, erasures, follows, idempotency, likes, mail_tokens,
    mails, mutes, notifications, posts, reports, sessions, users,
};
use crate::sql_types::{DbId, DbInstant};

/// How many comments, likes of comments, and follows are deleted at once, each by several statements.
const ACTS_AT_ONCE: i64 = 20;

/// How many likes are deleted at once.
const LIKES_AT_ONCE: i64 = 100;

/// Deletes an account for everybody, whatever belongs to it; the picture it lost.
pub(crate) async fn delete(conn: &mut Conn<'_>, id: DbId, at: DbInstant) -> Outcome<Option<String>> {
    super::lock_admins(conn).await?;
    super::lock_whole_user(conn, id).await?;
    let row = lock_account(conn, id).await?;
    let others = users::table.filter(users::is_admin.and(users::enabled.eq(true)).and(users::id.ne(id))).count();
    let others = count(others.get_result(conn).await?);
    let picture = row.profile_picture.clone();
    let account = row.account()?;
    account.ensure_deletable(others)?;
    // No key has capital letters: nobody ever names the account so.
    let nobody = format!("DELETED {}", id.0);
    diesel::update(users::table.find(id))
        .set((
            (users::username.eq(nobody.clone()), users::username_key.eq(nobody.clone())),
            (users::email.eq(nobody.clone()), users::email_key.eq(nobody), users::email_verified.eq(false)),
            (users::password_hash.eq(""), users::display_name.eq(None::<String>), users::biography.eq(None::<String>)),
            users::profile_picture.eq(None::<String>),
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
    images::replace(conn, picture.as_deref(), None, at).await?;
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
            return Ok(Erased { count, ..Erased::default() });
        }
    }};
}

/// Erases some of what belonged to a deleted account, and in the end the account.
pub(crate) async fn erase(conn: &mut Conn<'_>, user: DbId, at: DbInstant) -> Outcome<Erased> {
    // What another node still lets the account write is there by now, or never.
    super::lock_whole_user(conn, user).await?;
    if let Some(erased) = erase_posts(conn, user, at).await? {
        return Ok(erased);
    }
    for erase in [Acts::Comments, Acts::Likes, Acts::CommentLikes, Acts::Follows] {
        let count = erase.some(conn, user).await?;
        if count > 0 {
            return Ok(Erased { count, ..Erased::default() });
        }
    }
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
    if count > 0 {
        return Ok(Erased { count, ..Erased::default() });
    }
    let count = diesel::delete(users::table.find(user)).execute(conn).await?;
    Ok(Erased { count, is_done: true, ..Erased::default() })
}

/// Deletes a post of an account, or some of what is left of those that are marked as deleted; nothing when there is none.
async fn erase_posts(conn: &mut Conn<'_>, user: DbId, at: DbInstant) -> Outcome<Option<Erased>> {
    let of_user = posts::table.filter(posts::author_id.eq(user));
    let shown = of_user.filter(posts::deleted_at.is_null()).select(posts::id).limit(1);
    // One alone: with it go so many likes and comments that it is a write of its own.
    let Some(post) = shown.get_result::<DbId>(conn).await.optional()? else {
        let marked = of_user
            .filter(posts::deleted_at.is_not_null())
            .select(posts::id)
            .limit(1)
            .get_result::<DbId>(conn)
            .await
            .optional()?;
        let Some(marked) = marked else { return Ok(None) };
        let count = all_posts::erase_post(conn, marked).await?;
        return Ok(Some(Erased { count, ..Erased::default() }));
    };
    let images = image_key(all_posts::delete(conn, post, at).await?.image)?.into_iter().collect();
    Ok(Some(Erased { count: 1, images, is_done: false }))
}

/// What an account did to what belongs to others, which is counted or told there.
#[derive(Debug, Clone, Copy)]
enum Acts {
    Comments,
    Likes,
    CommentLikes,
    Follows,
}

impl Acts {
    /// Takes back some of these acts; how many.
    async fn some(self, conn: &mut Conn<'_>, user: DbId) -> Outcome<usize> {
        match self {
            Self::Comments => {
                let of_user = comments::table.filter(comments::author_id.eq(user));
                let counted = (comments::id, comments::reply_count + comments::like_count);
                let some: Vec<(DbId, i64)> = of_user.select(counted).limit(ACTS_AT_ONCE).load(conn).await?;
                let mut rows = 0;
                for (id, deleted_with_it) in &some {
                    // One with more is deleted in parts, by itself.
                    if rows > 0 && rows + 1 + deleted_with_it > ERASED_AT_ONCE {
                        break;
                    }
                    rows += 1 + deleted_with_it;
                    // What stands in a thread goes with its top.
                    let is_there = comments::table.find(*id).select(comments::id);
                    if is_there.get_result::<DbId>(conn).await.optional()?.is_some() {
                        all_comments::delete(conn, *id).await?;
                    }
                }
                Ok(some.len())
            }
            Self::Likes => likes_of(conn, user).await,
            Self::CommentLikes => comment_likes_of(conn, user).await,
            Self::Follows => {
                let of_user = follows::table.filter(follows::follower_id.eq(user));
                let some: Vec<DbId> = of_user.select(follows::followed_id).limit(ACTS_AT_ONCE).load(conn).await?;
                let these = diesel::delete(of_user.filter(id_in(follows::followed_id, some)));
                let taken = these.returning((follows::followed_id, follows::id, follows::created_at));
                let taken: Vec<(DbId, DbId, DbInstant)> = taken.load(conn).await?;
                take_out(conn, NotificationKind::Follow, &taken).await?;
                Ok(taken.len())
            }
        }
    }
}

/// Takes back some likes of posts; how many.
async fn likes_of(conn: &mut Conn<'_>, user: DbId) -> Outcome<usize> {
    let of_user = likes::table.filter(likes::user_id.eq(user));
    let some = of_user.order((likes::created_at, likes::id)).select(likes::post_id).limit(LIKES_AT_ONCE);
    let some: Vec<DbId> = some.load(conn).await?;
    super::lock_all_counters(conn, some.clone()).await?;
    let these = of_user.filter(id_in(likes::post_id, some));
    let taken = diesel::delete(these).returning((likes::post_id, likes::id, likes::created_at));
    let taken: Vec<(DbId, DbId, DbInstant)> = taken.load(conn).await?;
    let posts: Vec<DbId> = taken.iter().map(|(post, ..)| *post).collect();
    let counted = posts::table.filter(id_in(posts::id, posts));
    diesel::update(counted).set(posts::like_count.eq(posts::like_count - 1)).execute(conn).await?;
    take_out(conn, NotificationKind::Like, &taken).await?;
    Ok(taken.len())
}

/// Takes back some likes of comments; how many.
async fn comment_likes_of(conn: &mut Conn<'_>, user: DbId) -> Outcome<usize> {
    let of_user = comment_likes::table.filter(comment_likes::user_id.eq(user));
    let some: Vec<DbId> = of_user.select(comment_likes::comment_id).limit(ACTS_AT_ONCE).load(conn).await?;
    super::lock_comments(conn, some.clone()).await?;
    let these = of_user.filter(id_in(comment_likes::comment_id, some));
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
