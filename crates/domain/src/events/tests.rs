use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use super::*;
use crate::accounts::{Caller, Member, MockSessionRepository, Role, Roles, Session, SessionState};
use crate::clock::{MockClock, Timestamp};
use crate::error::{Error, Forbidden, Resource, Result};
use crate::id::{CommentId, NotificationId, PostId, SessionId, UserId};
use crate::notices::NotificationKind;
use crate::notifications::{MockNotificationRepository, NotificationState};
use crate::posts::Visibility;

mod delivery;
mod resuming;
mod values;

const ADA: UserId = UserId::new(Uuid::from_u128(1));
const CLEO: UserId = UserId::new(Uuid::from_u128(0xc1e0));
const BOB: UserId = UserId::new(Uuid::from_u128(2));
const POST: PostId = PostId::new(Uuid::from_u128(10));
const COMMENT: CommentId = CommentId::new(Uuid::from_u128(11));
const THREAD: CommentId = CommentId::new(Uuid::from_u128(13));
const NOTIFICATION: NotificationId = NotificationId::new(Uuid::from_u128(12));
const NOW: Timestamp = Timestamp::from_unix_millis(1_000);
const LATER: Timestamp = Timestamp::from_unix_millis(2_000);
const EPOCH: u64 = 7;
const ADMIN: Roles = Roles::NONE.with(Role::Admin, true);

/// A log in memory.
#[derive(Default)]
struct Log(Mutex<Logged>);

#[derive(Default)]
struct Logged {
    epoch: u64,
    before: u64,
    events: Vec<Event>,
}

impl Log {
    fn add(&self, events: impl IntoIterator<Item = Event>) {
        self.0.lock().unwrap().events.extend(events);
    }

    fn restart(&self, epoch: u64, before: u64) {
        *self.0.lock().unwrap() = Logged { epoch, before, events: vec![] };
    }
}

#[async_trait]
impl EventLog for Log {
    async fn refresh(&self) -> Result<()> {
        Ok(())
    }

    async fn trim(&self) -> Result<()> {
        Ok(())
    }

    fn end(&self) -> Position {
        let log = self.0.lock().unwrap();
        Position::after(log.epoch, log.before + log.events.len() as u64)
    }

    fn after(&self, position: Position, most: usize) -> Option<Vec<LoggedEvent>> {
        let log = self.0.lock().unwrap();
        let complete = position.complete();
        if position.epoch != log.epoch || complete < log.before || complete > log.before + log.events.len() as u64 {
            return None;
        }
        let next = log.events.iter().skip((complete - log.before) as usize).take(most).zip(complete + 1..);
        Some(next.map(|(event, number)| LoggedEvent { number, event: *event, age: Duration::ZERO }).collect())
    }
}

/// An outlet that records what a listener receives.
#[derive(Default)]
struct RecordingOutlet {
    received: Mutex<Vec<Delivery>>,
    end: Mutex<Option<EndReason>>,
    room: Option<usize>,
}

impl Outlet for RecordingOutlet {
    fn send(&self, delivery: Arc<Delivery>) -> bool {
        let mut received = self.received.lock().unwrap();
        let has_room = self.room.is_none_or(|room| received.len() < room);
        if has_room {
            received.push(*delivery);
        }
        has_room
    }

    fn end(&self, reason: EndReason) {
        *self.end.lock().unwrap() = Some(reason);
    }
}

impl RecordingOutlet {
    /// Returns the messages received since the last call.
    fn take(&self) -> Vec<Message> {
        self.received.lock().unwrap().drain(..).map(|delivery| delivery.message).collect()
    }

    fn end(&self) -> Option<EndReason> {
        *self.end.lock().unwrap()
    }
}

/// Live updates over mocked ports, in which Ada has a post.
struct World {
    log: Arc<Log>,
    live: Arc<LiveUpdates>,
}

#[derive(Clone, Copy)]
struct Setting {
    visibility: Visibility,
    is_there: bool,
    is_author_enabled: bool,
    /// Whether Bob follows Ada.
    follows: bool,
    /// Whether Bob blocks Ada, or the other way round.
    is_ada_blocked: bool,
    /// Whether Bob blocks Cleo, or the other way round.
    is_cleo_blocked: bool,
    /// Whether the comment exists.
    is_comment_there: bool,
    /// Whether the comment is hidden.
    is_comment_hidden: bool,
    /// Whether the thread that the comment is in is hidden.
    is_thread_hidden: bool,
    /// Whether Bob mutes Ada.
    mutes: bool,
    /// Whether the recipient sees the notification.
    is_seen: bool,
    fails: bool,
}

const SETTING: Setting = Setting {
    visibility: Visibility::Public,
    is_there: true,
    is_author_enabled: true,
    follows: false,
    is_ada_blocked: false,
    is_cleo_blocked: false,
    is_comment_there: true,
    is_comment_hidden: false,
    is_thread_hidden: false,
    mutes: false,
    is_seen: true,
    fails: false,
};

fn state(user: UserId, roles: Roles) -> SessionState {
    let session = Session { id: SessionId::new(user.uuid()), user, opened_at: NOW };
    SessionState { session, revoked: false, enabled: true, roles, last_seen_at: session.opened_at }
}

fn member(user: UserId, roles: Roles) -> Member {
    Caller::of(state(user, roles)).unwrap().member().unwrap()
}

impl World {
    fn new(setting: Setting) -> Self {
        Self::with_sessions(setting, MockSessionRepository::new())
    }

    fn with_sessions(setting: Setting, sessions: MockSessionRepository) -> Self {
        Self::changing(Arc::new(Mutex::new(setting)), sessions)
    }

    fn changing(present: Arc<Mutex<Setting>>, sessions: MockSessionRepository) -> Self {
        let setting = move || *present.lock().unwrap();
        let (of_posts, of_follows, of_notifications) = (setting.clone(), setting.clone(), setting.clone());
        let (of_blocks, of_mutes, of_comments) = (setting.clone(), setting.clone(), setting);
        let mut audience = MockEventAudience::new();
        audience.expect_find_posts().returning(move |ids| {
            let setting = of_posts();
            if setting.fails {
                return Err(Error::unavailable("away"));
            }
            let Setting { visibility, is_author_enabled, .. } = setting;
            let state =
                |id| PostState { id, author: ADA, is_author_enabled, visibility, is_hidden: false, like_count: 3 };
            Ok(ids.into_iter().filter(|id| setting.is_there && *id == POST).map(state).collect())
        });
        audience.expect_find_comments().returning(move |ids| {
            let Setting { is_comment_there, is_comment_hidden: is_hidden, is_thread_hidden, .. } = of_comments();
            let (parent, hidden_thread) = (Some(THREAD), is_thread_hidden.then_some(ADA));
            let state = |id| CommentState { id, author: CLEO, parent, is_hidden, hidden_thread };
            Ok(ids.into_iter().filter(|id| is_comment_there && *id == COMMENT).map(state).collect())
        });
        audience.expect_find_follows().returning(move |followers, followed| {
            let setting = of_follows();
            let is_queried = followers.contains(&BOB) && followed.contains(&ADA);
            Ok(if is_queried && setting.follows { vec![(BOB, ADA)] } else { vec![] })
        });
        audience.expect_find_blocks().returning(move |users, others| {
            let setting = of_blocks();
            let are_queried = |other| users.contains(&BOB) && others.contains(&other);
            let blocked = [(setting.is_ada_blocked, ADA), (setting.is_cleo_blocked, CLEO)];
            let blocked = blocked.into_iter().filter(|(is_blocked, other)| *is_blocked && are_queried(*other));
            Ok(blocked.map(|(_, other)| (BOB, other)).collect())
        });
        audience.expect_find_mutes().returning(move |muters, muted| {
            let are_queried = muters.contains(&BOB) && muted.contains(&ADA);
            Ok(if are_queried && of_mutes().mutes { vec![(BOB, ADA)] } else { vec![] })
        });
        let mut notifications = MockNotificationRepository::new();
        notifications.expect_find_state().returning(move |_, ids| {
            let setting = of_notifications();
            let seen: BTreeSet<_> = ids.into_iter().filter(|_| setting.is_seen).collect();
            Ok(NotificationState { unread: 5, seen })
        });
        let mut clock = MockClock::new();
        clock.expect_now().return_const(NOW);
        let log = Arc::new(Log::default());
        log.restart(EPOCH, 0);
        let live = LiveUpdates::new(EventPorts {
            log: Arc::clone(&log) as Arc<dyn EventLog>,
            audience: Arc::new(audience),
            notifications: Arc::new(notifications),
            sessions: Arc::new(sessions),
            clock: Arc::new(clock),
        });
        Self { log, live: Arc::new(live) }
    }

    async fn try_open(
        &self,
        listener: Member,
        topics: &str,
        resume: Resume,
        outlet: &Arc<RecordingOutlet>,
    ) -> Result<Subscription> {
        let topics = Topics::parse(topics).unwrap();
        self.live.open(listener, LATER, topics, resume, Arc::clone(outlet) as Arc<dyn Outlet>).await
    }

    /// Opens a stream that begins now.
    async fn open(&self, listener: UserId, topics: &str) -> (Subscription, Arc<RecordingOutlet>) {
        self.open_as(member(listener, Roles::USER), topics).await
    }

    async fn open_as(&self, listener: Member, topics: &str) -> (Subscription, Arc<RecordingOutlet>) {
        let outlet = Arc::default();
        let mut stream = self.try_open(listener, topics, Resume::Now, &outlet).await.unwrap();
        assert_eq!(stream.replay().await.unwrap(), None);
        (stream, outlet)
    }

    async fn publish(&self, events: impl IntoIterator<Item = Event>) {
        self.log.add(events);
        self.dispatch().await;
    }

    async fn dispatch(&self) {
        while self.live.dispatch().await.unwrap().is_more {}
    }
}

fn post_topic() -> String {
    format!("post:{POST}")
}
