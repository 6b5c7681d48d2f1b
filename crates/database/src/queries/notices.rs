//! What a change tells whom, stored with it.

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

/// Returns whether the recipient is told: is there, neither mutes the actor nor is apart from them, and has no setting against it. A block
/// keeps no report from an administrator.
/// PostgreSQL's functions of the schema do not ask whether the recipient is there, and no foreign key refuses what tells nobody.
pub(crate) async fn is_wanted(conn: &mut Conn<'_>, notice: &Notice) -> Outcome<bool> {
    let (recipient, actor) = (DbId(notice.recipient.uuid()), DbId(notice.actor.uuid()));
    let follows = exists(follows::table.find((recipient, actor)));
    let (is_muted, is_apart) =
        (exists(mutes::table.find((recipient, actor))), exists(blocks::table.find((recipient, actor))));
    let setting = notification_settings::table.find((recipient, kind_code(notice.kind)));
    let setting = setting.select(notification_settings::policy).single_value();
    let is_there = exists(users::table.find(recipient).filter(not(users::is_deleted)));
    let chosen = diesel::select((setting, follows, is_there, is_muted, is_apart)).get_result(conn).await?;
    let (code, follows, is_there, is_muted, is_apart): (Option<i16>, bool, bool, bool, bool) = chosen;
    let is_unheard = is_muted || (is_apart && notice.kind != NotificationKind::Report);
    Ok(is_there && !is_unheard && policy(code.unwrap_or_default())?.admits(follows))
}

/// Returns the event that somebody is told of an act.
pub(crate) fn told(notice: &Notice, id: NotificationId) -> Event {
    Event::Notified(notice.recipient, id, notice.kind)
}

/// Stores notices that stand alone.
pub(crate) async fn tell(conn: &mut Conn<'_>, notices: &[Notice]) -> Outcome<()> {
    // Each by itself: a statement of several rows would be prepared anew at each execution.
    for notice in notices {
        if is_wanted(conn, notice).await? {
            diesel::insert_into(notifications::table).values(row(notice)).execute(conn).await?;
            super::record(conn, told(notice, notice.id)).await?;
        }
    }
    Ok(())
}

/// Takes what somebody did out of what a recipient is told, who mutes them or is apart from them by now: but no report because of a block.
pub(super) async fn forget(conn: &mut Conn<'_>, recipient: DbId, actor: DbId, is_muted: bool) -> Outcome<()> {
    let told = notifications::table.filter(notifications::recipient_id.eq(recipient));
    let is_forgotten = notifications::kind.ne(kind_code(NotificationKind::Report)).or(is_muted.into_sql::<Bool>());
    diesel::delete(told.filter(notifications::actor_id.eq(actor)).filter(is_forgotten)).execute(conn).await?;
    // By the id of the act, which is in the key of what tells of it.
    macro_rules! acts {
        ($kind:ident of $table:ident($subject:ident, $by:ident)) => {{
            let target = notifications::target_id.eq($table::$subject.nullable());
            let acts = told.inner_join($table::table.on(target.and($table::$by.eq(actor))));
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
    let (told, acts) = acts.into_iter().unzip();
    take_out_of(conn, told, acts).await
}

/// Takes likes or follows of a day that are gone out of what the recipients were told of it.
pub(super) async fn take_out_all(
    conn: &mut Conn<'_>,
    kind: NotificationKind,
    day: i32,
    targets: Vec<DbId>,
    acts: Vec<DbId>,
) -> Outcome<()> {
    let of_day = notifications::table.filter(notifications::day.eq(Some(day)));
    let of_day = of_day.filter(notifications::kind.eq(kind_code(kind)));
    let told = of_day.filter(id_in(notifications::target_id.assume_not_null(), targets));
    let told: Vec<DbId> = told.select(notifications::id).load(conn).await?;
    if told.is_empty() { Ok(()) } else { take_out_of(conn, told, acts).await }
}

/// Takes acts out of notifications, each of which tells of one of them at most.
async fn take_out_of(conn: &mut Conn<'_>, told: Vec<DbId>, acts: Vec<DbId>) -> Outcome<()> {
    let told = notification_actors::table.filter(id_in(notification_actors::notification_id, told));
    let told = diesel::delete(told.filter(id_in(notification_actors::id, acts)));
    let told: Vec<DbId> = told.returning(notification_actors::notification_id).load(conn).await?;
    let is_last = notifications::count.eq(1);
    let one_less = (notifications::count.eq(notifications::count - 1), notifications::is_empty.eq(is_last));
    diesel::update(notifications::table.filter(id_in(notifications::id, told))).set(one_less).execute(conn).await?;
    Ok(())
}
