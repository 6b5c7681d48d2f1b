//! Conversion of notices to rows of notifications.

use agora_domain::clock::Timestamp;
use agora_domain::notices::{Notice, NotificationKind, Subject};
use agora_domain::notifications::NotificationPolicy;

use crate::codes::codes;
use crate::schema::NotificationRecord;
use crate::sql_types::{DbId, DbInstant};

codes! { kind_code, kind("kind of notification"): NotificationKind {
    Like = 0, Comment = 1, Reply = 2, Mention = 3, Follow = 4, CommentLike = 5, Report = 6,
} }

// Code 0 is the policy that applies if none is stored.
codes! { policy_code, policy("notification policy"): NotificationPolicy {
    Everyone = 0, Following = 1, None = 2,
} }

/// The key of a notification that gathers several acts: there is one for each kind, target and day.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gathered {
    pub(crate) kind: NotificationKind,
    pub(crate) target: DbId,
    pub(crate) day: i32,
}

impl Gathered {
    pub(crate) fn new(kind: NotificationKind, target: DbId, made: DbInstant) -> Self {
        Self { kind, target, day: day(made.0) }
    }
}

/// Returns the day of an instant, counted from 1970-01-01, UTC.
fn day(at: Timestamp) -> i32 {
    const DAY_SECONDS: i64 = 24 * 60 * 60;
    // Every representable date fits.
    i32::try_from(at.unix_seconds().div_euclid(DAY_SECONDS)).unwrap_or(i32::MAX)
}

/// Returns the row of a notification about a single act.
pub(crate) fn row(notice: &Notice) -> NotificationRecord {
    let (post, comment) = match notice.subject {
        Subject::Recipient => (None, None),
        Subject::Post(post) => (Some(post), None),
        Subject::Comment(post, comment) => (Some(post), Some(comment)),
    };
    let at = DbInstant(notice.at);
    NotificationRecord {
        id: DbId(notice.id.uuid()),
        recipient_id: DbId(notice.recipient.uuid()),
        kind: kind_code(notice.kind),
        actor_id: Some(DbId(notice.actor.uuid())),
        post_id: post.map(|id| DbId(id.uuid())),
        comment_id: comment.map(|id| DbId(id.uuid())),
        day: None,
        target_id: None,
        created_at: at,
        updated_at: at,
        count: 1,
        is_empty: false,
        is_read: false,
    }
}

/// Returns the row of a notification that will gather the acts of its day.
pub(crate) fn gathered_row(notice: &Notice) -> NotificationRecord {
    let row = row(notice);
    let target_id = row.comment_id.or(row.post_id).or(Some(row.recipient_id));
    NotificationRecord { actor_id: None, day: Some(day(notice.at)), target_id, ..row }
}
