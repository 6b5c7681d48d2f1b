//! `/api/admin/audit`: the audit log of what administrators did.

use agora_domain::FieldErrors;
use agora_domain::accounts::Admin;
use agora_domain::audit::Actor;
use agora_domain::audit_log::{AuditFilter, AuditView};
use agora_domain::error::{FieldName, Violation, ViolationKind};
use agora_domain::page::PageRequest;
use uuid::Uuid;

use crate::core::{ApiError, State, schema};
use crate::request::{AuditLogFilter, Auth, List, Query, ShortPaging, parse_uuid};
use crate::response::{Entry, HandlerResult, Instant, ListRequest, MiniBody, SUCCESS, answers, empty_list, views};

answers! {
    /// Entries of the audit log.
    AuditLogAnswer { Vec<AuditEntryBody<'static>> }
}

views! {
    /// An action of an administrator.
    AuditEntryBody as AuditEntry of view: AuditView, state: &State {
        /// The id of the entry.
        id: Uuid = view.entry.id.uuid(),
        at: Instant [schema::acted_at] = Instant(view.entry.at),
        /// The administrator; null if the action was taken from the command line, or the account was deleted since.
        #[schema(required = true)]
        actor: Option<MiniBody<'a>> = view.actor.as_ref().map(|actor| MiniBody::of(actor, state)),
        /// The id of the administrator, even if the account was deleted since; null if the action was taken from the command
        /// line.
        #[schema(required = true)]
        actor_id: Option<Uuid> = match view.entry.actor {
            Actor::Account(id) => Some(id.uuid()),
            Actor::CommandLine => None,
        },
        action: &'static str [schema::audit_action] = view.entry.action.as_str(),
        target_type: &'static str [schema::audit_target_type] = view.entry.target.kind().as_str(),
        /// The id of the target, which may have been deleted since; null for the catalog and the service.
        #[schema(required = true)]
        target_id: Option<Uuid> = view.entry.target.id(),
        /// The role, the reason, the note, the SKU, or the outcome of an import; null if there are no details.
        #[schema(required = true)]
        details: Option<&'a str> = view.entry.details.as_deref(),
    }
}

/// List the audit log
///
/// The actions of administrators, newest first.
#[utoipa::path(get, path = "", operation_id = "listAuditLog", tag = "Administration",
    params(AuditLogFilter, ShortPaging),
    responses((status = 200, description = "A page of entries.", body = AuditLogAnswer)))]
pub(crate) async fn list(request: ListRequest, admin: Auth<Admin>) -> HandlerResult {
    let (state, (filter, page)) = (&request.state, filtered_page(&request.query)?);
    let read = async |page| state.services.audit_log.list(&admin, filter, page).await;
    let render = |view: &AuditView, entry: Entry<'_>| entry.write(&AuditEntryBody::of(view, state));
    request.answer(List::AuditLog, page, |_| empty_list(SUCCESS), read, render).await
}

fn filtered_page(query: &Query) -> Result<(AuditFilter, PageRequest), ApiError> {
    let mut errors = FieldErrors::default();
    let actor = errors.check_optional(FieldName::AuditActor, query.get(FieldName::AuditActor), str::parse);
    let target = errors.check_optional(FieldName::AuditTarget, query.get(FieldName::AuditTarget), |given| {
        parse_uuid(given).ok_or_else(|| Violation::new(ViolationKind::InvalidFormat, "target must be a UUID"))
    });
    let action = errors.check_optional(FieldName::Action, query.get(FieldName::Action), str::parse);
    Ok((AuditFilter { actor, target, action }, query.short_page_with(List::AuditLog, errors)?))
}
