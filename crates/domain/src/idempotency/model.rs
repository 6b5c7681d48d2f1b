//! What is known of a request that may be sent again, and the rules about it.

use uuid::Uuid;

use crate::clock::Timestamp;
use crate::id::{CommentId, PostId, ProductId, ReportId, UserId};

/// What a client calls a request that it may send again: a word of its own making, 1 to 255 visible ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The most characters of a key.
    pub const MAX: usize = 255;

    /// Returns the key that a client sent; `None` when it is not 1 to 255 visible ASCII characters.
    pub fn parse(text: &str) -> Option<Self> {
        let is_key = (1..=Self::MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_key.then(|| Self(text.to_owned()))
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Names a request: two with the same name are taken for one that is sent twice.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestName {
    /// Who sends it; nobody when it needs no account.
    pub caller: Option<UserId>,
    /// What it asks for.
    pub route: String,
    /// What the client calls it.
    pub key: IdempotencyKey,
}

/// A digest of all that a request says: another request under the same name is told by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

/// The digests by which a request is known: they are keyed, and while the key is changed for another, what was digested
/// with the one must be known by whoever digests with the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprints {
    /// The one under which it is put on record.
    pub own: Fingerprint,
    /// The one under which it may be on record besides.
    pub accepted: Option<Fingerprint>,
}

impl Fingerprints {
    /// Those of a request that is known by one digest alone.
    pub const fn only(own: Fingerprint) -> Self {
        Self { own, accepted: None }
    }

    fn contain(self, recorded: Fingerprint) -> bool {
        recorded == self.own || Some(recorded) == self.accepted
    }
}

/// Names one attempt to carry out a request: what an attempt that was given up for lost still wants to write is told by
/// it from what its successor writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AttemptId(Uuid);

impl AttemptId {
    /// The attempt with this identifier.
    pub const fn new(value: Uuid) -> Self {
        Self(value)
    }

    /// Returns the identifier.
    pub const fn uuid(self) -> Uuid {
        self.0
    }
}

/// What a request that was carried out has done: enough to say it again.
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

/// As what a request is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// As one that has no name: whoever sends it again has it carried out again.
    Unnamed,
    /// As the first one of its name, which must store its outcome with what it writes or be
    /// [abandoned](super::Idempotency::abandon).
    First(AttemptId),
    /// As one that was carried out before, and did this: it does nothing more.
    Again(Outcome),
}

impl Attempt {
    /// Returns the attempt that a write is part of, if it has a name.
    pub const fn id(self) -> Option<AttemptId> {
        match self {
            Self::First(id) => Some(id),
            Self::Unnamed | Self::Again(_) => None,
        }
    }

    /// Returns what was done, if it was done before.
    pub const fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Again(outcome) => Some(outcome),
            Self::Unnamed | Self::First(_) => None,
        }
    }
}

/// What is on record of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What it said.
    pub fingerprint: Fingerprint,
    /// When the attempt began.
    pub begun_at: Timestamp,
    /// What it did; nothing while the attempt is under way, or was lost.
    pub outcome: Option<Outcome>,
}

/// What a request meets under its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// The same request, and what it did.
    Done(Outcome),
    /// The same request, which is under way.
    Running,
    /// Another request.
    Differs,
}

impl Record {
    /// How long a request is remembered, in milliseconds: 24 hours.
    pub const KEPT_MILLIS: i64 = 24 * 60 * 60 * 1000;

    /// How many requests of one account are remembered at most, the newest ones.
    pub const MOST_PER_CALLER: usize = 1_000;

    /// After how long an attempt without an outcome is given up for lost, in milliseconds: twice as long as any request
    /// may take, so that clocks of several nodes may differ. It is also how far ahead it may have begun.
    pub const LOST_MILLIS: i64 = 60 * 1000;

    /// Returns what a request with these fingerprints meets at `now`; nothing when the record no longer counts, and the
    /// request takes its place. This is the rule of what a retry gets.
    pub fn meet(self, fingerprints: Fingerprints, now: Timestamp) -> Option<Lookup> {
        let is_older_than = |millis| self.begun_at.plus_millis(millis) <= now;
        // Begun when the clock was far ahead: it would seem to be under way until that time has come.
        let is_from_the_future = now.plus_millis(Self::LOST_MILLIS) <= self.begun_at;
        match self.outcome {
            _ if is_older_than(Self::KEPT_MILLIS) => None,
            _ if !fingerprints.contain(self.fingerprint) => Some(Lookup::Differs),
            Some(outcome) => Some(Lookup::Done(outcome)),
            None if is_older_than(Self::LOST_MILLIS) || is_from_the_future => None,
            None => Some(Lookup::Running),
        }
    }
}
