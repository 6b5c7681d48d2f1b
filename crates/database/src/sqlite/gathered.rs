//! Notifications that gather the likes or follows of one day.

use agora_domain::notices::Notice;
use diesel::dsl::{auto_type, case_when, exists};
use diesel::{BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, OptionalExtension, QueryDsl};

use super::dialect::{Conn, RunQueryDsl};
use super::events::record;
use super::queries::notices::{event_of, should_notify};
use crate::error::Outcome;
use crate::notices::{Gathered, gathered_row, kind_code};
use crate::prepared::prepared;
use crate::schema::{ActorRecord, NotificationRecord, notification_actors, notification_withdrawals, notifications};
use crate::sql_types::{DbId, DbInstant};

/// Adds a like or a follow to the recipient's notification of the day.
pub(crate) async fn gather(conn: &mut Conn<'_>, relation: DbId, notice: Option<Notice>) -> Outcome<()> {
    let Some(notice) = notice else { return Ok(()) };
    if !should_notify(conn, &notice).await? {
        return Ok(());
    }
    let actor = DbId(notice.actor.uuid());
    let (notification_id, again) = add_to_notification_of_day(conn, gathered_row(&notice), actor).await?;
    if !again {
        record(conn, event_of(&notice, notification_id.0.into())).await?;
    }
    let actor = ActorRecord { notification_id, id: relation, actor_id: actor };
    diesel::insert_into(notification_actors::table).values(actor).execute(conn).await?;
    Ok(())
}

/// Counts one more in the notification of a day, or creates it. Returns its id, and whether the actor acts again.
async fn add_to_notification_of_day(
    conn: &mut Conn<'_>,
    row: NotificationRecord,
    actor: DbId,
) -> Outcome<(DbId, bool)> {
    let of_day = notifications::table
        .filter(notifications::day.eq(row.day))
        .filter(notifications::kind.eq(row.kind))
        .filter(notifications::target_id.eq(row.target_id));
    let gathered = diesel::update(of_day).set(with_one_more(row.updated_at, actor));
    let gathered = gathered.returning((notifications::id, is_again(actor)));
    if let Some(gathered) = prepared(gathered).get_result(conn).await.optional()? {
        return Ok(gathered);
    }
    let id = row.id;
    diesel::insert_into(notifications::table).values(row).execute(conn).await?;
    Ok((id, false))
}

/// Removes a like or a follow that was taken back from the recipient's notification of its day.
pub(crate) async fn withdraw(conn: &mut Conn<'_>, gathered: Gathered, relation: DbId, actor: DbId) -> Outcome<()> {
    let Some(id) = remove_from_notification_of_day(conn, gathered, relation).await? else { return Ok(()) };
    let withdrawal = (notification_withdrawals::notification_id.eq(id), notification_withdrawals::actor_id.eq(actor));
    diesel::insert_into(notification_withdrawals::table)
        .values(withdrawal)
        .on_conflict_do_nothing()
        .execute(conn)
        .await?;
    Ok(())
}

/// Removes a like or a follow from the recipient's notification of its day. Returns the notification, if it was in one.
async fn remove_from_notification_of_day(
    conn: &mut Conn<'_>,
    Gathered { kind, target, day }: Gathered,
    relation: DbId,
) -> Outcome<Option<DbId>> {
    let of_day = notifications::table
        .filter(notifications::day.eq(Some(day)))
        .filter(notifications::kind.eq(kind_code(kind)))
        .filter(notifications::target_id.eq(Some(target)))
        .select(notifications::id);
    let actors = notification_actors::table
        .filter(notification_actors::notification_id.nullable().eq(of_day.single_value()))
        .filter(notification_actors::id.eq(relation));
    let deleted = diesel::delete(actors).returning(notification_actors::notification_id);
    let Some(id) = deleted.get_result::<DbId>(conn).await.optional()? else { return Ok(None) };
    let is_last = notifications::count.eq(1);
    let one_less = (notifications::count.eq(notifications::count - 1), notifications::is_empty.eq(is_last));
    prepared(diesel::update(notifications::table.find(id)).set(one_less)).execute(conn).await?;
    Ok(Some(id))
}

/// The condition that the actor has taken the same act back on the same day, and so acts again.
#[auto_type]
fn is_again(actor: DbId) -> _ {
    let of_day = notification_withdrawals::notification_id.eq(notifications::id);
    exists(notification_withdrawals::table.filter(of_day).filter(notification_withdrawals::actor_id.eq(actor)))
}

/// The changes to a gathered notification when somebody acts. Somebody who acts again changes nothing but the count of actors.
#[auto_type]
fn with_one_more(at: DbInstant, actor: DbId) -> _ {
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
