//! The follow repository.

use agora_domain::Result;
use agora_domain::accounts::{UserSummary, Viewer};
use agora_domain::follows::FollowRepository;
use agora_domain::id::UserId;
use agora_domain::idempotency::{AttemptId, Outcome};
use agora_domain::page::{Page, PageRequest};
use agora_domain::relation::{NewRelation, Standing};
use async_trait::async_trait;

use crate::account_filters::DbViewer;
use crate::rows::{Slice, keyset, page_of};
use crate::schema::FollowRecord;
use crate::sql_types::{DbId, DbInstant};
use crate::values::Related;
use crate::{Database, call, once};

fn follow_record(follower: UserId, followed: UserId, relation: NewRelation) -> FollowRecord {
    FollowRecord {
        follower_id: DbId(follower.uuid()),
        followed_id: DbId(followed.uuid()),
        id: DbId(relation.id.uuid()),
        created_at: DbInstant(relation.at),
    }
}

fn page_of_users(page: PageRequest, rows: Vec<Related>) -> Result<Page<UserSummary>> {
    page_of(page, rows, |(at, id, row)| Ok((keyset(at, id), row.summary())))
}

#[async_trait]
impl FollowRepository for Database {
    async fn find_standing(&self, viewer: UserId, other: UserId) -> Result<Option<Standing>> {
        call!(self, read follows::find_standing(DbId(viewer.uuid()), DbId(other.uuid())))
    }

    async fn toggle(
        &self,
        follower: UserId,
        followed: UserId,
        relation: NewRelation,
        attempt: Option<AttemptId>,
    ) -> Result<bool> {
        let (notice, follow, row) = (relation.notice, follow_record(follower, followed, relation), followed.uuid());
        once!(self, attempt, write follows::toggle(follow, notice), did follows => Outcome::FollowToggled(follows), at row)
    }

    async fn set(&self, follower: UserId, followed: UserId, relation: NewRelation) -> Result<()> {
        let (notice, follow) = (relation.notice, follow_record(follower, followed, relation));
        call!(self, write_idempotent follows::set(follow, notice), at followed.uuid())
    }

    async fn unset(&self, follower: UserId, followed: UserId) -> Result<()> {
        call!(self, write follows::unset(DbId(follower.uuid()), DbId(followed.uuid())), at followed.uuid())
    }

    async fn list_followers(&self, user: UserId, viewer: Viewer, page: PageRequest) -> Result<Page<UserSummary>> {
        let (user, viewer, slice) = (DbId(user.uuid()), DbViewer::of(viewer), Slice::newest_first(page));
        page_of_users(page, call!(self, list follows::list_followers(user, viewer, slice))?)
    }

    async fn list_followed(&self, user: UserId, viewer: Viewer, page: PageRequest) -> Result<Page<UserSummary>> {
        let (user, viewer, slice) = (DbId(user.uuid()), DbViewer::of(viewer), Slice::newest_first(page));
        page_of_users(page, call!(self, list follows::list_followed(user, viewer, slice))?)
    }
}
