//! Events, positions on the log, topics, and the messages that listeners receive.

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

/// A change that live updates report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A post was published.
    PostCreated(PostId, UserId),
    /// A post was changed.
    PostUpdated(PostId),
    /// A post was deleted: the post, its author, and its visibility until then.
    PostDeleted(PostId, UserId, Visibility),
    /// A comment was made: the post, the comment, and its author.
    Commented(PostId, CommentId, UserId),
    /// Likes of a post were added or removed.
    Liked(PostId),
    /// A user was notified: the recipient, the notification, and its kind.
    Notified(UserId, NotificationId, NotificationKind),
    /// An event of a kind that only a later release knows, as during an upgrade to it.
    Unknown,
}

impl Event {
    /// Returns the post that the event is about.
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
    /// Its number: consecutive numbers, in the order of the log.
    pub number: u64,
    /// The event itself.
    pub event: Event,
    /// How long ago it happened.
    pub age: Duration,
}

/// A part of an event: one event may cause two messages to the same listener, which are sent in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Part {
    /// The message of the topic `feed`.
    Feed,
    /// The message of any other topic.
    #[default]
    Rest,
}

/// A position on the log, up to which a listener has received everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// Identifies the log: a new epoch begins when the log is lost.
    pub epoch: u64,
    /// The number of the last event that was delivered.
    pub number: u64,
    /// The last part of that event that was delivered.
    pub part: Part,
}

impl Position {
    /// Returns the position after all parts of an event.
    pub const fn after(epoch: u64, number: u64) -> Self {
        Self { epoch, number, part: Part::Rest }
    }

    /// Returns the number of the last event all of whose parts were delivered.
    pub const fn complete(self) -> u64 {
        match self.part {
            Part::Feed => self.number.saturating_sub(1),
            Part::Rest => self.number,
        }
    }

    /// Returns whether this position is after another one, or belongs to another log.
    pub fn is_after(self, other: Self) -> bool {
        self.epoch != other.epoch || other.is_before(self)
    }

    /// Returns whether this position is before another one of the same log. Epochs are not compared.
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

/// The error of parsing a text that is not a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidPosition;

impl FromStr for Position {
    type Err = InvalidPosition;

    fn from_str(text: &str) -> Result<Self, InvalidPosition> {
        let (epoch, number) = text.split_once('-').ok_or(InvalidPosition)?;
        let (number, part) = match number.strip_suffix('p') {
            Some(number) => (number, Part::Feed),
            None => (number, Part::Rest),
        };
        let parse = |digits: &str| {
            let is_plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            u64::from_str_radix(digits, 16).ok().filter(|_| is_plain).ok_or(InvalidPosition)
        };
        Ok(Self { epoch: parse(epoch)?, number: parse(number)?, part })
    }
}

/// What a stream can subscribe to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// The listener's notifications.
    Notifications,
    /// New posts by users whom the listener follows.
    Feed,
    /// New PUBLIC posts.
    Public,
    /// Changes to one post, its comments and its likes.
    Post(PostId),
}

/// The topics of a stream: 1 to [`MAX`](Self::MAX) of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topics(BTreeSet<Topic>);

impl Topics {
    /// The most topics of a stream.
    pub const MAX: usize = 50;

    /// Parses what a client sent: names separated by commas. Duplicates count once.
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

    /// Returns an iterator over the topics.
    pub fn iter(&self) -> impl Iterator<Item = Topic> {
        self.0.iter().copied()
    }

    /// Returns whether the stream has this topic.
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
                // Only the hyphenated form, as in paths: clients compare topics and ids as text.
                let id = Uuid::try_parse(id).ok().filter(|_| id.len() == Hyphenated::LENGTH);
                id.map(|id| Self::Post(id.into())).ok_or_else(unknown)
            }
        }
    }
}

/// How a post changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostChange {
    /// It was changed.
    Updated,
    /// It was deleted.
    Deleted,
}

/// A message to a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// The listener was notified: the notification, its kind, and how many are unread now.
    Notification(NotificationId, NotificationKind, u64),
    /// A user whom the listener follows published a post: the post and its author.
    Feed(PostId, UserId),
    /// Somebody published a PUBLIC post: the post and its author.
    Public(PostId, UserId),
    /// Somebody commented on a post.
    Comment(PostId, CommentId),
    /// The likes of a post changed: the post, and how many users like it now.
    Like(PostId, u64),
    /// A post was changed or deleted.
    Post(PostId, PostChange),
    /// Messages may have been lost; the client must read the current state.
    Reset,
    /// A keep-alive without an event.
    Heartbeat,
}

/// A message with its position on the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// The position up to which the listener has received everything once it has this message.
    pub position: Position,
    /// The message.
    pub message: Message,
}

/// The reason that a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndReason {
    /// The session was revoked, or the account was disabled or has no role any more.
    SessionEnded,
    /// The token has expired.
    TokenExpired,
    /// The service is shutting down.
    ShuttingDown,
    /// The listener did not read fast enough, and its queue is full.
    TooSlow,
}

impl EndReason {
    /// Every reason.
    pub const ALL: [Self; 4] = [Self::SessionEnded, Self::TokenExpired, Self::ShuttingDown, Self::TooSlow];

    /// Returns the name of the reason.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SessionEnded => "session_ended",
            Self::TokenExpired => "token_expired",
            Self::ShuttingDown => "shutting_down",
            Self::TooSlow => "too_slow",
        }
    }
}
