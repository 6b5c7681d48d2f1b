//! Notifications, and the settings of their recipients.

use std::collections::BTreeSet;

use crate::accounts::UserPreview;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::{CommentId, NotificationId, PostId};
use crate::media::ImageKey;
use crate::notices::NotificationKind;
use crate::string_enum::string_enum;

/// How many actors a notification shows at most, the newest ones; its list of actors has the others.
pub const SHOWN_ACTORS: usize = 3;

/// The most notifications kept for one account, the newest ones (`contract`: Notifications).
pub const MAX_NOTIFICATIONS: usize = 1_000;

/// How long a notification is kept after it was made: 90 days (`contract`: Notifications).
pub const RETENTION_MILLIS: i64 = 90 * 24 * 60 * 60 * 1000;

/// A notification. Likes and follows are grouped: one notification covers all those of a day (UTC) with the same subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The id of the notification.
    pub id: NotificationId,
    /// The kind of act.
    pub kind: NotificationKind,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the last actor was added; initially, when it was created.
    pub updated_at: Timestamp,
    /// Whether the recipient has read it in its present state.
    pub read: bool,
    /// The number of actors.
    pub count: u64,
    /// The newest actors, newest first, [`SHOWN_ACTORS`] at most.
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
    /// The most characters of an excerpt.
    pub const MAX_CHARS: usize = 140;

    /// Returns the excerpt of a text.
    pub fn of(mut text: String) -> Self {
        if let Some((end, _)) = text.char_indices().nth(Self::MAX_CHARS) {
            text.truncate(end);
        }
        Self(text)
    }

    /// Returns the excerpt as a string slice.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A post as a notification shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostExcerpt {
    /// The id of the post.
    pub id: PostId,
    /// The beginning of its text.
    pub content: Excerpt,
    /// Its image.
    pub image: Option<ImageKey>,
}

/// A comment as a notification shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentExcerpt {
    /// The id of the comment.
    pub id: CommentId,
    /// The beginning of its text.
    pub content: Excerpt,
}

string_enum! {
    /// Whose acts of one kind a user is notified of.
    #[derive(Default)]
    NotificationPolicy "Policy must be everyone, following or none" {
        /// Acts of everybody.
        #[default]
        Everyone = "everyone",
        /// Acts of those whom the user follows at the time of the act.
        Following = "following",
        /// Acts of nobody.
        None = "none",
    }
}

impl NotificationPolicy {
    /// Returns whether the recipient is notified, who follows the actor or not.
    pub const fn admits(self, recipient_follows: bool) -> bool {
        match self {
            Self::Everyone => true,
            Self::Following => recipient_follows,
            Self::None => false,
        }
    }
}

/// A user's policies, one for each kind of act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NotificationSettings([NotificationPolicy; NotificationKind::ALL.len()]);

impl NotificationSettings {
    /// Returns the policy for a kind.
    pub const fn get(&self, kind: NotificationKind) -> NotificationPolicy {
        self.0[kind as usize]
    }

    /// Returns the settings with this policy for a kind.
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

/// Which of some notifications their recipient sees, and how many are unread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationState {
    /// How many of all notifications of the user are unread; 0, without counting, if `seen` is empty.
    pub unread: u64,
    /// The notifications among those asked for that the user sees.
    pub seen: BTreeSet<NotificationId>,
}
