//! What administrative acts leave behind (`contract`: Safety).
//!
//! A change carries its entry to the repository, which stores the two in one transaction, and no entry where nothing changed;
//! [`audit_log`](crate::audit_log) shows them.

use std::str::FromStr;

use uuid::Uuid;

use crate::clock::Timestamp;
use crate::error::ViolationKind::InvalidFormat;
use crate::error::{Result, Violation};
use crate::id::{AuditId, CommentId, IdGenerator, PostId, ProductId, ReportId, UserId};
use crate::named::named;
use crate::text::texts;

/// Who acts.
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

named! {
    /// What kind of act.
    Action "Action must be one of those of the audit log" {
        /// A role was given; the details name it.
        RoleAdded = "role_added",
        /// A role was taken; the details name it.
        RoleRemoved = "role_removed",
        /// An account was disabled.
        AccountDisabled = "account_disabled",
        /// A disabled account was enabled.
        AccountEnabled = "account_enabled",
        /// An account got another password.
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
        /// A report was found to be right; the details are the note.
        ReportResolved = "report_resolved",
        /// A report was found to be wrong; the details are the note.
        ReportRejected = "report_rejected",
        /// A product was added; the details are its SKU.
        ProductCreated = "product_created",
        /// A product was changed; the details are its SKU.
        ProductUpdated = "product_updated",
        /// A product was removed; the details are its SKU.
        ProductDeleted = "product_deleted",
        /// A file of products was taken over; the details say how many products it added and changed.
        ProductsImported = "products_imported",
        /// A backup was downloaded.
        BackupDownloaded = "backup_downloaded",
    }
}

named! {
    /// What kind of thing an act is done to.
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

/// What an act is done to.
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
    /// The thing of a kind that an id names; nothing where the kind needs one and there is none.
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

    /// Returns what kind of thing it is.
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

    /// Returns the id that names it; none of the catalog and the service.
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
    /// Names it.
    pub id: AuditId,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: Actor,
    /// What was done.
    pub action: Action,
    /// To what.
    pub target: Target,
    /// What else there is to say of it, as [`Action`] tells.
    pub details: Option<String>,
}

texts! {
    /// Why an administrator hides something, or shows it again: 1 to 1,000 characters after trimming.
    Reason(1000, required "Reason");
}

/// Whether something is hidden from now on, and why (`contract`: Safety).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hiding {
    /// Whether it is.
    pub hidden: bool,
    /// Why.
    pub reason: Reason,
}

impl AuditEntry {
    /// An entry without details.
    pub fn new(ids: &dyn IdGenerator, at: Timestamp, actor: Actor, action: Action, target: Target) -> Self {
        Self { id: ids.generate().into(), at, actor, action, target, details: None }
    }

    /// The entry with details.
    #[must_use]
    pub fn with_details(self, details: impl Into<String>) -> Self {
        Self { details: Some(details.into()), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_and_things_are_named_as_clients_name_them() {
        for action in Action::ALL {
            assert_eq!(action.as_str().parse(), Ok(action));
        }
        for kind in TargetKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert!("ROLE_ADDED".parse::<Action>().is_err());
    }

    #[test]
    fn an_actor_is_an_account_or_the_command_line() {
        let id = Uuid::from_u128(7);
        assert_eq!("cli".parse(), Ok(Actor::CommandLine));
        assert_eq!(id.to_string().parse(), Ok(Actor::Account(id.into())));
        assert!("CLI".parse::<Actor>().is_err());
    }

    #[test]
    fn a_target_comes_back_from_its_kind_and_id() {
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
