//! What happens, who listens to what, and what a listener is told.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use uuid::Uuid;
use uuid::fmt::Hyphenated;

use crate::error::ViolationKind::{NotAllowed, OutOfRange, Required};
use crate::error::{Result, Violation};
use crate::id::{CommentId, NotificationId, PostId, UserId};
use crate::notices::NotificationKind;
use crate::posts::Visibility;

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A post was published.
    PostCreated(PostId, UserId),
    /// A post was changed.
    PostUpdated(PostId),
    /// A post was deleted: by whom it was, and who could view it.
    PostDeleted(PostId, UserId, Visibility),
    /// A comment was made: on which post, which one, and by whom.
    Commented(PostId, CommentId, UserId),
    /// Likes of a post were made or taken back.
    Liked(PostId),
    /// A user was told something.
    Notified(UserId, NotificationId, NotificationKind),
    /// Something of which only a later release knows, as during an upgrade to it.
    Unknown,
}

impl Event {
    /// Returns the post that it is about.
    pub const fn post(&self) -> Option<PostId> {
        match *self {
            Self::PostCreated(post, _)
            | Self::PostUpdated(post)
            | Self::PostDeleted(post, ..)
            | Self::Commented(post, ..)
            | Self::Liked(post) => Some(post),
            Self::Notified(..) | Self::Unknown => None,
        }
    }
}

/// An event on the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedEvent {
    /// Its place: each has the number after that of the one before.
    pub number: u64,
    /// What happened.
    pub event: Event,
    /// How long ago.
    pub age: Duration,
}

/// What an event may tell one listener more than one thing of, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Part {
    /// What `feed` tells.
    Feed,
    /// What all other topics tell.
    #[default]
    Rest,
}

/// A place on the log: all that was told up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// Which log: a new one begins when the old one is lost.
    pub epoch: u64,
    /// The number of the last event told.
    pub number: u64,
    /// What of it was told last.
    pub part: Part,
}

impl Position {
    /// Returns the place behind all of an event.
    pub const fn after(epoch: u64, number: u64) -> Self {
        Self { epoch, number, part: Part::Rest }
    }

    /// Returns the number of the last event of which everything was told.
    pub const fn complete(self) -> u64 {
        match self.part {
            Part::Feed => self.number.saturating_sub(1),
            Part::Rest => self.number,
        }
    }

    /// Returns whether another place, which may be of another log, does not include this one.
    pub fn is_after(self, other: Self) -> bool {
        self.epoch != other.epoch || other.is_before(self)
    }

    /// Returns whether another place of the same log comes after this one.
    pub fn is_before(self, other: Self) -> bool {
        (self.number, self.part) < (other.number, other.part)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { epoch, number, part } = self;
        let part = if *part == Part::Feed { "p" } else { "" };
        write!(f, "{epoch:x}-{number:x}{part}")
    }
}

/// What is no position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoPosition;

impl FromStr for Position {
    type Err = NoPosition;

    fn from_str(text: &str) -> Result<Self, NoPosition> {
        let (epoch, number) = text.split_once('-').ok_or(NoPosition)?;
        let (number, part) = match number.strip_suffix('p') {
            Some(number) => (number, Part::Feed),
            None => (number, Part::Rest),
        };
        let parse = |digits: &str| {
            let is_plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            u64::from_str_radix(digits, 16).ok().filter(|_| is_plain).ok_or(NoPosition)
        };
        Ok(Self { epoch: parse(epoch)?, number: parse(number)?, part })
    }
}

/// What can be listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// What the listener is told of the acts of others.
    Notifications,
    /// New posts of those whom the listener follows.
    Feed,
    /// New PUBLIC posts.
    Public,
    /// What happens to a post.
    Post(PostId),
}

/// What a stream is about: 1 to [`MAX`](Self::MAX) topics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topics(BTreeSet<Topic>);

impl Topics {
    /// The most topics of a stream.
    pub const MAX: usize = 50;

    /// Parses what a client sent: names separated by commas, each counted once.
    ///
    /// # Errors
    /// The violation, in words for the client.
    pub fn parse(names: &str) -> Result<Self, Violation> {
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        let topics: BTreeSet<_> = names.map(str::parse).collect::<Result<_, _>>()?;
        match topics.len() {
            0 => Err(Violation::new(Required, "Topics are required")),
            1..=Self::MAX => Ok(Self(topics)),
            _ => Err(Violation::new(OutOfRange, "Topics must be at most 50")),
        }
    }

    /// Returns each topic.
    pub fn iter(&self) -> impl Iterator<Item = Topic> {
        self.0.iter().copied()
    }

    /// Returns whether a topic is among them.
    pub fn contains(&self, topic: Topic) -> bool {
        self.0.contains(&topic)
    }

    /// Returns the posts among them.
    pub fn posts(&self) -> impl Iterator<Item = PostId> {
        self.0.iter().filter_map(|topic| match topic {
            Topic::Post(id) => Some(*id),
            _ => None,
        })
    }
}

impl FromStr for Topic {
    type Err = Violation;

    fn from_str(name: &str) -> Result<Self, Violation> {
        let unknown = || Violation::new(NotAllowed, "Topics must be notifications, feed, public or post:{id}");
        match name {
            "notifications" => Ok(Self::Notifications),
            "feed" => Ok(Self::Feed),
            "public" => Ok(Self::Public),
            _ => {
                let id = name.strip_prefix("post:").ok_or_else(unknown)?;
                // As in paths: clients compare a topic with an id by its text.
                let id = Uuid::try_parse(id).ok().filter(|_| id.len() == Hyphenated::LENGTH);
                id.map(|id| Self::Post(id.into())).ok_or_else(unknown)
            }
        }
    }
}

/// What became of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostChange {
    /// It was changed.
    Updated,
    /// It was deleted.
    Deleted,
}

/// What a listener is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// The listener was told something: what, and how much is unread now.
    Notification(NotificationId, NotificationKind, u64),
    /// One whom the listener follows published a post.
    Feed(PostId, UserId),
    /// Somebody published a PUBLIC post.
    Public(PostId, UserId),
    /// Somebody commented on a post.
    Comment(PostId, CommentId),
    /// How many like a post now.
    Like(PostId, u64),
    /// What became of a post.
    Post(PostId, PostChange),
    /// Something may have been missed that cannot be told any more.
    Reset,
    /// Nothing happened: the stream is there.
    Heartbeat,
}

/// A message, and how far its listener has been told everything with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// How far.
    pub position: Position,
    /// The message.
    pub message: Message,
}

/// Why a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndReason {
    /// The session was revoked, or the account was disabled or has no role any more.
    SessionEnded,
    /// The token has expired.
    TokenExpired,
    /// The service stops.
    ShuttingDown,
    /// The listener did not take what was there for it.
    TooSlow,
}

impl EndReason {
    /// Every reason.
    pub const ALL: [Self; 4] = [Self::SessionEnded, Self::TokenExpired, Self::ShuttingDown, Self::TooSlow];

    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SessionEnded => "session_ended",
            Self::TokenExpired => "token_expired",
            Self::ShuttingDown => "shutting_down",
            Self::TooSlow => "too_slow",
        }
    }
}
