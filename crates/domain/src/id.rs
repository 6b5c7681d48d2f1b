//! Identifiers. Each kind is its own type, so that one cannot be passed for another.

use std::fmt;

use uuid::Uuid;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Creates an identifier from a UUID.
            pub const fn new(value: Uuid) -> Self {
                Self(value)
            }

            /// Returns the value as a UUID.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(value: Uuid) -> Self {
                Self(value)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

ids! {
    /// Identifies a user's account.
    UserId;
    /// Identifies a login and the tokens issued for it.
    SessionId;
    /// Identifies a post.
    PostId;
    /// Identifies a comment.
    CommentId;
    /// Identifies a like, follow, bookmark, block or mute; clients see it only inside paging cursors.
    RelationId;
    /// Identifies a product.
    ProductId;
    /// Identifies a notification.
    NotificationId;
    /// Identifies a ticket that opens a stream of events.
    TicketId;
    /// Identifies an entry of the audit log.
    AuditId;
    /// Identifies a report.
    ReportId;
    /// Identifies a mail.
    MailId;
    /// Identifies an image that is attached to a post, or was uploaded to be attached.
    MediaId;
}

/// The source of new identifiers.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait IdGenerator: Send + Sync {
    /// Returns a fresh UUIDv7, greater than every one generated before in this process.
    fn generate(&self) -> Uuid;
}
