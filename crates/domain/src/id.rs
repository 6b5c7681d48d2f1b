//! Identifiers. Each kind is its own type, so that one cannot be passed for another.

use std::fmt;

use uuid::Uuid;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// The identifier with this value.
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
    /// Names a user's account.
    UserId;
    /// Names a login and the tokens issued for it.
    SessionId;
    /// Names a post.
    PostId;
    /// Names a comment.
    CommentId;
    /// Names a like or a follow; clients see it only inside paging cursors.
    RelationId;
    /// Names a product.
    ProductId;
    /// Names a notification.
    NotificationId;
    /// Names a ticket to a stream of events.
    TicketId;
    /// Names an entry of the audit log.
    AuditId;
    /// Names a report.
    ReportId;
    /// Names a mail.
    MailId;
    /// Names an image that is attached to a post, or uploaded to be.
    MediaId;
}

/// The source of new identifiers.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait IdGenerator: Send + Sync {
    /// Returns a fresh UUIDv7, greater than every one generated before in this process.
    fn generate(&self) -> Uuid;
}
