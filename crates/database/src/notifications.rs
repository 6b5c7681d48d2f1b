//! The repository of notifications.

use agora_domain::Result;
use agora_domain::accounts::UserPreview;
use agora_domain::clock::Timestamp;
use agora_domain::id::{NotificationId, UserId};
use agora_domain::notices::NotificationKind;
use agora_domain::notifications::{
    Notification, NotificationPolicy, NotificationRepository, NotificationSettings, NotificationState,
};
use agora_domain::page::{Keyset, Page, PageRequest};
use agora_domain::posts::VisibleTo;
use async_trait::async_trait;
use uuid::Uuid;

use crate::batches::until_none;
use crate::error::Outcome;
use crate::notices::{kind, policy};
use crate::rows::{Slice, page_of};
use crate::sql_types::{DbId, DbInstant};
use crate::values::{NotificationViewRow, VisiblePosts, kind_codes};
use crate::{Database, call};

/// Returns the smallest UUIDv7 of an instant.
fn smallest_id(at: Timestamp) -> DbId {
    let millis = u64::try_from(at.unix_millis()).unwrap_or_default();
    DbId(Uuid::from_u64_pair(millis << 16, 0))
}

/// Returns the position of an actor: actors are ordered by the ids of their acts.
fn actor_keyset(id: DbId) -> Keyset {
    Keyset { at: Timestamp::from_unix_millis(0), id: id.0 }
}

fn settings(chosen: Vec<(i16, i16)>) -> Outcome<NotificationSettings> {
    chosen.into_iter().try_fold(NotificationSettings::default(), |settings, (code, chosen)| {
        Ok(settings.with(kind(code)?, policy(chosen)?))
    })
}

#[async_trait]
impl NotificationRepository for Database {
    async fn list(
        &self,
        visible: VisibleTo,
        kinds: &[NotificationKind],
        page: PageRequest,
    ) -> Result<Page<Notification>> {
        let (visible, kinds, slice) = (VisiblePosts::of(visible), kind_codes(kinds), Slice::newest_first(page));
        let rows = call!(self, search notifications::list(visible, kinds, slice))?;
        let read = |(key, row): (_, Option<NotificationViewRow>)| {
            Ok((key, row.map(NotificationViewRow::notification).transpose()?))
        };
        Ok(page_of(page, rows, read)?.filter_map(|notification| notification))
    }

    async fn count_unread(&self, visible: VisibleTo) -> Result<u64> {
        Ok(crate::rows::count(call!(self, list notifications::count_unread(VisiblePosts::of(visible)))?))
    }

    async fn find_state(&self, visible: VisibleTo, ids: Vec<NotificationId>) -> Result<NotificationState> {
        let (visible, ids) = (VisiblePosts::of(visible), ids.into_iter().map(|id| DbId(id.uuid())).collect::<Vec<_>>());
        let (unread, seen) = call!(self, list notifications::find_state(visible, ids))?;
        Ok(NotificationState {
            unread: crate::rows::count(unread),
            seen: seen.into_iter().map(|id| id.0.into()).collect(),
        })
    }

    async fn mark_read(&self, recipient: UserId, up_to: NotificationId, updated_at: Option<Timestamp>) -> Result<()> {
        let (recipient, up_to, updated_at) = (DbId(recipient.uuid()), DbId(up_to.uuid()), updated_at.map(DbInstant));
        call!(self, write notifications::mark_read(recipient, up_to, updated_at))
    }

    async fn list_actors(
        &self,
        visible: VisibleTo,
        id: NotificationId,
        page: PageRequest,
    ) -> Result<Option<Page<UserPreview>>> {
        let (id, slice) = (DbId(id.uuid()), Slice::newest_first(page));
        let actors = call!(self, list notifications::list_actors(VisiblePosts::of(visible), id, slice))?;
        actors.map(|actors| page_of(page, actors, |(id, row)| Ok((actor_keyset(id), row.preview()?)))).transpose()
    }

    async fn settings(&self, user: UserId) -> Result<NotificationSettings> {
        Ok(settings(call!(self, read notifications::settings(DbId(user.uuid())))?)?)
    }

    async fn change_settings(
        &self,
        user: UserId,
        changes: &[(NotificationKind, NotificationPolicy)],
    ) -> Result<NotificationSettings> {
        let (user, changes) = (DbId(user.uuid()), changes.to_vec());
        Ok(settings(call!(self, write notifications::change_settings(user, changes))?)?)
    }

    async fn delete_created_before(&self, at: Timestamp) -> Result<usize> {
        call!(self, write notifications::delete_before(DbInstant(at), smallest_id(at)))
    }

    async fn trim(&self, after: Option<UserId>) -> Result<(usize, Option<UserId>)> {
        let after = DbId(after.map_or(Uuid::nil(), UserId::uuid));
        let (last, recipients) = call!(self, search notifications::recipients(after))?;
        let mut deleted = 0;
        for recipient in recipients {
            deleted += until_none(|| async move { call!(self, write notifications::trim(recipient)) }).await?;
        }
        Ok((deleted, last.map(|id| id.0.into())))
    }
}
