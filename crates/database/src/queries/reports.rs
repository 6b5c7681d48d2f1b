//! Reports of users.

use std::collections::HashMap;

use agora_domain::Error;
use agora_domain::error::Resource;
use agora_domain::notices::Notice;
use agora_domain::reports::{REPORTS_AN_HOUR, Report, ReportDecision, ReportStatus, ReportTargetKind, Reported};
use diesel::dsl::not;
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};

use super::accounts::lock_account;
use super::{Conn, RunQueryDsl, audit, built, id_in, notices};
use crate::account_filters::is_account_deleted;
use crate::error::{Failure, Outcome};
use crate::reports::{FoundComment, FoundReport, kind_code, status_code};
use crate::rows::{PreviewRow, Slice};
use crate::schema::{AuditRecord, ReportRecord, comments, posts, reports, users};
use crate::sql_types::{DbId, DbInstant};

const COMMENT: i16 = kind_code(ReportTargetKind::Comment);
const NO_REPORT: Failure = Failure::Rule(Error::NotFound(Resource::Report));

/// Stores a report and its notifications, unless the reporter has an open report about the same target.
pub(crate) async fn create(conn: &mut Conn<'_>, report: Report, notices: Vec<Notice>) -> Outcome<Reported> {
    let record = ReportRecord::of(&report);
    // Locks the reporter, so that no other report of theirs is stored meanwhile.
    lock_account(conn, record.reporter_id).await?;
    let of_reporter = reports::table.filter(reports::reporter_id.eq(record.reporter_id));
    let open = of_reporter
        .filter(reports::status.eq(status_code(ReportStatus::Open)))
        .filter(reports::target_kind.eq(record.target_kind).and(reports::target_id.eq(record.target_id)));
    if let Some(open) = open.select(reports::id).get_result::<DbId>(conn).await.optional()? {
        return Ok(Reported::AlreadyOpen(open.0.into()));
    }
    let period = REPORTS_AN_HOUR.period_millis();
    // Not those of a clock that was ahead by more, for which the account would have to wait until then.
    let [since, until] = [-period, period].map(|millis| DbInstant(report.created_at.plus_millis(millis)));
    let recent = of_reporter.filter(reports::created_at.gt(since).and(reports::created_at.le(until)));
    let newest = recent.order((reports::created_at.desc(), reports::id.desc()));
    let oldest_counted = newest.select(reports::created_at).offset(i64::from(REPORTS_AN_HOUR.most) - 1).limit(1);
    if let Some(oldest) = oldest_counted.get_result::<DbInstant>(conn).await.optional()? {
        return Err(Failure::Rule(Report::too_many(oldest.0, report.created_at)));
    }
    diesel::insert_into(reports::table).values(record).execute(conn).await?;
    notices::notify(conn, &notices).await?;
    Ok(Reported::Created(report.id))
}

pub(crate) async fn find(conn: &mut Conn<'_>, id: DbId) -> Outcome<Option<FoundReport>> {
    let found = reports::table.inner_join(users::table).filter(reports::id.eq(id)).filter(not(users::is_deleted));
    let found = found.select((ReportRecord::as_select(), PreviewRow::as_select()));
    let found = found.get_result(conn).await.optional()?;
    Ok(with_comments(conn, found.into_iter().collect()).await?.pop())
}

/// Adds the comments that reports are about.
async fn with_comments(conn: &mut Conn<'_>, found: Vec<(ReportRecord, PreviewRow)>) -> Outcome<Vec<FoundReport>> {
    let of_comments = found.iter().filter(|(report, _)| report.target_kind == COMMENT);
    let ids: Vec<DbId> = of_comments.map(|(report, _)| report.target_id).collect();
    let mut there = HashMap::new();
    if !ids.is_empty() {
        // Comments that are left of deleted posts and accounts must not be shown to anybody.
        let comments = comments::table.inner_join(users::table).inner_join(posts::table);
        let comments = comments.filter(id_in(comments::id, ids)).filter(posts::deleted_at.is_null());
        let comments = comments.filter(not(users::is_deleted)).filter(not(is_account_deleted(posts::author_id)));
        let columns = (comments::post_id, PreviewRow::as_select(), comments::content, comments::is_hidden);
        let comments: Vec<(DbId, FoundComment)> = comments.select((comments::id, columns)).load(conn).await?;
        there.extend(comments);
    }
    let with_comment = |(report, reporter): (ReportRecord, PreviewRow)| {
        let comment = there.get(&report.target_id).filter(|_| report.target_kind == COMMENT).cloned();
        (report, reporter, comment)
    };
    Ok(found.into_iter().map(with_comment).collect())
}

/// Returns a slice of the reports with a status, or of all reports.
pub(crate) async fn list(conn: &mut Conn<'_>, status: Option<i16>, slice: Slice) -> Outcome<Vec<FoundReport>> {
    // Boxed, so that it is planned for the status: few reports may have it.
    let mut found = reports::table
        .inner_join(users::table)
        .filter(not(is_account_deleted(reports::reporter_id)))
        .select((ReportRecord::as_select(), PreviewRow::as_select()))
        .into_boxed();
    if let Some(status) = status {
        found = found.filter(reports::status.eq(status));
    }
    let found = super::load!(found, reports, slice, conn)?;
    with_comments(conn, found).await
}

/// Applies the domain's rule of deciding to the stored report.
pub(crate) async fn decide(conn: &mut Conn<'_>, id: DbId, decision: ReportDecision, entry: AuditRecord) -> Outcome<()> {
    super::lock_report(conn, id).await?;
    let stored = reports::table.find(id).select(ReportRecord::as_select()).get_result(conn).await.optional()?;
    let stored = stored.ok_or(NO_REPORT)?.report()?;
    let decided = stored.clone().decided(&decision);
    if decided == stored {
        return Ok(());
    }
    diesel::update(reports::table.find(id)).set(ReportRecord::of(&decided)).execute(conn).await?;
    audit::record(conn, entry).await
}
