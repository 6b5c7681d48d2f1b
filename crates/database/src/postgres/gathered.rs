//! Likes and follows of a day, told together.

use agora_domain::notices::Notice;
use diesel::define_sql_function;
use diesel::sql_types::{Integer, Nullable, SmallInt};

use super::dialect::{Conn, RunQueryDsl};
use crate::error::Outcome;
use crate::notices::gathered_row;
use crate::sql_types::{DbId, Id, Instant};

define_sql_function! {
    /// Adds an act to what its recipient is told of the day, unless the recipient does not want to hear of it.
    fn gather_notice(
        id: Id, kind: SmallInt, recipient: Id, actor: Id, act: Id, post: Nullable<Id>, comment: Nullable<Id>,
        subject: Nullable<Id>, day: Nullable<Integer>, at: Instant,
    );
}

/// Adds a like or a follow to what the recipient is told of the day.
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
