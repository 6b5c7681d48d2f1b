//! The one error type, its kinds by what a caller can do about it.

use std::collections::BTreeMap;
use std::fmt;
use std::iter;

use crate::limits::Allowance;

/// The outcome of a use case or a port.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What an adapter met: kept for the log, never shown to a client.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why a use case was not carried out. `Display` gives the text a client may read.
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
    /// Login failed. It is not told why: unknown account, wrong password and disabled account are alike.
    #[error("Invalid credentials")]
    InvalidCredentials,
    /// The token is malformed or forged, or its session has ended.
    #[error("The access token is invalid or has expired")]
    InvalidToken,
    /// The token was valid once: renew it in time, or log in again.
    #[error("The access token is invalid or has expired")]
    ExpiredToken,
    /// The caller may not do this.
    #[error("{0}")]
    Forbidden(Forbidden),
    /// The thing named does not exist.
    #[error("{0} not found")]
    NotFound(Resource),
    /// The request collides with what is stored.
    #[error("{0}")]
    Conflict(Conflict),
    /// An edit was meant for another version of the thing than the present one.
    #[error("It was changed in the meantime")]
    Stale,
    /// A request under an idempotency key that named another one before.
    #[error("The key was used for another request")]
    KeyReused,
    /// One tried too often: not before the window is over.
    #[error("Too many requests: try again in {} s", .0.reset_seconds)]
    TooMany(Allowance),
    /// Too much is waiting, or a dependency is out of reach: try again later.
    #[error("The service is temporarily unavailable")]
    Unavailable(#[source] Cause),
    /// A defect or a broken dependency.
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

    /// Returns what is behind this error, down to the first cause, for a log; where nothing is, the error itself.
    pub fn cause(&self) -> String {
        let sources = iter::successors(std::error::Error::source(self), |error| error.source());
        let texts: Vec<String> = sources.map(ToString::to_string).collect();
        if texts.is_empty() { self.to_string() } else { texts.join(": ") }
    }

    /// Returns whether it is certain that nothing was written: false where a write may have been carried out although
    /// its acknowledgement was lost.
    pub fn is_rejection(&self) -> bool {
        match self {
            Self::Unavailable(cause) => cause.is::<ImageCollected>(),
            Self::Internal(_) => false,
            _ => true,
        }
    }
}

/// The cause of [`Error::Unavailable`] when an image was collected before the row that was to name it was written: the
/// upload took longer than any may. Nothing was written then.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the image was collected before a row named it")]
pub struct ImageCollected;

/// What is not allowed, whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Disallowed {
    /// No enabled ADMIN would be left.
    #[error("The last enabled ADMIN cannot lose the role, be disabled or be deleted")]
    LastAdmin,
    /// To follow oneself.
    #[error("You cannot follow yourself")]
    FollowSelf,
    /// To follow more users than anybody may.
    #[error("You cannot follow more than 10,000 users")]
    TooManyFollowed,
    /// To block oneself.
    #[error("You cannot block yourself")]
    BlockSelf,
    /// To block more users than anybody may.
    #[error("You cannot block more than 10,000 users")]
    TooManyBlocked,
    /// To mute oneself.
    #[error("You cannot mute yourself")]
    MuteSelf,
    /// To mute more users than anybody may.
    #[error("You cannot mute more than 10,000 users")]
    TooManyMuted,
    /// What goes by mail, where none is sent.
    #[error("This service sends no mail")]
    MailNotConfigured,
}

/// Why the caller may not do this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    /// It takes USER or ADMIN.
    #[error("The account has no role")]
    NoRole,
    /// It takes ADMIN.
    #[error("ADMIN role is required")]
    NotAdmin,
    /// It takes following the user, or being the user.
    #[error("Only the user and the user's followers may read this list")]
    NotFollower,
    /// The post is not visible to the caller.
    #[error("You may not view this post")]
    PostNotVisible,
    /// It takes being the author of the post.
    #[error("Only the author may change this post")]
    NotPostAuthor,
    /// It takes being the author of the comment.
    #[error("Only the author may edit this comment")]
    NotCommentAuthor,
    /// It takes being the author of the comment or of the post.
    #[error("Only the author of the comment or of the post may delete this comment")]
    NeitherAuthor,
    /// An administrator has hidden it.
    #[error("An administrator has hidden this: it can be deleted, but not changed")]
    Hidden,
}

/// A kind of thing that can be missing.
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

/// What a request collided with.
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
    /// The same request, sent before under the same idempotency key, is under way.
    #[error("The same request is under way")]
    Running,
    /// A conflict reported by the database that no rule foresaw.
    #[error("The request conflicts with the current state")]
    Unforeseen,
}

/// The kind of rule that a value breaks: by it a client chooses its own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ViolationKind {
    /// It is missing or blank.
    Required,
    /// It is too short.
    TooShort,
    /// It is too long.
    TooLong,
    /// It has not the form that it must have.
    InvalidFormat,
    /// It is of another type, such as a number in place of a text.
    WrongType,
    /// It is a number outside its bounds.
    OutOfRange,
    /// It is there more than once.
    Duplicate,
    /// It is none of the values that it may have.
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

/// Names an input of a use case. How whoever sends it spells the name is up to the adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldName {
    /// The name of an account.
    Username,
    /// The email address of an account.
    Email,
    /// The password of an account.
    Password,
    /// What others are shown beside a username.
    DisplayName,
    /// Whether an account is listed among others.
    Discoverable,
    /// Whether the posts of an account are found by a search.
    Searchable,
    /// Whether others are not told how many follow an account, and how many it follows.
    HideCounts,
    /// What a user says of themselves.
    Biography,
    /// The picture of a user.
    ProfilePicture,
    /// Whether the picture of a user is to be removed.
    RemoveProfilePicture,
    /// How an account is named at login.
    Identifier,
    /// The password that is to be changed.
    CurrentPassword,
    /// The password that takes its place.
    NewPassword,
    /// A role to give or to take.
    Role,
    /// Whether a role is given or taken, or what an administrator did.
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
    /// Which uploaded images a post has.
    Media,
    /// What an image shows, in words.
    Alt,
    /// Which post.
    Post,
    /// Which comment.
    Comment,
    /// Which comment is answered.
    ReplyTo,
    /// Which user.
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
    /// How many pieces of a product there are.
    Stock,
    /// The forms in which a product is sold.
    Variants,
    /// The addresses of a product's images.
    Images,
    /// The text that products are searched for.
    SearchText,
    /// How many entries a page has.
    PageSize,
    /// Where in a list a page begins.
    Position,
    /// Which way a list runs.
    Order,
    /// Before when the posts of a feed were made.
    MadeBefore,
    /// What kind of things is asked for.
    Kind,
    /// The author of what is looked for.
    SearchAuthor,
    /// Up to which notification.
    UpTo,
    /// When something had last changed, as it was seen.
    UpdatedAt,
    /// What is listened to.
    Topics,
    /// Whose likes of posts are told.
    LikePolicy,
    /// Whose comments are told, or what a reporter says.
    CommentPolicy,
    /// Whose replies are told.
    ReplyPolicy,
    /// Whose mentions are told.
    MentionPolicy,
    /// Whose follows are told.
    FollowPolicy,
    /// Whose likes of comments are told.
    CommentLikePolicy,
    /// Whose reports are told.
    ReportPolicy,
    /// For how many hours somebody is muted.
    MuteHours,
    /// Whose comments are deleted.
    CommentAuthor,
    /// Whether something is hidden.
    Hidden,
    /// Why something is hidden.
    Reason,
    /// What kind of thing is reported.
    ReportTargetKind,
    /// Which thing is reported.
    ReportTarget,
    /// What becomes of a report or a mail.
    Status,
    /// What whoever decides about a report says.
    ReportNote,
    /// Whose acts.
    AuditActor,
    /// To what acts were done.
    AuditTarget,
    /// The token of a mail.
    Token,
}

/// A rule that a value breaks, in words for the one who sent it.
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
    pub fn check_given<T, U>(
        &mut self,
        field: FieldName,
        given: Option<T>,
        parse: impl FnOnce(T) -> Result<U, Violation>,
    ) -> Option<U> {
        given.and_then(|value| self.check(field, parse(value)))
    }

    /// Returns the value of a step that may itself fail with invalid fields, which are recorded; other failures pass
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

    /// Takes over the other's violations, except for fields that already have one here.
    pub fn merge(&mut self, other: Self) {
        for (field, violations) in other.0 {
            self.0.entry(field).or_insert(violations);
        }
    }

    /// Returns whether this field is invalid.
    pub fn contains(&self, field: FieldName) -> bool {
        self.0.contains_key(&field)
    }

    /// Returns whether every field was valid so far.
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
