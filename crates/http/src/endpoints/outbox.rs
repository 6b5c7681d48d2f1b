//! `/api/admin/mails…`: the outbox of mails, for administrators.

use actix_web::web::Data;
use agora_domain::accounts::Admin;
use agora_domain::error::{FieldName, Violation, ViolationKind};
use agora_domain::id::MailId;
use agora_domain::mail::{MailStatus, MailView};
use uuid::Uuid;

use crate::core::{ApiError, State, schema};
use crate::request::{Auth, MailFilter, PathId, Query};
use crate::response::{Done, HandlerResult, Instant, ListRequest, NotFound, SUCCESS, answers, done, ok, views};

answers! {
    /// Mails.
    MailsAnswer { Vec<MailBody<'static>> }
}

views! {
    /// A mail in the outbox.
    MailBody as Mail of mail: MailView {
        /// The id of the mail.
        id: Uuid = mail.id.uuid(),
        kind: &'static str [schema::mail_kind] = mail.kind.as_str(),
        address: &'a str [schema::mail_address] = &mail.address,
        created_at: Instant [schema::created_at] = Instant(mail.created_at),
        /// The number of attempts to send it.
        attempts: u32 = mail.attempts,
        due_at: Instant [schema::mail_due_at] = Instant(mail.due_at),
        failure: Option<&'a str> [schema::mail_failure] = mail.failure.as_deref(),
    }
}

/// List mails
///
/// Earliest due first, 100 at most.
#[utoipa::path(get, path = "", operation_id = "listMails", tag = "Administration", params(MailFilter),
    responses((status = 200, description = "The mails.", body = MailsAnswer)))]
pub(crate) async fn list(request: ListRequest, admin: Auth<Admin>) -> HandlerResult {
    let mails = request.state.services.outbox.list(&admin, status(&request.query)?).await?;
    ok(SUCCESS, mails.iter().map(MailBody::of).collect::<Vec<_>>())
}

fn status(query: &Query) -> Result<MailStatus, ApiError> {
    let missing = || Violation::new(ViolationKind::Required, "Status is required");
    let status = query.get(FieldName::Status).ok_or_else(missing).and_then(str::parse);
    Ok(status.map_err(|violation| agora_domain::Error::field(FieldName::Status, violation))?)
}

/// Retry a mail
///
/// Tries to send a mail that waits, or that was given up: at once, and then for two days from now.
#[utoipa::path(get, path = "", operation_id = "retryMail", tag = "Administration",
    responses((status = 200, description = "`success`", body = Done), NotFound))]
pub(crate) async fn retry(state: Data<State>, admin: Auth<Admin>, id: PathId<MailId>) -> HandlerResult {
    state.services.outbox.retry(&admin, id.0).await?;
    done(SUCCESS)
}
