//! The error type of the domain, with one variant for each way in which a caller can react.

use std::collections::BTreeMap;
use std::fmt;
use std::iter;

use crate::limits::Allowance;

/// The outcome of a use case or a port.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The underlying error of an adapter: kept for the log, never shown to a client.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The reason why a use case was not carried out. `Display` gives the text a client may read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Submitted data is invalid: correct the named fields.
    #[error("Validation failed")]
    Invalid(FieldErrors),
    /// An argument that is never allowed, or a state that forbids the operation.
    #[error("{0}")]
    Disallowed(Disallowed),
    /// An image beyond a limit on bytes or pixels.
    #[error("{0}")]
    TooLarge(String),
    /// Login failed. The reason is not disclosed: unknown account, wrong password and disabled account look the same.
    #[error("Invalid credentials")]
    InvalidCredentials,
    /// The token is malformed or forged, or its session has ended.
    #[error("The access token is invalid or has expired")]
    InvalidToken,
    /// The token was valid but has expired: log in again, and next time renew the token before it expires.
    #[error("The access token is invalid or has expired")]
    ExpiredToken,
    /// The caller may not do this.
    #[error("{0}")]
    Forbidden(Forbidden),
    /// The thing that the request refers to does not exist.
    #[error("{0} not found")]
    NotFound(Resource),
    /// The request conflicts with the stored state.
    #[error("{0}")]
    Conflict(Conflict),
    /// The change was based on a state of the thing that is no longer the current one: an older version, other images, or a
    /// replaced password hash.
    #[error("It was changed in the meantime")]
    Stale,
    /// The idempotency key was used before, for a different request.
    #[error("The key was used for another request")]
    KeyReused,
    /// A limit was exceeded: try again once its window has ended.
    #[error("Too many requests: try again in {} s", .0.reset_seconds)]
    TooMany(Allowance),
    /// Too many requests are waiting, or a dependency is unreachable: try again later.
    #[error("The service is temporarily unavailable")]
    Unavailable(#[source] Cause),
    /// A bug, or a broken dependency.
    #[error("Internal server error")]
    Internal(#[source] Cause),
}

impl Error {
    /// An internal error with a text for the log.
    pub fn internal(cause: impl Into<Cause>) -> Self {
        Self::Internal(cause.into())
    }

    /// A failing or overloaded dependency, with a text for the log.
    pub fn unavailable(cause: impl Into<Cause>) -> Self {
        Self::Unavailable(cause.into())
    }

    /// A validation failure of one field.
    pub fn field(field: FieldName, violation: Violation) -> Self {
        let mut errors = FieldErrors::default();
        errors.add(field, violation);
        Self::Invalid(errors)
    }

    /// Returns the messages of all sources of this error, outermost first, for a log; its own message if it has none.
    pub fn cause(&self) -> String {
        let sources = iter::successors(std::error::Error::source(self), |error| error.source());
        let texts: Vec<String> = sources.map(ToString::to_string).collect();
        if texts.is_empty() { self.to_string() } else { texts.join(": ") }
    }

    /// Returns whether it is certain that nothing was written; `false` if a write may have been carried out although
    /// its acknowledgement was lost.
    pub fn is_rejection(&self) -> bool {
        match self {
            Self::Unavailable(cause) => cause.is::<ImageCollected>(),
            Self::Internal(_) => false,
            _ => true,
        }
    }
}

/// The cause of [`Error::Unavailable`] when an image was garbage-collected before the row that was to refer to it was
/// written, because the upload took longer than any may. Nothing was written then.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the image was deleted before a row referenced it")]
pub struct ImageCollected;

/// An operation that is not allowed to any caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Disallowed {
    /// Leaving the service without an enabled ADMIN.
    #[error("The last enabled ADMIN cannot lose the role, be disabled or be deleted")]
    LastAdmin,
    /// Following oneself.
    #[error("You cannot follow yourself")]
    FollowSelf,
    /// Following more users than the maximum.
    #[error("You cannot follow more than 10,000 users")]
    TooManyFollowed,
    /// Blocking oneself.
    #[error("You cannot block yourself")]
    BlockSelf,
    /// Blocking more users than the maximum.
    #[error("You cannot block more than 10,000 users")]
    TooManyBlocked,
    /// Muting oneself.
    #[error("You cannot mute yourself")]
    MuteSelf,
    /// Muting more users than the maximum.
    #[error("You cannot mute more than 10,000 users")]
    TooManyMuted,
    /// An operation that needs mail, on a service that sends none.
    #[error("This service sends no mail")]
    MailNotConfigured,
}

/// Why the caller may not do this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    /// USER or ADMIN is required.
    #[error("The account has no role")]
    NoRole,
    /// ADMIN is required.
    #[error("ADMIN role is required")]
    NotAdmin,
    /// The caller is neither the user nor a follower of the user.
    #[error("Only the user and the user's followers may read this list")]
    NotFollower,
    /// The post is not visible to the caller.
    #[error("You may not view this post")]
    PostNotVisible,
    /// The caller is not the author of the post.
    #[error("Only the author may change this post")]
    NotPostAuthor,
    /// The caller is not the author of the comment.
    #[error("Only the author may edit this comment")]
    NotCommentAuthor,
    /// The caller is the author of neither the comment nor the post.
    #[error("Only the author of the comment or of the post may delete this comment")]
    NeitherAuthor,
    /// An administrator has hidden it.
    #[error("An administrator has hidden this: it can be deleted, but not changed")]
    Hidden,
}

/// A kind of thing that may not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// A post.
    Post,
    /// A comment.
    Comment,
    /// A user.
    User,
    /// A product.
    Product,
    /// An image.
    Image,
    /// A notification.
    Notification,
    /// A report.
    Report,
    /// A session.
    Session,
    /// A mail.
    Mail,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Post => "Post",
            Self::Comment => "Comment",
            Self::User => "User",
            Self::Product => "Product",
            Self::Image => "Image",
            Self::Notification => "Notification",
            Self::Report => "Report",
            Self::Session => "Session",
            Self::Mail => "Mail",
        })
    }
}

/// The stored state that a request conflicts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// Another account has the username, in some letter case.
    #[error("Username is already taken")]
    Username,
    /// Another account has the email address, in some letter case.
    #[error("Email is already taken")]
    Email,
    /// Another product has the SKU, in some letter case.
    #[error("SKU is already taken")]
    Sku,
    /// The same request, sent before under the same idempotency key, is still in progress.
    #[error("The same request is under way")]
    Running,
    /// A conflict reported by the database that no rule foresaw.
    #[error("The request conflicts with the current state")]
    Unforeseen,
}

/// The kind of rule that a value breaks, from which a client can choose a message of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ViolationKind {
    /// It is missing or blank.
    Required,
    /// It is too short.
    TooShort,
    /// It is too long.
    TooLong,
    /// It is malformed.
    InvalidFormat,
    /// It is of another type, such as a number in place of a text.
    WrongType,
    /// It is a number outside its bounds.
    OutOfRange,
    /// It appears more than once.
    Duplicate,
    /// It is not one of the allowed values.
    NotAllowed,
    /// It is not what it must be equal to, such as the current password.
    Incorrect,
    /// It contradicts another field.
    Mismatch,
}

impl ViolationKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Required,
        Self::TooShort,
        Self::TooLong,
        Self::InvalidFormat,
        Self::WrongType,
        Self::OutOfRange,
        Self::Duplicate,
        Self::NotAllowed,
        Self::Incorrect,
        Self::Mismatch,
    ];
}

/// Identifies an input of a use case. The adapter decides how clients spell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldName {
    /// The name of an account.
    Username,
    /// The email address of an account.
    Email,
    /// The password of an account.
    Password,
    /// The name that is shown beside a username.
    DisplayName,
    /// Whether an account appears in the directory and in searches for users.
    Discoverable,
    /// Whether the posts of an account are found by a search.
    Searchable,
    /// Whether the numbers of an account's followers and followed users are hidden from others.
    HideCounts,
    /// A user's description of themselves.
    Biography,
    /// The picture of a user.
    ProfilePicture,
    /// Whether the picture of a user is to be removed.
    RemoveProfilePicture,
    /// The username or email address given at login.
    Identifier,
    /// The password that the account has now.
    CurrentPassword,
    /// The password that replaces the current one.
    NewPassword,
    /// A role to add or remove.
    Role,
    /// Whether a role is added or removed; in the audit log, the kind of act.
    Action,
    /// Whether an account is enabled.
    Enabled,
    /// The text of a post.
    Text,
    /// Who may view a post.
    Visibility,
    /// The image of a post.
    Image,
    /// Whether the image of a post is to be removed.
    RemoveImage,
    /// The ids of the uploaded images of a post.
    Media,
    /// The alternative text of an image.
    Alt,
    /// The id of a post.
    Post,
    /// The id of a comment.
    Comment,
    /// The id of the comment that is replied to.
    ReplyTo,
    /// The id of a user.
    User,
    /// The content of a comment.
    Content,
    /// The SKU of a product.
    Sku,
    /// The name of a product.
    Name,
    /// The description of a product.
    Description,
    /// The price of a product.
    Price,
    /// The category of a product or of a report.
    Category,
    /// The number of pieces of a product in stock.
    Stock,
    /// The forms in which a product is sold.
    Variants,
    /// The addresses of a product's images.
    Images,
    /// The text to search for.
    SearchText,
    /// The number of entries of a page.
    PageSize,
    /// The position at which a page of a list begins.
    Position,
    /// The order of a list.
    Order,
    /// The time before which the posts of a feed were made.
    CreatedBefore,
    /// The kind of things to return.
    Kind,
    /// The author of the posts to search for.
    SearchAuthor,
    /// The id of the newest notification to mark as read.
    UpTo,
    /// The time of the last change to a thing, as the client saw it.
    UpdatedAt,
    /// The topics that a stream of events subscribes to.
    Topics,
    /// Whose likes of posts cause notifications.
    LikePolicy,
    /// Whose comments cause notifications; in a report, the reporter's comment.
    CommentPolicy,
    /// Whose replies cause notifications.
    ReplyPolicy,
    /// Whose mentions cause notifications.
    MentionPolicy,
    /// Whose follows cause notifications.
    FollowPolicy,
    /// Whose likes of comments cause notifications.
    CommentLikePolicy,
    /// Whose reports cause notifications.
    ReportPolicy,
    /// For how many hours a user is muted.
    MuteHours,
    /// The author whose comments are deleted.
    CommentAuthor,
    /// Whether something is hidden.
    Hidden,
    /// Why something is hidden.
    Reason,
    /// The kind of thing that is reported.
    ReportTargetKind,
    /// The id of the thing that is reported.
    ReportTarget,
    /// The status of a report or a mail.
    Status,
    /// The note of the administrator who decides about a report.
    ReportNote,
    /// The actor of the listed acts.
    AuditActor,
    /// The target of the listed acts.
    AuditTarget,
    /// The token of a mail.
    Token,
}

/// A rule that a value breaks, with a message for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Violation {
    kind: ViolationKind,
    message: String,
}

impl Violation {
    /// Creates a violation of a rule of this kind. The message is a sentence without a full stop.
    pub fn new(kind: ViolationKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// Returns the kind of the rule.
    pub const fn kind(&self) -> ViolationKind {
        self.kind
    }
}

/// The invalid fields of one request, each with its violations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldErrors(BTreeMap<FieldName, Vec<Violation>>);

impl FieldErrors {
    /// Adds a violation to a field.
    pub fn add(&mut self, field: FieldName, violation: Violation) {
        self.0.entry(field).or_default().push(violation);
    }

    /// Returns the value of a parsed field, or `None` with its violation recorded.
    pub fn check<T>(&mut self, field: FieldName, parsed: Result<T, Violation>) -> Option<T> {
        parsed.map_err(|violation| self.add(field, violation)).ok()
    }

    /// Like [`check`](Self::check), for a field that may be absent.
    pub fn check_optional<T, U>(
        &mut self,
        field: FieldName,
        given: Option<T>,
        parse: impl FnOnce(T) -> Result<U, Violation>,
    ) -> Option<U> {
        given.and_then(|value| self.check(field, parse(value)))
    }

    /// Returns the value of a step, or `None` if it failed with invalid fields, which are recorded; other failures pass
    /// through.
    ///
    /// # Errors
    /// Any error but [`Error::Invalid`].
    pub fn absorb<T>(&mut self, step: Result<T>) -> Result<Option<T>> {
        match step {
            Ok(value) => Ok(Some(value)),
            Err(Error::Invalid(fields)) => {
                self.merge(fields);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Adds the violations of `other`, except for fields that already have one here.
    pub fn merge(&mut self, other: Self) {
        for (field, violations) in other.0 {
            self.0.entry(field).or_insert(violations);
        }
    }

    /// Returns whether this field is invalid.
    pub fn contains(&self, field: FieldName) -> bool {
        self.0.contains_key(&field)
    }

    /// Returns whether no violation was added.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fails when any field was invalid.
    pub fn into_result(self) -> Result<()> {
        if self.is_empty() { Ok(()) } else { Err(self.into()) }
    }

    /// Returns the fields in the order of [`FieldName`], each with its violations.
    pub fn iter(&self) -> impl Iterator<Item = (FieldName, &[Violation])> {
        self.0.iter().map(|(field, violations)| (*field, violations.as_slice()))
    }
}

impl From<FieldErrors> for Error {
    fn from(errors: FieldErrors) -> Self {
        Self::Invalid(errors)
    }
}
