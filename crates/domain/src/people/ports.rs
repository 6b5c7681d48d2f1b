//! What the use cases of people need of an adapter.

use async_trait::async_trait;

use super::Person;
use crate::accounts::{Username, Viewer};
use crate::error::Result;
use crate::id::UserId;
use crate::page::{Page, PageRequest};

/// Reads users as others see them, each with counts that are kept and exact: how many posts a user has (none that is
/// deleted), how many follow the user and how many the user follows. A read takes a number of queries that does not depend
/// on how many users, posts or follows there are.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait PeopleRepository: Send + Sync {
    /// Returns the user; `None` when there is none.
    async fn find(&self, id: UserId, viewer: UserId) -> Result<Option<Person>>;

    /// Returns the user with this name, compared by [`Username::key`]; `None` when there is none.
    async fn find_by_username(&self, username: &Username, viewer: UserId) -> Result<Option<Person>>;

    /// Returns those of the users that there are, in any order.
    async fn find_all(&self, ids: &[UserId], viewer: UserId) -> Result<Vec<Person>>;

    /// Returns the enabled accounts that are discoverable, newest first: by the instant of registration, then by id, both
    /// descending.
    ///
    /// Disabled accounts, and people [apart](crate::relation::Standing::Apart) from the viewer, are left out of the lists; but
    /// for a viewer who sees all the latter from this one, and neither from the next two.
    async fn list_discoverable(&self, viewer: Viewer, page: PageRequest) -> Result<Page<Person>>;

    /// Returns those who follow a user, newest relation first.
    async fn list_followers(&self, user: UserId, viewer: Viewer, page: PageRequest) -> Result<Page<Person>>;

    /// Returns those whom a user follows, newest relation first.
    async fn list_followed(&self, user: UserId, viewer: Viewer, page: PageRequest) -> Result<Page<Person>>;
}
