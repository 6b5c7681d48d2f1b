//! What the use cases of people need of an adapter.

use async_trait::async_trait;

use super::Person;
use crate::accounts::{Username, Viewer};
use crate::error::Result;
use crate::id::UserId;
use crate::page::{Page, PageRequest};

/// Reads users as others see them, each with exact counts that are stored, not computed: the user's posts (without deleted
/// ones), followers and followed users. The number of queries of a read does not depend on how many users, posts or follows
/// there are.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait PeopleRepository: Send + Sync {
    /// Returns the user; `None` when there is none.
    async fn find(&self, id: UserId, viewer: UserId) -> Result<Option<Person>>;

    /// Returns the user with this name, compared by [`Username::key`]; `None` when there is none.
    async fn find_by_username(&self, username: &Username, viewer: UserId) -> Result<Option<Person>>;

    /// Returns those of the users that exist, in any order.
    async fn find_all(&self, ids: &[UserId], viewer: UserId) -> Result<Vec<Person>>;

    /// Returns the enabled accounts that are discoverable, newest first: by the instant of registration, then by id, both
    /// descending.
    ///
    /// This list and the next two leave out disabled accounts, and people [separated](crate::relation::Standing::Blocked) from
    /// the viewer by a block. For a viewer who sees all, the next two leave out nobody, and this one only disabled
    /// accounts.
    async fn list_discoverable(&self, viewer: Viewer, page: PageRequest) -> Result<Page<Person>>;

    /// Returns the followers of a user, newest relation first.
    async fn list_followers(&self, user: UserId, viewer: Viewer, page: PageRequest) -> Result<Page<Person>>;

    /// Returns the users whom a user follows, newest relation first.
    async fn list_followed(&self, user: UserId, viewer: Viewer, page: PageRequest) -> Result<Page<Person>>;
}
