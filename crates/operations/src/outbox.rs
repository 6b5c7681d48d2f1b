//! `agora mail`: lists and retries the mails of the outbox.

use agora_domain::id::MailId;
use agora_domain::mail::{MailStatus, MailView, OutboxAdmin};
use anyhow::{Result, bail};
use clap::{ArgGroup, Subcommand, ValueEnum};
use uuid::Uuid;

use crate::moderation::{instant, lines, quoted};

/// What `agora mail` does.
#[derive(Debug, Subcommand)]
pub enum MailCommand {
    /// List mails, those that are due first at the top
    List {
        /// Only mails with this status
        #[arg(long, value_enum, default_value_t = StatusFilter::Unsent)]
        status: StatusFilter,
        /// The maximum number of mails of each status
        #[arg(long, value_name = "NUMBER", default_value_t = 50)]
        limit: usize,
    },
    /// Retry unsent mails now, and for two days from now
    #[command(group(ArgGroup::new("which").required(true).args(["id", "all"])))]
    Retry {
        /// The id of the mail
        id: Option<Uuid>,
        /// Retry all unsent mails
        #[arg(long)]
        all: bool,
    },
}

/// Which mails are listed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum StatusFilter {
    /// Waiting mails, and those that were given up
    Unsent,
    /// Mails that wait to be sent or retried
    Waiting,
    /// Mails that were given up
    Dead,
    /// Mails that were sent, which are kept for a day
    Sent,
}

impl StatusFilter {
    const fn statuses(self) -> &'static [MailStatus] {
        match self {
            Self::Unsent => &[MailStatus::Dead, MailStatus::Waiting],
            Self::Waiting => &[MailStatus::Waiting],
            Self::Dead => &[MailStatus::Dead],
            Self::Sent => &[MailStatus::Sent],
        }
    }
}

/// Carries out `agora mail`; returns a text for the operator.
///
/// # Errors
/// What is wrong with the arguments, or with the database.
pub async fn mail(outbox: &OutboxAdmin, command: MailCommand) -> Result<String> {
    match command {
        MailCommand::List { status, limit } => list(outbox, status.statuses(), limit).await,
        MailCommand::Retry { id, .. } => match (id, outbox.retry_for_operator(id.map(MailId::new)).await?) {
            (Some(id), 0) => bail!("there is no unsent mail {id}"),
            (_, 1) => Ok("1 mail will be retried.".to_owned()),
            (_, count) => Ok(format!("{count} mails will be retried.")),
        },
    }
}

async fn list(outbox: &OutboxAdmin, statuses: &[MailStatus], limit: usize) -> Result<String> {
    let mut found = Vec::new();
    for status in statuses {
        found.extend(outbox.list_for_operator(*status, limit).await?.into_iter().map(|mail| (*status, mail)));
    }
    lines(&found, "No mail has this status.", |(status, mail)| line(*status, mail))
}

fn line(status: MailStatus, mail: &MailView) -> Result<String> {
    let MailView { id, kind, address, created_at, attempts, due_at, failure } = mail;
    let (at, due, kind, address) = (instant(*created_at)?, instant(*due_at)?, kind.as_str(), quoted(address));
    let then = match status {
        MailStatus::Waiting => format!("tried {attempts} times, next {due}"),
        MailStatus::Sent => format!("kept until {due}"),
        MailStatus::Dead => format!("tried {attempts} times, kept until {due}"),
    };
    let failure = failure.as_deref().map(|failure| format!("  {}", quoted(failure))).unwrap_or_default();
    Ok(format!("{id}  {at}  {}  {kind}  {address}  {then}{failure}", status.as_str()))
}
