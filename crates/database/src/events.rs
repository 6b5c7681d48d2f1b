//! The event log, and the state that decides who receives events.
//!
//! Each node keeps the newest events in memory. On SQLite, where there is only one node, the writer thread adds them after the
//! commit. On PostgreSQL they are rows of the table `events`, written in the transaction of the change that they report. One node
//! at a time numbers the committed rows, and each node reads them in the order of their numbers.

use agora_domain::Result;
use agora_domain::events::{CommentState, EventAudience, EventLog, LoggedEvent, Position, PostState};
use agora_domain::id::{CommentId, PostId, UserId};
use async_trait::async_trait;

use crate::backend::Backend;
use crate::event_window::Window;
use crate::sql_types::DbId;
use crate::{Database, call};

impl Database {
    fn window(&self) -> &Window {
        match &self.backend {
            Backend::Sqlite(database) => &database.events,
            Backend::Postgres(database) => &database.events.window,
        }
    }
}

#[async_trait]
impl EventLog for Database {
    async fn refresh(&self) -> Result<()> {
        match &self.backend {
            // Committed events are in the window already.
            Backend::Sqlite(_) => Ok(()),
            Backend::Postgres(database) => {
                let call = self.calls.begin("events.refresh");
                call.end(database.refresh_events().await)
            }
        }
    }

    async fn trim(&self) -> Result<()> {
        self.window().trim();
        match &self.backend {
            Backend::Sqlite(_) => Ok(()),
            Backend::Postgres(database) => {
                let call = self.calls.begin("events.trim");
                call.end(database.trim_events().await)
            }
        }
    }

    fn end(&self) -> Position {
        self.window().end()
    }

    fn after(&self, position: Position, most: usize) -> Option<Vec<LoggedEvent>> {
        self.window().after(position, most)
    }
}

fn db_ids<T>(ids: impl IntoIterator<Item = T>, id: impl Fn(T) -> uuid::Uuid) -> Vec<DbId> {
    ids.into_iter().map(|each| DbId(id(each))).collect()
}

fn pairs(found: Vec<(DbId, DbId)>) -> Vec<(UserId, UserId)> {
    found.into_iter().map(|(one, other)| (one.0.into(), other.0.into())).collect()
}

#[async_trait]
impl EventAudience for Database {
    async fn find_posts(&self, ids: Vec<PostId>) -> Result<Vec<PostState>> {
        let ids = db_ids(ids, PostId::uuid);
        call!(self, list events::find_posts(ids))
    }

    async fn find_comments(&self, ids: Vec<CommentId>) -> Result<Vec<CommentState>> {
        let ids = db_ids(ids, CommentId::uuid);
        call!(self, list events::find_comments(ids))
    }

    async fn find_blocks(&self, users: Vec<UserId>, others: Vec<UserId>) -> Result<Vec<(UserId, UserId)>> {
        let (users, others) = (db_ids(users, UserId::uuid), db_ids(others, UserId::uuid));
        Ok(pairs(call!(self, list events::find_blocks(users, others))?))
    }

    async fn find_mutes(&self, muters: Vec<UserId>, muted: Vec<UserId>) -> Result<Vec<(UserId, UserId)>> {
        let (muters, muted) = (db_ids(muters, UserId::uuid), db_ids(muted, UserId::uuid));
        Ok(pairs(call!(self, list events::find_mutes(muters, muted))?))
    }

    async fn find_follows(&self, followers: Vec<UserId>, followed: Vec<UserId>) -> Result<Vec<(UserId, UserId)>> {
        let (followers, followed) = (db_ids(followers, UserId::uuid), db_ids(followed, UserId::uuid));
        Ok(pairs(call!(self, list events::find_follows(followers, followed))?))
    }
}
