//! The audit log.

use agora_domain::audit::Actor;
use agora_domain::audit_log::AuditFilter;
use diesel::dsl::not;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, NullableExpressionMethods, QueryDsl, SelectableHelper,
};

use super::{Conn, RunQueryDsl, built};
use crate::audit::action_code;
use crate::error::Outcome;
use crate::rows::{PreviewRow, Slice};
use crate::schema::{AuditRecord, audit, users};
use crate::sql_types::DbId;

/// Stores an entry, in the transaction of the action.
pub(crate) async fn record(conn: &mut Conn<'_>, entry: AuditRecord) -> Outcome<()> {
    diesel::insert_into(audit::table).values(entry).execute(conn).await?;
    Ok(())
}

/// Returns a slice of the entries that match a filter, each with the account that acted, if it was one that still exists.
pub(crate) async fn list(
    conn: &mut Conn<'_>,
    filter: AuditFilter,
    slice: Slice,
) -> Outcome<Vec<(AuditRecord, Option<PreviewRow>)>> {
    let actor = users::table.on(audit::actor_id.eq(users::id.nullable()).and(not(users::is_deleted).nullable()));
    let mut entries = audit::table
        .left_join(actor)
        .select((AuditRecord::as_select(), Option::<PreviewRow>::as_select()))
        .into_boxed();
    entries = match filter.actor {
        None => entries,
        Some(Actor::CommandLine) => entries.filter(audit::actor_id.is_null()),
        Some(Actor::Account(id)) => entries.filter(audit::actor_id.eq(DbId(id.uuid()))),
    };
    if let Some(target) = filter.target {
        entries = entries.filter(audit::target_id.eq(DbId(target)));
    }
    if let Some(action) = filter.action {
        entries = entries.filter(audit::action.eq(action_code(action)));
    }
    Ok(super::load!(entries, audit, slice, conn)?)
}
