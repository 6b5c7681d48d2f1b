//! What a change tells whom, stored with it.

use agora_domain::events::Event;
use agora_domain::id::NotificationId;
use agora_domain::notices::Notice;
use diesel::dsl::exists;
use diesel::{ExpressionMethods, NullableExpressionMethods, OptionalExtension, QueryDsl};

use super::{Conn, RunQueryDsl};
use crate::error::Outcome;
use crate::notices::{Gathered, gathered_row, kind_code, policy, row};
use crate::prepared::prepared;
use crate::schema::{
    ActorRecord, follows, notification_actors, notification_settings, notification_withdrawals, notifications,
};
use crate::sql_types::DbId;

/// Returns whether the recipient wants to be told.
async fn is_wanted(conn: &mut Conn<'_>, notice: &Notice) -> Outcome<bool> {
    let (recipient, actor) = (DbId(notice.recipient.uuid()), DbId(notice.actor.uuid()));
    let follows = exists(follows::table.find((recipient, actor)));
    let setting = notification_settings::table.find((recipient, kind_code(notice.kind)));
    let chosen = setting.select((notification_settings::policy, follows)).get_result(conn).await.optional()?;
    let (code, follows): (i16, bool) = chosen.unwrap_or_default();
    Ok(policy(code)?.admits(follows))
}

fn told(notice: &Notice, id: NotificationId) -> Event {
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

/// Adds a like or a follow to what the recipient is told of the day.
pub(crate) async fn gather(conn: &mut Conn<'_>, relation: DbId, notice: Option<Notice>) -> Outcome<()> {
    let Some(notice) = notice else { return Ok(()) };
    if !is_wanted(conn, &notice).await? {
        return Ok(());
    }
    let actor = DbId(notice.actor.uuid());
    let notification_id = super::gather(conn, gathered_row(&notice), actor).await?;
    super::record(conn, told(&notice, notification_id.0.into())).await?;
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
        .filter(notifications::target_id.eq(Some(target)))
        .select(notifications::id);
    let told = notification_actors::table
        .filter(notification_actors::notification_id.nullable().eq(of_day.single_value()))
        .filter(notification_actors::id.eq(relation));
    let taken_out = diesel::delete(told).returning(notification_actors::notification_id);
    let Some(id) = taken_out.get_result::<DbId>(conn).await.optional()? else { return Ok(()) };
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
