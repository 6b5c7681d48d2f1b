//! `/api/reports`, `/api/admin/reports…`: reports of users, and the decisions of administrators about them.

use actix_web::web::Data;
use agora_domain::FieldErrors;
use agora_domain::accounts::{Admin, Member};
use agora_domain::error::FieldName;
use agora_domain::id::ReportId;
use agora_domain::page::PageRequest;
use agora_domain::reports::{
    ReportCategory, ReportComment, ReportDecision, ReportFields, ReportNote, ReportStatus, ReportTarget,
    ReportTargetKind, ReportView, Reported, ReportedComment, Verdict,
};
use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::core::{ApiError, State, schema};
use crate::middleware::RequestAttempt;
use crate::request::{Auth, Body, Field, List, PathId, Query, ReportFilter, ShortPaging, optional, required};
use crate::response::{
    Done, Entry, HandlerResult, Instant, ListRequest, MiniBody, NotFound, Rendered, SUCCESS, answers, done, empty_list,
    ok, respond, views,
};

answers! {
    /// The id of a report.
    ReportedAnswer { ReportedBody }
    /// A report.
    ReportAnswer { ReportBody<'static> }
    /// Reports.
    ReportsAnswer { Vec<ReportBody<'static>> }
}

/// The id of a report.
#[derive(Serialize, ToSchema)]
#[schema(as = Reported)]
pub(crate) struct ReportedBody {
    /// The id of the report.
    id: Uuid,
}

views! {
    /// A report. It stays even if its target is deleted.
    ReportBody as Report of view: ReportView, state: &State {
        /// The id of the report.
        id: Uuid = view.report.id.uuid(),
        created_at: Instant [schema::created_at] = Instant(view.report.created_at),
        reporter: MiniBody<'a> = MiniBody::of(&view.reporter, state),
        target_type: &'static str [schema::report_target_type] = view.report.target.kind().as_str(),
        /// The id of the target.
        target_id: Uuid = view.report.target.id(),
        category: &'static str [schema::report_category] = view.report.category.as_str(),
        comment: Option<&'a str> [schema::report_comment] = view.report.comment.as_ref().map(ReportComment::as_str),
        status: &'static str [schema::report_status] = view.report.status.as_str(),
        note: Option<&'a str> [schema::report_note] = view.report.note.as_ref().map(ReportNote::as_str),
        /// The reported comment while it exists; null otherwise.
        #[schema(required = true)]
        reported_comment: Option<ReportedCommentBody<'a>> =
            view.reported_comment.as_ref().map(|comment| ReportedCommentBody::of(comment, state)),
    }

    /// A reported comment in its present state.
    ReportedCommentBody as ReportedComment of comment: ReportedComment, state: &State {
        /// The id of the post that it is on.
        post_id: Uuid = comment.post.uuid(),
        author: MiniBody<'a> = MiniBody::of(&comment.author, state),
        content: &'a str [schema::comment_text] = comment.content.as_str(),
        hidden: bool [schema::hidden] = comment.is_hidden,
    }
}

/// A new report of a post, a comment or a user.
#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewReport {
    #[garde(custom(required))]
    #[schema(schema_with = schema::report_target_type)]
    target_type: Field<ReportTargetKind>,
    /// The id of the target.
    #[garde(custom(required))]
    #[schema(value_type = Uuid)]
    target_id: Field<Uuid>,
    #[garde(custom(required))]
    #[schema(schema_with = schema::report_category)]
    category: Field<ReportCategory>,
    #[garde(custom(optional))]
    #[schema(schema_with = schema::new_report_comment, required = false)]
    comment: Field<Option<ReportComment>>,
}

impl NewReport {
    fn fields(self) -> agora_domain::Result<ReportFields> {
        let target = ReportTarget::of(self.target_type.validated()?, self.target_id.validated()?);
        Ok(ReportFields { target, category: self.category.validated()?, comment: self.comment.value().flatten() })
    }
}

/// Report a post, a comment or a user
///
/// Notifies the administrators. The caller must be allowed to view the target; blocks do not matter. While a report by the caller
/// about the same target is open, the answer is 200 with that report. At most 20 new reports an hour (then 429).
#[utoipa::path(get, path = "", operation_id = "createReport", tag = "Safety", request_body = NewReport,
    responses(
        (status = 200, description = "The caller's report of this target is still open.", body = ReportedAnswer),
        (status = 201, description = "`Report created successfully`", body = ReportedAnswer),
        NotFound,
    ))]
pub(crate) async fn create(
    state: Data<State>,
    caller: Auth<Member>,
    RequestAttempt(attempt): RequestAttempt,
    body: Body,
) -> HandlerResult {
    let fields = body.valid_json::<NewReport>().await?.fields()?;
    match state.services.reports.create(&caller, fields, attempt).await? {
        Reported::Created(id) => {
            respond(Rendered::created("Report created successfully", ReportedBody { id: id.uuid() }))
        }
        Reported::AlreadyOpen(id) => ok(SUCCESS, ReportedBody { id: id.uuid() }),
    }
}

/// List reports
///
/// Newest first.
#[utoipa::path(get, path = "", operation_id = "listReports", tag = "Administration",
    params(ReportFilter, ShortPaging),
    responses((status = 200, description = "A page of reports.", body = ReportsAnswer)))]
pub(crate) async fn list(request: ListRequest, admin: Auth<Admin>) -> HandlerResult {
    let (state, (status, page)) = (&request.state, filtered_page(&request.query)?);
    let read = async |page| state.services.reports.list(&admin, status, page).await;
    let render = |report: &ReportView, entry: Entry<'_>| entry.write(&ReportBody::of(report, state));
    request.answer(List::Reports, page, |_| empty_list(SUCCESS), read, render).await
}

fn filtered_page(query: &Query) -> Result<(Option<ReportStatus>, PageRequest), ApiError> {
    let mut errors = FieldErrors::default();
    let status = errors.check_optional(FieldName::Status, query.get(FieldName::Status), str::parse);
    Ok((status, query.short_page_with(List::Reports, errors)?))
}

/// Get a report
#[utoipa::path(get, path = "", operation_id = "getReport", tag = "Administration",
    responses((status = 200, description = "The report.", body = ReportAnswer), NotFound))]
pub(crate) async fn get(state: Data<State>, admin: Auth<Admin>, id: PathId<ReportId>) -> HandlerResult {
    let report = state.services.reports.get(&admin, id.0).await?;
    ok(SUCCESS, ReportBody::of(&report, &state))
}

/// A decision on a report.
#[derive(Deserialize, Validate, ToSchema)]
#[schema(as = ReportDecision)]
pub(crate) struct DecisionRequest {
    #[garde(custom(required))]
    #[schema(schema_with = schema::report_verdict)]
    status: Field<Verdict>,
    #[garde(custom(optional))]
    #[schema(schema_with = schema::new_report_note, required = false)]
    note: Field<Option<ReportNote>>,
}

/// Decide on a report
///
/// A decision can be changed, but not withdrawn. Without a note, the previous note is removed. Safe to repeat. The target of the
/// report stays as it is.
#[utoipa::path(get, path = "", operation_id = "decideReport", tag = "Administration", request_body = DecisionRequest,
    responses((status = 200, description = "`success`", body = Done), NotFound))]
pub(crate) async fn decide(state: Data<State>, admin: Auth<Admin>, id: PathId<ReportId>, body: Body) -> HandlerResult {
    let report = state.services.reports.managed(&admin, id.0).await?;
    let DecisionRequest { status, note } = body.valid_json().await?;
    let decision = ReportDecision { verdict: status.validated()?, note: note.value().flatten() };
    state.services.reports.decide(report, &decision).await?;
    done(SUCCESS)
}
