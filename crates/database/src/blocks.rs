//! The repository of blocks and mutes.

use agora_domain::Result;
use agora_domain::accounts::Viewer;
use agora_domain::blocks::{BlockRepository, NewBlock, NewMute};
use agora_domain::clock::Timestamp;
use agora_domain::id::UserId;
use agora_domain::page::{Page, PageRequest};
use agora_domain::people::Person;
use async_trait::async_trait;

use crate::account_filters::DbViewer;
use crate::people::page_of_related;
use crate::rows::{Slice, keyset, page_of};
use crate::schema::MuteRecord;
use crate::sql_types::{DbId, DbInstant};
use crate::{Database, call};

#[async_trait]
impl BlockRepository for Database {
    async fn block(&self, blocker: UserId, blocked: UserId, block: NewBlock) -> Result<()> {
        let (blocker, blocked, block) =
            (DbId(blocker.uuid()), DbId(blocked.uuid()), (DbId(block.id.uuid()), DbInstant(block.at)));
        call!(self, write_idempotent blocks::block(blocker, blocked, block))
    }

    async fn unblock(&self, blocker: UserId, blocked: UserId) -> Result<bool> {
        call!(self, write blocks::unblock(DbId(blocker.uuid()), DbId(blocked.uuid())))
    }

    async fn list_blocked(&self, viewer: Viewer, page: PageRequest) -> Result<Page<Person>> {
        let (viewer, slice) = (DbViewer::of(viewer), Slice::newest_first(page));
        page_of_related(page, call!(self, list blocks::list_blocked(viewer, slice))?)
    }

    async fn mute(&self, muter: UserId, muted: UserId, mute: NewMute) -> Result<()> {
        let (muter_id, muted_id) = (DbId(muter.uuid()), DbId(muted.uuid()));
        let (id, created_at, ends_at) = (DbId(mute.id.uuid()), DbInstant(mute.at), mute.until.map(DbInstant));
        call!(self, write_idempotent blocks::mute(MuteRecord { muter_id, muted_id, id, created_at, ends_at }))
    }

    async fn unmute(&self, muter: UserId, muted: UserId) -> Result<bool> {
        call!(self, write blocks::unmute(DbId(muter.uuid()), DbId(muted.uuid())))
    }

    async fn list_muted(&self, viewer: Viewer, page: PageRequest) -> Result<Page<(Person, Option<Timestamp>)>> {
        let (viewer, slice) = (DbViewer::of(viewer), Slice::newest_first(page));
        let rows = call!(self, list blocks::list_muted(viewer, slice))?;
        page_of(page, rows, |(ends_at, at, id, row)| Ok((keyset(at, id), (row.person()?, ends_at.map(|at| at.0)))))
    }

    async fn end_mutes(&self, now: Timestamp) -> Result<usize> {
        call!(self, write blocks::end_mutes(DbInstant(now)))
    }
}
