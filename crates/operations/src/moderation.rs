//! `agora audit` and `agora reports`: the audit log and the reports of users, on the command line.

use std::fmt::Write;

use agora_domain::Error;
use agora_domain::accounts::{Accounts, LoginIdentifier, ManagedAccount};
use agora_domain::audit::{Action, Actor};
use agora_domain::audit_log::{AuditFilter, AuditLog, AuditView};
use agora_domain::clock::Timestamp;
use agora_domain::error::Violation;
use agora_domain::id::ReportId;
use agora_domain::page::{Page, PageRequest};
use agora_domain::reports::{ReportDecision, ReportNote, ReportStatus, ReportView, Reports, Verdict};
use anyhow::{Result, anyhow, bail};
use clap::{Args, Subcommand, ValueEnum};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

/// Which entries of the audit log are shown.
#[derive(Debug, Args)]
pub struct AuditArguments {
    /// Only actions of this administrator, by username or email; `cli` for the command line
    #[arg(long, value_name = "WHO")]
    actor: Option<String>,
    /// Only actions on the target with this id
    #[arg(long, value_name = "ID")]
    target: Option<Uuid>,
    /// Only this action, such as `role_added`
    #[arg(long)]
    action: Option<String>,
    /// The maximum number of entries
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    limit: usize,
}

/// What `agora reports` does.
#[derive(Debug, Subcommand)]
pub enum ReportsCommand {
    /// List reports, newest first
    List {
        /// Only reports with this status
        #[arg(long, value_enum, default_value_t = StatusFilter::Open)]
        status: StatusFilter,
        /// The maximum number of reports
        #[arg(long, value_name = "NUMBER", default_value_t = 50)]
        limit: usize,
    },
    /// Mark a report as justified. The reported content stays as it is
    Resolve(Decision),
    /// Mark a report as unjustified
    Reject(Decision),
}

/// Which reports are listed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum StatusFilter {
    /// Reports without a decision
    Open,
    /// Reports marked as justified
    Resolved,
    /// Reports marked as unjustified
    Rejected,
    /// All reports
    All,
}

impl StatusFilter {
    const fn status(self) -> Option<ReportStatus> {
        match self {
            Self::Open => Some(ReportStatus::Open),
            Self::Resolved => Some(ReportStatus::Resolved),
            Self::Rejected => Some(ReportStatus::Rejected),
            Self::All => None,
        }
    }
}

/// A report, and a note about the decision.
#[derive(Debug, Args)]
pub struct Decision {
    /// The id of the report
    id: Uuid,
    /// A note for other administrators
    #[arg(long)]
    note: Option<String>,
}

/// Carries out `agora audit`; returns the entries, a line each.
///
/// # Errors
/// What is wrong with the arguments, or with the database.
pub async fn audit(accounts: &Accounts, log: &AuditLog, arguments: AuditArguments) -> Result<String> {
    let AuditArguments { actor, target, action, limit } = arguments;
    let action = action.as_deref().map(action_called).transpose()?;
    let actor = match actor {
        Some(name) => Some(actor_called(accounts, &name).await?),
        None => None,
    };
    let filter = AuditFilter { actor, target, action };
    let entries = all(limit, async |page| log.list_for_operator(filter, page).await).await?;
    lines(&entries, "No entry matches.", entry_line)
}

fn action_called(name: &str) -> Result<Action> {
    let words = || Action::ALL.map(Action::as_str).join(", ");
    name.parse().map_err(|_: Violation| anyhow!("there is no action {name}; the actions are {}", words()))
}

async fn actor_called(accounts: &Accounts, name: &str) -> Result<Actor> {
    if let Ok(Actor::CommandLine) = name.parse() {
        return Ok(Actor::CommandLine);
    }
    Ok(Actor::Account(account_called(accounts, name).await?.id()))
}

/// Finds the account with this username or email address.
pub(crate) async fn account_called(accounts: &Accounts, name: &str) -> Result<ManagedAccount> {
    let identifier = LoginIdentifier::parse(name).map_err(|violation| anyhow!("{violation}"))?;
    match accounts.managed_by_operator(&identifier).await {
        Ok(account) => Ok(account),
        Err(Error::NotFound(_)) => bail!("no account has the username or email {name}"),
        Err(error) => Err(error.into()),
    }
}

/// Carries out `agora reports`; returns a text for the operator.
///
/// # Errors
/// What is wrong with the arguments, or with the database.
pub async fn reports(reports: &Reports, command: ReportsCommand) -> Result<String> {
    match command {
        ReportsCommand::List { status, limit } => {
            let found = all(limit, async |page| reports.list_for_operator(status.status(), page).await).await?;
            lines(&found, "No report has this status.", report_line)
        }
        ReportsCommand::Resolve(decision) => decide(reports, decision, Verdict::Resolved).await,
        ReportsCommand::Reject(decision) => decide(reports, decision, Verdict::Rejected).await,
    }
}

async fn decide(reports: &Reports, Decision { id, note }: Decision, verdict: Verdict) -> Result<String> {
    let note = note.as_deref().map_or(Ok(None), ReportNote::parse).map_err(|violation| anyhow!("{violation}"))?;
    let report = match reports.managed_by_operator(ReportId::new(id)).await {
        Err(Error::NotFound(_)) => bail!("no report has the id {id}"),
        found => found?,
    };
    reports.decide(report, &ReportDecision { verdict, note }).await?;
    Ok(format!("The report {id} is {}.", verdict.status().as_str()))
}

/// Reads the pages of a list until its end or until there are `limit` entries.
async fn all<T>(limit: usize, read: impl AsyncFn(PageRequest) -> agora_domain::Result<Page<T>>) -> Result<Vec<T>> {
    let (mut found, mut request) = (Vec::new(), PageRequest::PART);
    loop {
        let page = read(request).await?;
        found.extend(page.items);
        match page.next {
            Some(from) if found.len() < limit => request.from = from,
            _ => break,
        }
    }
    found.truncate(limit);
    Ok(found)
}

pub(crate) fn lines<T>(entries: &[T], none: &str, line: impl Fn(&T) -> Result<String>) -> Result<String> {
    let lines = entries.iter().map(line).collect::<Result<Vec<_>>>()?;
    Ok(if lines.is_empty() { none.to_owned() } else { lines.join("\n") })
}

pub(crate) fn instant(at: Timestamp) -> Result<String> {
    Ok(OffsetDateTime::from_unix_timestamp(at.unix_seconds())?.format(&Rfc3339)?)
}

/// Returns a text of a user in quotes, on one line, with control characters escaped so that they do not reach the terminal.
pub(crate) fn quoted(text: &str) -> String {
    format!("{text:?}")
}

fn entry_line(AuditView { entry, actor }: &AuditView) -> Result<String> {
    let actor = match (entry.actor, actor) {
        (Actor::CommandLine, _) => "cli".to_owned(),
        (Actor::Account(_), Some(actor)) => actor.username.as_str().to_owned(),
        (Actor::Account(id), None) => id.to_string(),
    };
    let mut line = format!("{}  {actor}  {}  ", instant(entry.at)?, entry.action.as_str());
    line.push_str(entry.target.kind().as_str());
    if let Some(id) = entry.target.id() {
        write!(line, " {id}")?;
    }
    if let Some(details) = &entry.details {
        write!(line, "  {}", quoted(details))?;
    }
    Ok(line)
}

fn report_line(ReportView { report, reporter, reported_comment }: &ReportView) -> Result<String> {
    let (at, status, category) = (instant(report.created_at)?, report.status.as_str(), report.category.as_str());
    let (kind, target) = (report.target.kind().as_str(), report.target.id());
    let mut line = format!("{}  {at}  {status}  {category}  {kind} {target}", report.id);
    write!(line, "  by {}", reporter.username.as_str())?;
    if let Some(comment) = &report.comment {
        write!(line, "  {}", quoted(comment.as_str()))?;
    }
    if let Some(reported) = reported_comment {
        write!(line, "  reported: {}", quoted(reported.content.as_str()))?;
    }
    if let Some(note) = &report.note {
        write!(line, "  note: {}", quoted(note.as_str()))?;
    }
    Ok(line)
}
