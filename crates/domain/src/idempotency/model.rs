//! Requests that may be sent again, their attempts and outcomes, and the rules about them.

use uuid::Uuid;

use crate::clock::Timestamp;
use crate::id::{CommentId, PostId, ProductId, ReportId, UserId};

/// The key that a client chooses for a request that it may send again: 1 to 255 visible ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The maximum length of a key, in characters.
    pub const MAX: usize = 255;

    /// Parses a key that a client sent; `None` when it is not 1 to 255 visible ASCII characters.
    pub fn parse(text: &str) -> Option<Self> {
        let is_key = (1..=Self::MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_key.then(|| Self(text.to_owned()))
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The identity of a request: two requests of the same name are treated as one that is sent twice.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestName {
    /// The account that sends it; `None` when it needs no account.
    pub caller: Option<UserId>,
    /// The endpoint that it is sent to.
    pub route: String,
    /// The key that the client has chosen.
    pub key: IdempotencyKey,
}

/// A digest of the content of a request, by which a different request under the same name is detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

/// The digests by which a request is recognized. They are keyed: while the key is being rotated, a node that uses one key
/// must recognize requests that were digested with the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprints {
    /// The digest under which the request is recorded.
    pub own: Fingerprint,
    /// Another digest under which the request may be on record.
    pub accepted: Option<Fingerprint>,
}

impl Fingerprints {
    /// Returns the fingerprints of a request that is recognized by one digest alone.
    pub const fn only(own: Fingerprint) -> Self {
        Self { own, accepted: None }
    }

    fn contain(self, recorded: Fingerprint) -> bool {
        recorded == self.own || Some(recorded) == self.accepted
    }
}

/// Identifies one attempt to carry out a request. It distinguishes a late write of an attempt that was given up for lost
/// from the writes of its successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AttemptId(Uuid);

impl AttemptId {
    /// Creates an identifier from a UUID.
    pub const fn new(value: Uuid) -> Self {
        Self(value)
    }

    /// Returns the value as a UUID.
    pub const fn uuid(self) -> Uuid {
        self.0
    }
}

/// What a request that was carried out has done, in enough detail to repeat its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It registered this account.
    Registered(UserId),
    /// It created this post.
    PostCreated(PostId),
    /// It turned a like on or off.
    LikeToggled(bool),
    /// It created this comment.
    CommentCreated(CommentId),
    /// It turned a follow relation on or off.
    FollowToggled(bool),
    /// It created this product.
    ProductCreated(ProductId),
    /// It created this report.
    ReportCreated(ReportId),
    /// It found this report of the same thing, which is open.
    ReportFound(ReportId),
}

/// How a request is to be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// The request has no name: if it is sent again, it is carried out again.
    Unnamed,
    /// This is the first attempt of its name. It must store its outcome with what it writes, or be
    /// [abandoned](super::Idempotency::abandon).
    First(AttemptId),
    /// The request was carried out before, with this outcome: nothing more is to be done.
    Replay(Outcome),
}

impl Attempt {
    /// Returns the attempt whose outcome must be stored with the write, if the request has a name.
    pub const fn id(self) -> Option<AttemptId> {
        match self {
            Self::First(id) => Some(id),
            Self::Unnamed | Self::Replay(_) => None,
        }
    }

    /// Returns the outcome, if the request was carried out before.
    pub const fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Replay(outcome) => Some(outcome),
            Self::Unnamed | Self::First(_) => None,
        }
    }
}

/// The record of an attempt to carry out a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The digest of the request.
    pub fingerprint: Fingerprint,
    /// When the attempt began.
    pub begun_at: Timestamp,
    /// The outcome; `None` while the attempt is in progress, or if it was lost.
    pub outcome: Option<Outcome>,
}

/// What is found on record under the name of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// The same request was carried out, with this outcome.
    Done(Outcome),
    /// The same request is in progress.
    Running,
    /// A different request has the name.
    Differs,
}

impl Record {
    /// How long a record is kept, in milliseconds: 24 hours.
    pub const RETENTION_MILLIS: i64 = 24 * 60 * 60 * 1000;

    /// The maximum number of records of one account, of which the newest are kept.
    pub const MAX_PER_CALLER: usize = 1_000;

    /// The age at which an attempt without an outcome is given up for lost, in milliseconds: twice as long as any request
    /// may take, so that the clocks of nodes may differ. It is also how far in the future an attempt may have begun.
    pub const ATTEMPT_TIMEOUT_MILLIS: i64 = 60 * 1000;

    /// Returns what a request with these fingerprints finds at `now`: the rule of what a retry gets. `None` means that the
    /// record no longer counts, and the request replaces it.
    pub fn lookup(self, fingerprints: Fingerprints, now: Timestamp) -> Option<Lookup> {
        let is_older_than = |millis| self.begun_at.plus_millis(millis) <= now;
        // Begun when the clock was far ahead: it would seem to be in progress until that time.
        let is_from_the_future = now.plus_millis(Self::ATTEMPT_TIMEOUT_MILLIS) <= self.begun_at;
        match self.outcome {
            _ if is_older_than(Self::RETENTION_MILLIS) => None,
            _ if !fingerprints.contain(self.fingerprint) => Some(Lookup::Differs),
            Some(outcome) => Some(Lookup::Done(outcome)),
            None if is_older_than(Self::ATTEMPT_TIMEOUT_MILLIS) || is_from_the_future => None,
            None => Some(Lookup::Running),
        }
    }
}
