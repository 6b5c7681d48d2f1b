//! Notifications that gather the likes or follows of one day.

#![allow(clippy::too_many_arguments, reason = "a function of the schema takes the columns of a row")]

use agora_domain::notices::Notice;
use diesel::define_sql_function;
use diesel::sql_types::{Integer, Nullable, SmallInt};

use super::dialect::{Conn, RunQueryDsl};
use crate::error::Outcome;
use crate::notices::{Gathered, gathered_row, kind_code};
use crate::sql_types::{DbId, Id, Instant};

define_sql_function! {
    /// Adds an act to the recipient's notification of the day, unless the recipient does not want to be notified of it.
    fn gather_notice(
        id: Id, kind: SmallInt, recipient: Id, actor: Id, act: Id, post: Nullable<Id>, comment: Nullable<Id>,
        subject: Nullable<Id>, day: Nullable<Integer>, at: Instant,
    );
}

define_sql_function! {
    /// Removes an act that was taken back from the recipient's notification of its day.
    fn withdraw_notice(kind: SmallInt, subject: Id, day: Integer, act: Id, actor: Id);
}

/// Adds a like or a follow to the recipient's notification of the day.
pub(crate) async fn gather(conn: &mut Conn<'_>, relation: DbId, notice: Option<Notice>) -> Outcome<()> {
    let Some(notice) = notice else { return Ok(()) };
    let (row, actor) = (gathered_row(&notice), DbId(notice.actor.uuid()));
    let call = gather_notice(
        row.id,
        row.kind,
        row.recipient_id,
        actor,
        relation,
        row.post_id,
        row.comment_id,
        row.target_id,
        row.day,
        row.updated_at,
    );
    diesel::select(call).execute(conn).await?;
    Ok(())
}

/// Removes a like or a follow that was taken back from the recipient's notification of its day.
pub(crate) async fn withdraw(conn: &mut Conn<'_>, gathered: Gathered, relation: DbId, actor: DbId) -> Outcome<()> {
    let Gathered { kind, target, day } = gathered;
    diesel::select(withdraw_notice(kind_code(kind), target, day, relation, actor)).execute(conn).await?;
    Ok(())
}
