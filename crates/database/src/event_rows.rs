//! Conversion of events to rows and back.

use agora_domain::events::Event;
use diesel::{Insertable, Queryable, Selectable};

use crate::error::{Outcome, corrupt};
use crate::notices::{kind, kind_code};
use crate::rows::{visibility, visibility_code};
use crate::schema::events;
use crate::sql_types::DbId;

/// The columns of an event.
#[derive(Debug, Clone, Copy, Default, Insertable, Queryable, Selectable)]
#[diesel(table_name = events)]
pub(crate) struct EventRow {
    pub(crate) kind: i16,
    pub(crate) post_id: Option<DbId>,
    pub(crate) comment_id: Option<DbId>,
    pub(crate) user_id: Option<DbId>,
    pub(crate) notification_id: Option<DbId>,
    pub(crate) detail: Option<i16>,
}

// SQL functions and statements of PostgreSQL contain these numbers as literals.
const CREATED: i16 = 0;
const UPDATED: i16 = 1;
const DELETED: i16 = 2;
const COMMENTED: i16 = 3;
const LIKED: i16 = 4;
const NOTIFIED: i16 = 5;

impl EventRow {
    /// Returns the row of an event.
    pub(crate) fn of(event: Event) -> Self {
        let post_id = event.post().map(|id| DbId(id.uuid()));
        let row = Self { post_id, ..Self::default() };
        match event {
            Event::PostCreated(_, author) => Self { kind: CREATED, user_id: Some(DbId(author.uuid())), ..row },
            Event::PostUpdated(_) => Self { kind: UPDATED, ..row },
            Event::PostDeleted(_, author, visibility) => Self {
                kind: DELETED,
                user_id: Some(DbId(author.uuid())),
                detail: Some(visibility_code(visibility)),
                ..row
            },
            Event::Commented(_, comment, author) => Self {
                kind: COMMENTED,
                comment_id: Some(DbId(comment.uuid())),
                user_id: Some(DbId(author.uuid())),
                ..row
            },
            Event::Liked(_) => Self { kind: LIKED, ..row },
            Event::Notified(recipient, id, kind) => Self {
                kind: NOTIFIED,
                user_id: Some(DbId(recipient.uuid())),
                notification_id: Some(DbId(id.uuid())),
                detail: Some(kind_code(kind)),
                ..row
            },
            // Unknown events are only read, never stored.
            Event::Unknown => Self { kind: i16::MAX, ..row },
        }
    }

    /// Returns the event, or [`Event::Unknown`] for a row written by a later release.
    pub(crate) fn event(self) -> Event {
        self.known_event().unwrap_or(Event::Unknown)
    }

    fn known_event(self) -> Outcome<Event> {
        let corrupt = || corrupt("event");
        let post = || self.post_id.map(|id| id.0.into()).ok_or_else(corrupt);
        let user = || self.user_id.map(|id| id.0.into()).ok_or_else(corrupt);
        let detail = || self.detail.ok_or_else(corrupt);
        Ok(match self.kind {
            CREATED => Event::PostCreated(post()?, user()?),
            UPDATED => Event::PostUpdated(post()?),
            DELETED => Event::PostDeleted(post()?, user()?, visibility(detail()?)?),
            COMMENTED => Event::Commented(post()?, self.comment_id.ok_or_else(corrupt)?.0.into(), user()?),
            LIKED => Event::Liked(post()?),
            NOTIFIED => {
                let id = self.notification_id.ok_or_else(corrupt)?.0.into();
                Event::Notified(user()?, id, kind(detail()?)?)
            }
            _ => return Err(corrupt()),
        })
    }
}
