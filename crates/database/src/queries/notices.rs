//! What a change tells whom, stored with it.

use agora_domain::notices::Notice;
use diesel::dsl::{auto_type, case_when, exists};
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl};

use super::{Conn, RunQueryDsl};
use crate::error::Outcome;
use crate::notices::{Gathered, gathered_row, kind_code, policy, row};
use crate::prepared::prepared;
use crate::schema::{
    ActorRecord, follows, notification_actors, notification_settings, notification_withdrawals, notifications,
};
use crate::sql_types::{DbId, DbInstant};

/// Returns whether the recipient wants to be told.
async fn is_wanted(conn: &mut Conn<'_>, notice: &Notice) -> Outcome<bool> {
    let (recipient, actor) = (DbId(notice.recipient.uuid()), DbId(notice.actor.uuid()));
    let follows = exists(follows::table.find((recipient, actor)));
    let setting = notification_settings::table.find((recipient, kind_code(notice.kind)));
    let chosen = setting.select((notification_settings::policy, follows)).get_result(conn).await.optional()?;
    let (code, follows): (i16, bool) = chosen.unwrap_or_default();
    Ok(policy(code)?.admits(follows))
}

/// Stores notices that stand alone.
pub(crate) async fn tell(conn: &mut Conn<'_>, notices: &[Notice]) -> Outcome<()> {
    // Each by itself: a statement of several rows would be prepared anew at each execution.
    for notice in notices {
        if is_wanted(conn, notice).await? {
            diesel::insert_into(notifications::table).values(row(notice)).execute(conn).await?;
        }
    }
    Ok(())
}

/// Whether somebody acts again who took the same act back on the same day.
#[auto_type]
fn is_again(actor: DbId) -> _ {
    let of_day = notification_withdrawals::notification_id.eq(notifications::id);
    exists(notification_withdrawals::table.filter(of_day).filter(notification_withdrawals::actor_id.eq(actor)))
}

/// What becomes of a gathered notification when somebody acts: who acts again changes its count alone.
#[auto_type]
pub(crate) fn with_one_more(at: DbInstant, actor: DbId) -> _ {
    let one: i64 = 1;
    let again: is_again = is_again(actor);
    let read_before: is_again = is_again(actor);
    let is_later = notifications::updated_at.gt(at);
    (
        notifications::count.eq(notifications::count + one),
        notifications::is_empty.eq(false),
        notifications::is_read.eq(notifications::is_read.and(read_before)),
        notifications::updated_at.eq(case_when(is_later.or(again), notifications::updated_at).otherwise(at)),
    )
}

/// Adds a like or a follow to what the recipient is told of the day.
pub(crate) async fn gather(conn: &mut Conn<'_>, relation: DbId, notice: Option<Notice>) -> Outcome<()> {
    let Some(notice) = notice else { return Ok(()) };
    if !is_wanted(conn, &notice).await? {
        return Ok(());
    }
    let actor = DbId(notice.actor.uuid());
    let notification_id = super::gather(conn, gathered_row(&notice), actor).await?;
    let actor = ActorRecord { notification_id, id: relation, actor_id: actor };
    diesel::insert_into(notification_actors::table).values(actor).execute(conn).await?;
    Ok(())
}

/// Takes a like or a follow that is taken back out of what the recipient was told of its day.
pub(crate) async fn withdraw(
    conn: &mut Conn<'_>,
    Gathered { kind, target, day }: Gathered,
    relation: DbId,
    actor: DbId,
) -> Outcome<()> {
    let of_day = notifications::table
        .filter(notifications::day.eq(Some(day)))
        .filter(notifications::kind.eq(kind_code(kind)))
        .filter(notifications::target_id.eq(Some(target)));
    let Some(id) = of_day.select(notifications::id).get_result::<DbId>(conn).await.optional()? else { return Ok(()) };
    if diesel::delete(notification_actors::table.find((id, relation))).execute(conn).await? == 0 {
        return Ok(());
    }
    let is_last = notifications::count.eq(1);
    let one_less = (notifications::count.eq(notifications::count - 1), notifications::is_empty.eq(is_last));
    prepared(diesel::update(notifications::table.find(id)).set(one_less)).execute(conn).await?;
    let withdrawal = (notification_withdrawals::notification_id.eq(id), notification_withdrawals::actor_id.eq(actor));
    diesel::insert_into(notification_withdrawals::table)
        .values(withdrawal)
        .on_conflict_do_nothing()
        .execute(conn)
        .await?;
    Ok(())
}
