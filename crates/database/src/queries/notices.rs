//! Notifications, stored in the transaction of the change that they report.

use agora_domain::events::Event;
use agora_domain::id::NotificationId;
use agora_domain::notices::{Notice, NotificationKind};
use diesel::dsl::{exists, not};
use diesel::sql_types::Bool;
use diesel::{BoolExpressionMethods, ExpressionMethods, IntoSql, JoinOnDsl, NullableExpressionMethods, QueryDsl};

use super::{Conn, RunQueryDsl, id_in};
use crate::error::Outcome;
use crate::notices::{kind_code, policy, row};
use crate::schema::{
    blocks, comment_likes, follows, likes, mutes, notification_actors, notification_settings, notifications, users,
};
use crate::sql_types::DbId;

/// Returns whether the recipient is notified: the account exists, there is no mute of the actor and no block between the two, and
/// the settings allow it. Administrators are notified of reports in spite of a block.
///
/// The functions in PostgreSQL's schema do not check that the recipient exists, and there no foreign key rejects a notification
/// without one.
pub(crate) async fn should_notify(conn: &mut Conn<'_>, notice: &Notice) -> Outcome<bool> {
    let (recipient, actor) = (DbId(notice.recipient.uuid()), DbId(notice.actor.uuid()));
    let follows = exists(follows::table.find((recipient, actor)));
    let (is_muted, is_blocked) =
        (exists(mutes::table.find((recipient, actor))), exists(blocks::table.find((recipient, actor))));
    let setting = notification_settings::table.find((recipient, kind_code(notice.kind)));
    let setting = setting.select(notification_settings::policy).single_value();
    let is_there = exists(users::table.find(recipient).filter(not(users::is_deleted)));
    let chosen = diesel::select((setting, follows, is_there, is_muted, is_blocked)).get_result(conn).await?;
    let (code, follows, is_there, is_muted, is_blocked): (Option<i16>, bool, bool, bool, bool) = chosen;
    let is_silenced = is_muted || (is_blocked && notice.kind != NotificationKind::Report);
    Ok(is_there && !is_silenced && policy(code.unwrap_or_default())?.admits(follows))
}

/// Returns the event of a notification.
pub(crate) fn event_of(notice: &Notice, id: NotificationId) -> Event {
    Event::Notified(notice.recipient, id, notice.kind)
}

/// Stores notifications of a single act each, for the recipients who want them.
pub(crate) async fn notify(conn: &mut Conn<'_>, notices: &[Notice]) -> Outcome<()> {
    // One row at a time: a statement with several rows would be prepared again for each execution.
    for notice in notices {
        if should_notify(conn, notice).await? {
            diesel::insert_into(notifications::table).values(row(notice)).execute(conn).await?;
            super::record(conn, event_of(notice, notice.id)).await?;
        }
    }
    Ok(())
}

/// Removes the acts of an actor from a recipient's notifications, after a mute or a block. A block alone does not remove reports.
pub(super) async fn remove_acts_of_actor(
    conn: &mut Conn<'_>,
    recipient: DbId,
    actor: DbId,
    is_muted: bool,
) -> Outcome<()> {
    let of_recipient = notifications::table.filter(notifications::recipient_id.eq(recipient));
    let is_removed = notifications::kind.ne(kind_code(NotificationKind::Report)).or(is_muted.into_sql::<Bool>());
    diesel::delete(of_recipient.filter(notifications::actor_id.eq(actor)).filter(is_removed)).execute(conn).await?;
    // Gathered acts are found by their ids, which are part of the key of `notification_actors`.
    macro_rules! acts {
        ($kind:ident of $table:ident($subject:ident, $by:ident)) => {{
            let target = notifications::target_id.eq($table::$subject.nullable());
            let acts = of_recipient.inner_join($table::table.on(target.and($table::$by.eq(actor))));
            let of_kind = acts.filter(notifications::kind.eq(kind_code(NotificationKind::$kind)));
            of_kind.select((notifications::id, $table::id)).load::<(DbId, DbId)>(conn).await?
        }};
    }
    let mut acts = acts!(Like of likes(post_id, user_id));
    acts.extend(acts!(CommentLike of comment_likes(comment_id, user_id)));
    acts.extend(acts!(Follow of follows(followed_id, follower_id)));
    if acts.is_empty() {
        return Ok(());
    }
    let (ids, acts) = acts.into_iter().unzip();
    remove_acts(conn, ids, acts).await
}

/// Removes deleted likes or follows of a day from the notifications that gather them.
pub(super) async fn remove_acts_of_day(
    conn: &mut Conn<'_>,
    kind: NotificationKind,
    day: i32,
    targets: Vec<DbId>,
    acts: Vec<DbId>,
) -> Outcome<()> {
    let of_day = notifications::table.filter(notifications::day.eq(Some(day)));
    let of_day = of_day.filter(notifications::kind.eq(kind_code(kind)));
    let of_targets = of_day.filter(id_in(notifications::target_id.assume_not_null(), targets));
    let ids: Vec<DbId> = of_targets.select(notifications::id).load(conn).await?;
    if ids.is_empty() { Ok(()) } else { remove_acts(conn, ids, acts).await }
}

/// Removes acts from notifications, each of which has at most one of these acts.
async fn remove_acts(conn: &mut Conn<'_>, ids: Vec<DbId>, acts: Vec<DbId>) -> Outcome<()> {
    let actors = notification_actors::table.filter(id_in(notification_actors::notification_id, ids));
    let deleted = diesel::delete(actors.filter(id_in(notification_actors::id, acts)));
    let changed: Vec<DbId> = deleted.returning(notification_actors::notification_id).load(conn).await?;
    let is_last = notifications::count.eq(1);
    let one_less = (notifications::count.eq(notifications::count - 1), notifications::is_empty.eq(is_last));
    diesel::update(notifications::table.filter(id_in(notifications::id, changed))).set(one_less).execute(conn).await?;
    Ok(())
}
