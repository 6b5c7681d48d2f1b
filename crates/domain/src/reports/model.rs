//! Reports, and the rules for them.

use std::str::FromStr;

use crate::accounts::UserPreview;
use crate::audit::Action;
use crate::clock::Timestamp;
use crate::comments::CommentText;
use crate::error::ViolationKind::NotAllowed;
use crate::error::{Error, Violation};
use crate::id::{CommentId, PostId, ReportId, UserId};
use crate::limits::{Allowance, Limit};
use crate::string_enum::string_enum;
use crate::text::text_types;
use uuid::Uuid;

string_enum! {
    /// The kinds of things that can be reported.
    ReportTargetKind "Target type must be POST, COMMENT or USER" {
        /// A post.
        Post = "POST",
        /// A comment.
        Comment = "COMMENT",
        /// A user.
        User = "USER",
    }
}

string_enum! {
    /// The reasons for a report.
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

string_enum! {
    /// The status of a report.
    ReportStatus "Status must be OPEN, RESOLVED or REJECTED" {
        /// Not decided yet.
        Open = "OPEN",
        /// Upheld by an administrator.
        Resolved = "RESOLVED",
        /// Rejected by an administrator.
        Rejected = "REJECTED",
    }
}

/// The subject of a report.
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
    /// Returns the target of this kind and id.
    pub fn of(kind: ReportTargetKind, id: Uuid) -> Self {
        match kind {
            ReportTargetKind::Post => Self::Post(id.into()),
            ReportTargetKind::Comment => Self::Comment(id.into()),
            ReportTargetKind::User => Self::User(id.into()),
        }
    }

    /// Returns the kind of the target.
    pub const fn kind(self) -> ReportTargetKind {
        match self {
            Self::Post(_) => ReportTargetKind::Post,
            Self::Comment(_) => ReportTargetKind::Comment,
            Self::User(_) => ReportTargetKind::User,
        }
    }

    /// Returns the id of the target.
    pub const fn id(self) -> Uuid {
        match self {
            Self::Post(id) => id.uuid(),
            Self::Comment(id) => id.uuid(),
            Self::User(id) => id.uuid(),
        }
    }
}

text_types! {
    /// What the reporter adds to the category: up to 1,000 characters. A blank text counts as none.
    ReportComment(1000, optional "Comment");
    /// The note of the administrator who decides on a report: up to 1,000 characters. A blank text counts as none.
    ReportNote(1000, optional "Note");
}

/// The fields of a new report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFields {
    /// What is reported.
    pub target: ReportTarget,
    /// The reason.
    pub category: ReportCategory,
    /// What the reporter adds.
    pub comment: Option<ReportComment>,
}

/// A report. It is kept even after its target is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The id of the report.
    pub id: ReportId,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub reporter: UserId,
    /// What is reported.
    pub target: ReportTarget,
    /// The reason.
    pub category: ReportCategory,
    /// What the reporter adds.
    pub comment: Option<ReportComment>,
    /// Whether it was decided, and how.
    pub status: ReportStatus,
    /// The note of the administrator who decided.
    pub note: Option<ReportNote>,
}

/// How many reports an account may make within an hour (`contract`: Reports and administration).
pub const REPORTS_AN_HOUR: Limit = Limit { most: 20, period_seconds: 3600 };

impl Report {
    /// Returns the error for an account that has used up [`REPORTS_AN_HOUR`], where `oldest` is when it made the oldest report
    /// that counts.
    pub fn too_many(oldest: Timestamp, now: Timestamp) -> Error {
        Error::TooMany(Allowance::used_up(REPORTS_AN_HOUR, oldest, now))
    }

    /// Returns the report after a decision. A decision can be changed, but the report cannot be opened again.
    #[must_use]
    pub fn decided(self, decision: &ReportDecision) -> Self {
        let ReportDecision { verdict, note } = decision.clone();
        Self { status: verdict.status(), note, ..self }
    }
}

/// The verdict on a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The report is upheld.
    Resolved,
    /// The report is rejected.
    Rejected,
}

impl Verdict {
    /// Returns the status of a report with this verdict.
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

/// An administrator's decision on a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportDecision {
    /// Whether the report is upheld.
    pub verdict: Verdict,
    /// The administrator's note.
    pub note: Option<ReportNote>,
}

/// A report as administrators read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportView {
    /// The report.
    pub report: Report,
    /// Who made it.
    pub reporter: UserPreview,
    /// The reported comment, while it exists: no other read returns a single comment.
    pub reported_comment: Option<ReportedComment>,
}

/// The current state of a comment that was reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedComment {
    /// The post that it is on.
    pub post: PostId,
    /// Who wrote it.
    pub author: UserPreview,
    /// Its text.
    pub content: CommentText,
    /// Whether an administrator has hidden it.
    pub is_hidden: bool,
}
