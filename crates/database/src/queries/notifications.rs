//! Notifications as their recipients see them now, and the deletion of old ones.

use std::collections::HashMap;

use agora_domain::Error;
use agora_domain::error::Resource;
use agora_domain::notices::NotificationKind;
use agora_domain::notifications::{MAX_NOTIFICATIONS, NotificationPolicy, SHOWN_ACTORS};
use agora_domain::page::Keyset;
use diesel::dsl::{auto_type, exists, not};
use diesel::sql_types::Bool;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, IntoSql, NullableExpressionMethods, OptionalExtension, QueryDsl,
    SelectableHelper,
};

use uuid::Uuid;

use super::hidden::{comment_shown_to, thread_shown_to};
use super::views::visible_to;
use super::{Conn, RunQueryDsl, built, id_in};
use crate::account_filters::{
    AccountDeleted, Blocked, DbViewer, LIST, is_account_deleted, is_blocked_or_deleted, or_muted,
};
use crate::error::{Failure, Outcome};
use crate::feeds::limit;
use crate::notices::{kind_code, policy_code};
use crate::rows::{After, PreviewRow, Slice, Toward};
use crate::schema::{
    SettingRecord, comments, notification_actors, notification_settings, notification_withdrawals, notifications,
    posts, users,
};
use crate::sql_types::{DbId, DbInstant, coalesce, coalesce_id};
use crate::values::{Kinds, NotificationRow, NotificationViewRow, Visible, VisiblePosts};

/// The number of rows that one write deletes. A longer write would delay others.
const DELETE_BATCH: i64 = 500;

/// The number of users whose notifications are counted in one statement.
const RECIPIENTS_BATCH: i64 = 100;

diesel::alias!(notifications as kept: Kept);

/// The time of the oldest of the newest [`MAX_NOTIFICATIONS`] of a recipient. Older ones are about to be deleted.
#[auto_type]
fn oldest_kept(recipient: DbId) -> _ {
    let of_recipient = kept
        .filter(kept.field(notifications::recipient_id).eq(recipient))
        .filter(kept.field(notifications::is_empty).eq(false));
    let newest_first = (kept.field(notifications::updated_at).desc(), kept.field(notifications::id).desc());
    let last: i64 = MAX_NOTIFICATIONS as i64 - 1;
    let oldest = of_recipient.order(newest_first).select(kept.field(notifications::updated_at).nullable());
    let oldest = oldest.offset(last).limit(1_i64);
    let first: DbInstant = DbInstant::MIN;
    coalesce(oldest.single_value(), first)
}

/// The condition that a post exists and a viewer may view it.
#[auto_type]
fn may_view(viewer: DbViewer, followed: Visible, visible_of_others: Visible) -> _ {
    let visible: visible_to = visible_to(viewer, followed, visible_of_others);
    let is_blocked: Blocked<LIST, posts::author_id> = is_blocked_or_deleted(viewer, posts::author_id);
    posts::deleted_at.is_null().and(visible.and(not(is_blocked)))
}

/// The condition that a comment, and the thread that it is in, is shown to a viewer. Its author may be neither the actor nor the
/// recipient of the notification.
#[auto_type]
fn comment_shown(viewer: DbViewer) -> _ {
    let is_shown: comment_shown_to = comment_shown_to(viewer);
    let is_in_shown_thread: thread_shown_to = thread_shown_to(viewer);
    let is_deleted: AccountDeleted<comments::author_id> = is_account_deleted(comments::author_id);
    is_shown.and(is_in_shown_thread).and(not(is_deleted))
}

/// The condition that the post and the comment of a notification exist and the recipient may view them. Scalar subqueries for
/// each notification: PostgreSQL might otherwise join with all posts.
#[auto_type]
fn is_about_visible(viewer: DbViewer, followed: Visible, visible_of_others: Visible) -> _ {
    let may_view: may_view = may_view(viewer, followed, visible_of_others);
    let post = posts::table.filter(posts::id.nullable().eq(notifications::post_id));
    let may_view_post = post.select(may_view).single_value();
    let is_shown: comment_shown = comment_shown(viewer);
    let comment = comments::table.filter(comments::id.nullable().eq(notifications::comment_id));
    let comment = comment.filter(is_shown).select(comments::id);
    let has_comment = notifications::comment_id.is_null().or(comment.single_value().is_not_null());
    notifications::post_id.is_null().nullable().or(may_view_post.and(has_comment.nullable()))
}

/// The condition that the recipient may still see a notification of its kind: only administrators see those of reports.
#[auto_type]
fn may_see_kind(viewer: DbViewer) -> _ {
    let sees_all: bool = viewer.sees_all;
    let report: i16 = REPORT;
    notifications::kind.ne(report).or(sees_all.into_sql::<Bool>())
}

const REPORT: i16 = kind_code(NotificationKind::Report);

/// The notifications that a recipient sees.
macro_rules! visible_notifications {
    ($visible:expr) => {{
        let VisiblePosts { viewer, followed, others } = $visible;
        notifications::table
            .filter(notifications::recipient_id.eq(viewer.id))
            .filter(notifications::is_empty.eq(false))
            .filter(notifications::updated_at.ge(oldest_kept(viewer.id)))
            .filter(may_see_kind(viewer))
            .filter(not(or_muted(viewer, is_blocked_or_deleted(viewer, notifications::actor_id))))
            .filter(is_about_visible(viewer, followed, others))
    }};
}

/// Loads the given columns of rows of a table that are shown, by id. The condition is checked once more, since the rows may have
/// changed since their notifications were found.
macro_rules! subjects {
    ($table:ident($($column:ident),+), $shown:expr, $ids:expr, $conn:expr) => {{
        let mut ids: Vec<DbId> = $ids.collect();
        ids.sort_unstable();
        ids.dedup();
        let mut found = HashMap::new();
        if !ids.is_empty() {
            let subjects = $table::table.filter(id_in($table::id, ids)).filter($shown);
            let subjects = subjects.select(($table::id, ($($table::$column),+)));
            let subjects: Vec<(DbId, _)> = subjects.load($conn).await?;
            found.extend(subjects);
        }
        found
    }};
}

#[auto_type]
fn is_one_of(kinds: Kinds) -> _ {
    let one: i16 = kinds[0];
    let two: i16 = kinds[1];
    let three: i16 = kinds[2];
    let four: i16 = kinds[3];
    let five: i16 = kinds[4];
    let six: i16 = kinds[5];
    let seven: i16 = kinds[6];
    let first = notifications::kind.eq(one).or(notifications::kind.eq(two)).or(notifications::kind.eq(three));
    let second = notifications::kind.eq(four).or(notifications::kind.eq(five)).or(notifications::kind.eq(six));
    first.or(second).or(notifications::kind.eq(seven))
}

/// Returns a slice of the notifications that a recipient sees, each with its position, its subjects and the newest actors; `None`
/// in place of one whose subjects or actors no longer exist.
pub(crate) async fn list(
    conn: &mut Conn<'_>,
    visible: VisiblePosts,
    kinds: Kinds,
    slice: Slice,
) -> Outcome<Vec<(Keyset, Option<NotificationViewRow>)>> {
    let seen = visible_notifications!(visible).filter(is_one_of(kinds)).select(NotificationRow::as_select());
    let rows: Vec<NotificationRow> =
        crate::rows::load_by!(seen, notifications::updated_at, notifications::id, slice, conn)?;
    let (alone, gathered): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.actor_id.is_some());
    let alone = actors(conn, alone.into_iter().filter_map(|row| row.actor_id).collect()).await?;
    let mut newest = newest_actors(conn, gathered.into_iter().map(|row| row.id).collect()).await?;
    let VisiblePosts { viewer, followed, others } = visible;
    let (of_posts, of_comments) =
        (rows.iter().filter_map(|row| row.post_id), rows.iter().filter_map(|row| row.comment_id));
    let posts = subjects!(posts(content, image, hidden_visibility), may_view(viewer, followed, others), of_posts, conn);
    let comments = subjects!(comments(content), comment_shown(viewer), of_comments, conn);
    let view = |row: NotificationRow| {
        let place = row.keyset();
        let actor = row.actor_id.and_then(|actor| alone.get(&actor)).cloned();
        let actors = newest.remove(&row.id).unwrap_or_else(|| actor.into_iter().collect());
        let post = row.post_id.map(|id| {
            let (content, image, hidden): (String, Option<String>, Option<i16>) = posts.get(&id).cloned()?;
            Some((content, image.filter(|_| hidden.is_none())))
        });
        let comment = row.comment_id.map(|id| comments.get(&id).cloned());
        // The subject or the actors may have been deleted meanwhile.
        let is_whole = post != Some(None) && comment != Some(None) && !actors.is_empty();
        (
            place,
            is_whole.then_some(NotificationViewRow { row, actors, post: post.flatten(), comment: comment.flatten() }),
        )
    };
    Ok(rows.into_iter().map(view).collect())
}

async fn actors(conn: &mut Conn<'_>, ids: Vec<DbId>) -> Outcome<HashMap<DbId, PreviewRow>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let actors = users::table.filter(id_in(users::id, ids)).filter(not(users::is_deleted));
    let actors = actors.select(PreviewRow::as_select());
    let actors: Vec<PreviewRow> = actors.load(conn).await?;
    Ok(actors.into_iter().map(|actor| (actor.id, actor)).collect())
}

/// Returns the newest actors of notifications, the newest first, without reading the other ones.
async fn newest_actors(conn: &mut Conn<'_>, ids: Vec<DbId>) -> Outcome<HashMap<DbId, Vec<PreviewRow>>> {
    let mut actors: HashMap<DbId, Vec<PreviewRow>> = HashMap::with_capacity(ids.len());
    if ids.is_empty() {
        return Ok(actors);
    }
    let newest = diesel::alias!(notification_actors as newest);
    let oldest_shown = newest
        .filter(newest.field(notification_actors::notification_id).eq(notifications::id))
        .order(newest.field(notification_actors::id).desc())
        .select(newest.field(notification_actors::id))
        .limit(1)
        .offset(SHOWN_ACTORS as i64 - 1);
    // The bound depends on the notification alone, so that the index of a group with many actors is entered at the bound.
    let oldest_shown = coalesce_id(oldest_shown.single_value(), DbId(Uuid::nil()));
    let shown = notifications::table
        .inner_join(notification_actors::table.inner_join(users::table))
        .filter(id_in(notifications::id, ids))
        .filter(notification_actors::id.ge(oldest_shown))
        .filter(not(users::is_deleted))
        .order((notifications::id, notification_actors::id.desc()))
        .select((notifications::id, PreviewRow::as_select()));
    let shown: Vec<(DbId, PreviewRow)> = shown.load(conn).await?;
    for (id, actor) in shown {
        actors.entry(id).or_default().push(actor);
    }
    Ok(actors)
}

/// Returns the number of unread notifications that a recipient sees.
pub(crate) async fn count_unread(conn: &mut Conn<'_>, visible: VisiblePosts) -> Outcome<i64> {
    let unread = visible_notifications!(visible).filter(notifications::is_read.eq(false));
    Ok(built(unread.count()).get_result(conn).await?)
}

/// Returns the number of unread notifications that a recipient sees, and which of the given ones the recipient sees. The given
/// ones were just created or updated, and so are among the newest.
pub(crate) async fn find_state(
    conn: &mut Conn<'_>,
    visible: VisiblePosts,
    ids: Vec<DbId>,
) -> Outcome<(i64, Vec<DbId>)> {
    let VisiblePosts { viewer, followed, others } = visible;
    let seen = notifications::table
        .filter(id_in(notifications::id, ids))
        .filter(notifications::recipient_id.eq(viewer.id))
        .filter(notifications::is_empty.eq(false))
        .filter(may_see_kind(viewer))
        .filter(not(or_muted(viewer, is_blocked_or_deleted(viewer, notifications::actor_id))))
        .filter(is_about_visible(viewer, followed, others))
        .select(notifications::id);
    let seen: Vec<DbId> = seen.load(conn).await?;
    // The number of unread ones is not needed if none of them is to be reported.
    let unread = if seen.is_empty() { 0 } else { count_unread(conn, visible).await? };
    Ok((unread, seen))
}

/// Marks a recipient's notifications as read up to one, or up to the position that it had at an instant.
pub(crate) async fn mark_read(
    conn: &mut Conn<'_>,
    recipient: DbId,
    up_to: DbId,
    updated_at: Option<DbInstant>,
) -> Outcome<()> {
    // Blocks, mutes and concurrent calls also update several notifications, in any order: the lock of the user avoids deadlocks.
    super::lock_user(conn, recipient).await?;
    let place = notifications::table.find(up_to).filter(notifications::recipient_id.eq(recipient));
    let place = place.select(notifications::updated_at).get_result(conn).await.optional()?;
    let now: DbInstant = place.ok_or(Failure::Rule(Error::NotFound(Resource::Notification)))?;
    let at = updated_at.map_or(now, |seen| seen.min(now));
    let older = notifications::updated_at.le(at).and(notifications::updated_at.lt(at).or(notifications::id.le(up_to)));
    let unread = notifications::table
        .filter(notifications::recipient_id.eq(recipient))
        .filter(notifications::is_empty.eq(false))
        // Includes those beyond the limit: until they are deleted, they may be within it again.
        .filter(older)
        .filter(notifications::is_read.eq(false));
    diesel::update(unread).set(notifications::is_read.eq(true)).execute(conn).await?;
    Ok(())
}

/// Returns a slice of the actors of a notification that a recipient sees, each with the id of the act; `None` if there is no such
/// notification.
pub(crate) async fn list_actors(
    conn: &mut Conn<'_>,
    visible: VisiblePosts,
    id: DbId,
    Slice { toward, after: After(_, last), limit }: Slice,
) -> Outcome<Option<Vec<(DbId, PreviewRow)>>> {
    let seen = visible_notifications!(visible).filter(notifications::id.eq(id)).select(notifications::actor_id);
    let Some(alone) = seen.get_result::<Option<DbId>>(conn).await.optional()? else { return Ok(None) };
    if let Some(alone) = alone {
        let is_within = match toward {
            Toward::Older => id < last,
            Toward::Newer => id > last,
        };
        let found = actors(conn, if is_within { vec![alone] } else { vec![] }).await?;
        return Ok(Some(found.into_values().map(|actor| (id, actor)).collect()));
    }
    let actors = notification_actors::table
        .inner_join(users::table)
        .filter(notification_actors::notification_id.eq(id))
        .filter(not(users::is_deleted))
        .select((notification_actors::id, PreviewRow::as_select()))
        .limit(limit);
    Ok(Some(match toward {
        Toward::Older => {
            let older = actors.filter(notification_actors::id.lt(last));
            built(older.order(notification_actors::id.desc())).load(conn).await?
        }
        Toward::Newer => {
            let newer = actors.filter(notification_actors::id.gt(last));
            built(newer.order(notification_actors::id.asc())).load(conn).await?
        }
    }))
}

/// Returns a user's settings, as codes of kinds and policies.
pub(crate) async fn settings(conn: &mut Conn<'_>, user: DbId) -> Outcome<Vec<(i16, i16)>> {
    let chosen = notification_settings::table.filter(notification_settings::user_id.eq(user));
    Ok(chosen.select((notification_settings::kind, notification_settings::policy)).load(conn).await?)
}

/// Changes some of a user's settings. Returns all settings.
pub(crate) async fn change_settings(
    conn: &mut Conn<'_>,
    user: DbId,
    changes: Vec<(NotificationKind, NotificationPolicy)>,
) -> Outcome<Vec<(i16, i16)>> {
    for (kind, policy) in changes {
        let setting = SettingRecord { user_id: user, kind: kind_code(kind), policy: policy_code(policy) };
        if policy == NotificationPolicy::default() {
            diesel::delete(notification_settings::table.find((user, setting.kind))).execute(conn).await?;
        } else {
            diesel::insert_into(notification_settings::table)
                .values(&setting)
                .on_conflict((notification_settings::user_id, notification_settings::kind))
                .do_update()
                .set(notification_settings::policy.eq(setting.policy))
                .execute(conn)
                .await?;
        }
    }
    settings(conn, user).await
}

/// Deletes a batch of the notifications created before an instant and with ids before `id`. Returns the number of deleted rows.
pub(crate) async fn delete_before(conn: &mut Conn<'_>, at: DbInstant, id: DbId) -> Outcome<usize> {
    let old = notifications::table.filter(notifications::id.lt(id)).filter(notifications::created_at.lt(at));
    let old = old.order(notifications::id).limit(DELETE_BATCH);
    let old: Vec<(DbId, i64)> = old.select((notifications::id, notifications::count)).load(conn).await?;
    delete(conn, old, DbInstant::MAX).await
}

/// Checks a batch of users with ids after `after`. Returns the last of them, and those with more notifications than the limit.
pub(crate) async fn recipients(conn: &mut Conn<'_>, after: DbId) -> Outcome<(Option<DbId>, Vec<DbId>)> {
    let next = users::table.filter(users::id.gt(after)).order(users::id).limit(RECIPIENTS_BATCH);
    let ids: Vec<DbId> = next.select(users::id).load(conn).await?;
    let beyond = kept
        .filter(kept.field(notifications::recipient_id).eq(users::id))
        .filter(kept.field(notifications::is_empty).eq(false))
        .offset(limit(MAX_NOTIFICATIONS))
        .limit(1);
    let has_more = exists(beyond.select(kept.field(notifications::id)));
    let last = ids.last().copied();
    Ok((last, users::table.filter(id_in(users::id, ids)).filter(has_more).select(users::id).load(conn).await?))
}

/// Deletes a batch of a recipient's notifications beyond the limit. Returns the number of deleted rows.
pub(crate) async fn trim(conn: &mut Conn<'_>, recipient: DbId) -> Outcome<usize> {
    let beyond = notifications::table
        .filter(notifications::recipient_id.eq(recipient))
        .filter(notifications::is_empty.eq(false))
        .order((notifications::updated_at.desc(), notifications::id.desc()))
        .offset(limit(MAX_NOTIFICATIONS))
        .limit(DELETE_BATCH);
    let columns = (notifications::id, notifications::count, notifications::updated_at);
    let beyond: Vec<(DbId, i64, DbInstant)> = beyond.select(columns).load(conn).await?;
    let newest = beyond.iter().map(|(.., updated_at)| *updated_at).max().unwrap_or(DbInstant::MIN);
    delete(conn, beyond.into_iter().map(|(id, count, _)| (id, count)).collect(), newest).await
}

/// Deletes a batch of a recipient's notifications, within the limit or not. Returns the number of deleted rows.
pub(super) async fn delete_of(conn: &mut Conn<'_>, recipient: DbId) -> Outcome<usize> {
    let batch = notifications::table.filter(notifications::recipient_id.eq(recipient)).limit(DELETE_BATCH);
    let batch: Vec<(DbId, i64)> = batch.select((notifications::id, notifications::count)).load(conn).await?;
    delete(conn, batch, DbInstant::MAX).await
}

/// Deletes as many of some notifications, from the first on, as fit into a batch together with their actors. If the first alone
/// has too many actors, it deletes a batch of these instead. Each notification is given with its count of acts. One that was
/// updated after `until` has moved up since it was found, and stays. Returns the number of deleted rows.
async fn delete(conn: &mut Conn<'_>, rows: Vec<(DbId, i64)>, until: DbInstant) -> Outcome<usize> {
    let [(first, acts), ..] = rows[..] else { return Ok(0) };
    let mut total = 0;
    let small = rows.into_iter().take_while(|(_, count)| {
        total += 1 + count;
        total <= DELETE_BATCH
    });
    let small: Vec<DbId> = small.map(|(id, _)| id).collect();
    if !small.is_empty() {
        // Notifications before their actors, so that nobody adds an actor meanwhile.
        let of_small = notifications::table.filter(id_in(notifications::id, small));
        let deleted = diesel::delete(of_small.filter(notifications::updated_at.le(until)));
        let deleted: Vec<DbId> = deleted.returning(notifications::id).load(conn).await?;
        let count = deleted.len();
        let of_deleted = id_in(notification_withdrawals::notification_id, deleted.clone());
        diesel::delete(notification_withdrawals::table.filter(of_deleted)).execute(conn).await?;
        let of_deleted = notification_actors::table.filter(id_in(notification_actors::notification_id, deleted));
        return Ok(count + diesel::delete(of_deleted).execute(conn).await?);
    }
    // Locks the notification before its actors, for the same reason.
    let first_row =
        notifications::table.filter(notifications::id.eq(first)).filter(notifications::updated_at.le(until));
    if diesel::update(first_row).set(notifications::count.eq(notifications::count)).execute(conn).await? == 0 {
        return Ok(0);
    }
    let actors = notification_actors::table.filter(notification_actors::notification_id.eq(first));
    let some = actors.select(notification_actors::id).limit(DELETE_BATCH);
    let some: Vec<DbId> = some.load(conn).await?;
    let deleted = diesel::delete(actors.filter(id_in(notification_actors::id, some))).execute(conn).await?;
    // If fewer actors are left than the count says, it becomes 0.
    let is_more = limit(deleted) == DELETE_BATCH;
    let count = if is_more { acts - DELETE_BATCH } else { 0 };
    diesel::update(notifications::table.find(first)).set(notifications::count.eq(count)).execute(conn).await?;
    Ok(deleted.max(1))
}
