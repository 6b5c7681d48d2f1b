//! Notifications, and what their recipients have chosen.

use std::collections::BTreeSet;

use crate::accounts::UserPreview;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::{CommentId, NotificationId, PostId};
use crate::media::ImageKey;
use crate::named::named;
use crate::notices::NotificationKind;

/// How many of those who acted a notification shows at most, the newest ones; the others are behind its list of actors.
pub const SHOWN_ACTORS: usize = 3;

/// How many notifications of one account are kept at most, the newest ones (`contract`: Notifications).
pub const MAX_NOTIFICATIONS: usize = 1_000;

/// How long a notification is kept after it was made: 90 days (`contract`: Notifications).
pub const KEPT_MILLIS: i64 = 90 * 24 * 60 * 60 * 1000;

/// What a user is told. One of likes or follows tells of all of a day, UTC, with the same subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// Names it.
    pub id: NotificationId,
    /// What kind of act it tells of.
    pub kind: NotificationKind,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last came to tell of somebody more; at first, when it was made.
    pub updated_at: Timestamp,
    /// Whether the recipient has read it, as it is.
    pub read: bool,
    /// Of how many it tells.
    pub count: u64,
    /// The newest of these, newest first, [`SHOWN_ACTORS`] at most.
    pub actors: Vec<UserPreview>,
    /// The post that the act was about.
    pub post: Option<PostExcerpt>,
    /// The comment that the act was about.
    pub comment: Option<CommentExcerpt>,
}

/// The beginning of a text: 140 characters (Unicode scalar values) at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt(String);

impl Excerpt {
    /// The most characters it has.
    pub const MAX_CHARS: usize = 140;

    /// That of a text.
    pub fn of(mut text: String) -> Self {
        if let Some((end, _)) = text.char_indices().nth(Self::MAX_CHARS) {
            text.truncate(end);
        }
        Self(text)
    }

    /// Returns the beginning.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A post as a notification shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostExcerpt {
    /// Names it.
    pub id: PostId,
    /// What it begins with.
    pub content: Excerpt,
    /// Its image.
    pub image: Option<ImageKey>,
}

/// A comment as a notification shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentExcerpt {
    /// Names it.
    pub id: CommentId,
    /// What it begins with.
    pub content: Excerpt,
}

named! {
    /// Whose acts of a kind a user is told of.
    #[derive(Default)]
    NotificationPolicy "Policy must be everyone, following or none" {
        /// Everybody's.
        #[default]
        Everyone = "everyone",
        /// Those of whom the user follows when they act.
        Following = "following",
        /// Nobody's.
        None = "none",
    }
}

impl NotificationPolicy {
    /// The rule of whether somebody is told, who follows whoever acts or not.
    pub const fn admits(self, recipient_follows: bool) -> bool {
        match self {
            Self::Everyone => true,
            Self::Following => recipient_follows,
            Self::None => false,
        }
    }
}

/// What a user is told of, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NotificationSettings([NotificationPolicy; NotificationKind::ALL.len()]);

impl NotificationSettings {
    /// Returns the policy for a kind.
    pub const fn get(&self, kind: NotificationKind) -> NotificationPolicy {
        self.0[kind as usize]
    }

    /// Returns the settings with another policy for a kind.
    #[must_use]
    pub const fn with(mut self, kind: NotificationKind, policy: NotificationPolicy) -> Self {
        self.0[kind as usize] = policy;
        self
    }

    /// Returns the policy of every kind.
    pub fn iter(&self) -> impl Iterator<Item = (NotificationKind, NotificationPolicy)> {
        NotificationKind::ALL.map(|kind| (kind, self.get(kind))).into_iter()
    }
}

/// What a user sees of notifications that were just made or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationState {
    /// How many of all of the user's are unread; not counted where the user sees none of those asked about.
    pub unread: u64,
    /// Those that the user sees.
    pub seen: BTreeSet<NotificationId>,
}
