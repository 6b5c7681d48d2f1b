//! Reports, and the rules about them.

use std::str::FromStr;

use crate::accounts::UserPreview;
use crate::audit::Action;
use crate::clock::Timestamp;
use crate::comments::CommentText;
use crate::error::ViolationKind::NotAllowed;
use crate::error::{Error, Violation};
use crate::id::{CommentId, PostId, ReportId, UserId};
use crate::limits::{Allowance, Limit};
use crate::named::named;
use crate::text::texts;
use uuid::Uuid;

named! {
    /// What kind of thing is reported.
    ReportTargetKind "Target type must be POST, COMMENT or USER" {
        /// A post.
        Post = "POST",
        /// A comment.
        Comment = "COMMENT",
        /// A user.
        User = "USER",
    }
}

named! {
    /// What is wrong with what is reported.
    ReportCategory "Category must be SPAM, ABUSE, ILLEGAL or OTHER" {
        /// It is unwanted advertising.
        Spam = "SPAM",
        /// It insults, threatens or harasses.
        Abuse = "ABUSE",
        /// It is against the law.
        Illegal = "ILLEGAL",
        /// Something else.
        Other = "OTHER",
    }
}

named! {
    /// What became of a report.
    ReportStatus "Status must be OPEN, RESOLVED or REJECTED" {
        /// Nothing yet.
        Open = "OPEN",
        /// It was found to be right.
        Resolved = "RESOLVED",
        /// It was found to be wrong.
        Rejected = "REJECTED",
    }
}

/// What is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReportTarget {
    /// A post.
    Post(PostId),
    /// A comment.
    Comment(CommentId),
    /// A user.
    User(UserId),
}

impl ReportTarget {
    /// The thing of a kind that an id names.
    pub fn of(kind: ReportTargetKind, id: Uuid) -> Self {
        match kind {
            ReportTargetKind::Post => Self::Post(id.into()),
            ReportTargetKind::Comment => Self::Comment(id.into()),
            ReportTargetKind::User => Self::User(id.into()),
        }
    }

    /// Returns what kind of thing it is.
    pub const fn kind(self) -> ReportTargetKind {
        match self {
            Self::Post(_) => ReportTargetKind::Post,
            Self::Comment(_) => ReportTargetKind::Comment,
            Self::User(_) => ReportTargetKind::User,
        }
    }

    /// Returns the id that names it.
    pub const fn id(self) -> Uuid {
        match self {
            Self::Post(id) => id.uuid(),
            Self::Comment(id) => id.uuid(),
            Self::User(id) => id.uuid(),
        }
    }
}

texts! {
    /// What a reporter says beyond the category: up to 1,000 characters. A blank one is none.
    ReportComment(1000, optional "Comment");
    /// What whoever decides about a report says: up to 1,000 characters. A blank one is none.
    ReportNote(1000, optional "Note");
}

/// What a user reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFields {
    /// What.
    pub target: ReportTarget,
    /// What is wrong with it.
    pub category: ReportCategory,
    /// What else there is to say.
    pub comment: Option<ReportComment>,
}

/// A report, which outlives what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Names it.
    pub id: ReportId,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub reporter: UserId,
    /// What is reported.
    pub target: ReportTarget,
    /// What is wrong with it.
    pub category: ReportCategory,
    /// What else there is to say.
    pub comment: Option<ReportComment>,
    /// What became of it.
    pub status: ReportStatus,
    /// What whoever decided says.
    pub note: Option<ReportNote>,
}

/// How many reports an account makes within an hour (`contract`: Safety).
pub const REPORTS_AN_HOUR: Limit = Limit { most: 20, period_seconds: 3600 };

impl Report {
    /// Returns why an account that has made so many reports can make no other, given when it made the oldest of them.
    pub fn too_many(oldest: Timestamp, now: Timestamp) -> Error {
        Error::TooMany(Allowance::used_up(REPORTS_AN_HOUR, oldest, now))
    }

    /// Returns the report after a decision. A decision can be changed, but not taken back.
    #[must_use]
    pub fn decided(self, decision: &ReportDecision) -> Self {
        let ReportDecision { verdict, note } = decision.clone();
        Self { status: verdict.status(), note, ..self }
    }
}

/// What is found of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is right.
    Resolved,
    /// It is wrong.
    Rejected,
}

impl Verdict {
    /// Returns what the report becomes.
    pub const fn status(self) -> ReportStatus {
        match self {
            Self::Resolved => ReportStatus::Resolved,
            Self::Rejected => ReportStatus::Rejected,
        }
    }

    pub(super) const fn action(self) -> Action {
        match self {
            Self::Resolved => Action::ReportResolved,
            Self::Rejected => Action::ReportRejected,
        }
    }
}

impl FromStr for Verdict {
    type Err = Violation;

    fn from_str(name: &str) -> Result<Self, Violation> {
        let verdict = [Self::Resolved, Self::Rejected].into_iter().find(|each| each.status().as_str() == name);
        verdict.ok_or_else(|| Violation::new(NotAllowed, "Status must be RESOLVED or REJECTED"))
    }
}

/// What an administrator decides about a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportDecision {
    /// What is found.
    pub verdict: Verdict,
    /// What there is to say of it.
    pub note: Option<ReportNote>,
}

/// A report as administrators read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportView {
    /// The report.
    pub report: Report,
    /// Who made it.
    pub reporter: UserPreview,
    /// The comment that it is about, while that is there: no other read shows one by itself.
    pub reported_comment: Option<ReportedComment>,
}

/// A comment that was reported, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedComment {
    /// The post that it is on.
    pub post: PostId,
    /// Who wrote it.
    pub author: UserPreview,
    /// What it says.
    pub content: CommentText,
    /// Whether an administrator has hidden it.
    pub is_hidden: bool,
}
