//! Audit entries: the records of administrative acts (`contract`: Reports and administration).
//!
//! A use case hands its entry to the repository together with the change. The repository stores both in one transaction, and no
//! entry if nothing changed. [`audit_log`](crate::audit_log) lists them.

use std::str::FromStr;

use uuid::Uuid;

use crate::clock::Timestamp;
use crate::error::ViolationKind::InvalidFormat;
use crate::error::{Result, Violation};
use crate::id::{AuditId, CommentId, IdGenerator, PostId, ProductId, ReportId, UserId};
use crate::string_enum::string_enum;
use crate::text::text_types;

/// Who performs an administrative act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// The operator, from the command line of the machine.
    CommandLine,
    /// An ADMIN.
    Account(UserId),
}

impl FromStr for Actor {
    type Err = Violation;

    fn from_str(name: &str) -> Result<Self, Violation> {
        if name == "cli" {
            return Ok(Self::CommandLine);
        }
        let id = Uuid::try_parse(name).map_err(|_| Violation::new(InvalidFormat, "Actor must be an id or cli"))?;
        Ok(Self::Account(id.into()))
    }
}

string_enum! {
    /// The kinds of administrative acts.
    Action "Action must be one of those of the audit log" {
        /// A role was granted; the details name it.
        RoleAdded = "role_added",
        /// A role was revoked; the details name it.
        RoleRemoved = "role_removed",
        /// An account was disabled.
        AccountDisabled = "account_disabled",
        /// A disabled account was enabled.
        AccountEnabled = "account_enabled",
        /// The password of an account was reset.
        PasswordReset = "password_reset",
        /// All sessions of an account were ended.
        SessionsEnded = "sessions_ended",
        /// A post was hidden; the details give the reason.
        PostHidden = "post_hidden",
        /// A hidden post was shown again; the details give the reason.
        PostShown = "post_shown",
        /// A comment was hidden; the details give the reason.
        CommentHidden = "comment_hidden",
        /// A hidden comment was shown again; the details give the reason.
        CommentShown = "comment_shown",
        /// A report was upheld; the details are the note.
        ReportResolved = "report_resolved",
        /// A report was rejected; the details are the note.
        ReportRejected = "report_rejected",
        /// A product was added; the details are its SKU.
        ProductCreated = "product_created",
        /// A product was changed; the details are its SKU.
        ProductUpdated = "product_updated",
        /// A product was removed; the details are its SKU.
        ProductDeleted = "product_deleted",
        /// A file of products was imported; the details say how many products it added and changed.
        ProductsImported = "products_imported",
        /// A backup was downloaded.
        BackupDownloaded = "backup_downloaded",
    }
}

string_enum! {
    /// The kinds of targets.
    TargetKind "Target type must be USER, POST, COMMENT, REPORT, PRODUCT, CATALOG or SERVICE" {
        /// An account.
        User = "USER",
        /// A post.
        Post = "POST",
        /// A comment.
        Comment = "COMMENT",
        /// A report.
        Report = "REPORT",
        /// A product.
        Product = "PRODUCT",
        /// The catalog.
        Catalog = "CATALOG",
        /// The service.
        Service = "SERVICE",
    }
}

/// The object of an administrative act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// An account.
    User(UserId),
    /// A post.
    Post(PostId),
    /// A comment.
    Comment(CommentId),
    /// A report.
    Report(ReportId),
    /// A product.
    Product(ProductId),
    /// The catalog as a whole.
    Catalog,
    /// The service as a whole.
    Service,
}

impl Target {
    /// Returns the target of this kind and id; `None` if the kind needs an id and there is none, or the other way round.
    pub fn of(kind: TargetKind, id: Option<Uuid>) -> Option<Self> {
        Some(match (kind, id) {
            (TargetKind::User, Some(id)) => Self::User(id.into()),
            (TargetKind::Post, Some(id)) => Self::Post(id.into()),
            (TargetKind::Comment, Some(id)) => Self::Comment(id.into()),
            (TargetKind::Report, Some(id)) => Self::Report(id.into()),
            (TargetKind::Product, Some(id)) => Self::Product(id.into()),
            (TargetKind::Catalog, None) => Self::Catalog,
            (TargetKind::Service, None) => Self::Service,
            _ => return None,
        })
    }

    /// Returns the kind of the target.
    pub const fn kind(self) -> TargetKind {
        match self {
            Self::User(_) => TargetKind::User,
            Self::Post(_) => TargetKind::Post,
            Self::Comment(_) => TargetKind::Comment,
            Self::Report(_) => TargetKind::Report,
            Self::Product(_) => TargetKind::Product,
            Self::Catalog => TargetKind::Catalog,
            Self::Service => TargetKind::Service,
        }
    }

    /// Returns the id of the target; `None` for the catalog and the service.
    pub const fn id(self) -> Option<Uuid> {
        match self {
            Self::User(id) => Some(id.uuid()),
            Self::Post(id) => Some(id.uuid()),
            Self::Comment(id) => Some(id.uuid()),
            Self::Report(id) => Some(id.uuid()),
            Self::Product(id) => Some(id.uuid()),
            Self::Catalog | Self::Service => None,
        }
    }
}

/// The record of an administrative act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// The id of the entry.
    pub id: AuditId,
    /// When the act was performed.
    pub at: Timestamp,
    /// Who performed it.
    pub actor: Actor,
    /// The kind of act.
    pub action: Action,
    /// The object of the act.
    pub target: Target,
    /// Further details; [`Action`] says which, by kind.
    pub details: Option<String>,
}

text_types! {
    /// Why an administrator hides something, or shows it again: 1 to 1,000 characters after trimming.
    Reason(1000, required "Reason");
}

/// A decision to hide something or to show it again, with the reason (`contract`: Reports and administration).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hiding {
    /// Whether it is hidden from now on.
    pub hidden: bool,
    /// The reason, for the audit log.
    pub reason: Reason,
}

impl AuditEntry {
    /// Creates an entry without details.
    pub fn new(ids: &dyn IdGenerator, at: Timestamp, actor: Actor, action: Action, target: Target) -> Self {
        Self { id: ids.generate().into(), at, actor, action, target, details: None }
    }

    /// Returns the entry with these details.
    #[must_use]
    pub fn with_details(self, details: impl Into<String>) -> Self {
        Self { details: Some(details.into()), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_and_target_kinds_parse_their_names() {
        for action in Action::ALL {
            assert_eq!(action.as_str().parse(), Ok(action));
        }
        for kind in TargetKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert!("ROLE_ADDED".parse::<Action>().is_err());
    }

    #[test]
    fn an_actor_parses_as_an_account_id_or_cli() {
        let id = Uuid::from_u128(7);
        assert_eq!("cli".parse(), Ok(Actor::CommandLine));
        assert_eq!(id.to_string().parse(), Ok(Actor::Account(id.into())));
        assert!("CLI".parse::<Actor>().is_err());
    }

    #[test]
    fn a_target_is_rebuilt_from_its_kind_and_id() {
        for kind in TargetKind::ALL {
            let has_id = ![TargetKind::Catalog, TargetKind::Service].contains(&kind);
            let id = has_id.then_some(Uuid::from_u128(3));
            let target = Target::of(kind, id).unwrap();
            assert_eq!((target.kind(), target.id()), (kind, id));
            let other = id.is_none().then_some(Uuid::from_u128(3));
            assert_eq!(Target::of(kind, other), None);
        }
    }
}
