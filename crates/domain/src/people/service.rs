//! The use cases of people.

use std::collections::HashMap;
use std::sync::Arc;

use super::{PeopleRepository, Person, Profile, UserIds};
use crate::accounts::{Member, Username};
use crate::error::{Error, Resource, Result};
use crate::follows::{FollowRepository, ensure_may_list};
use crate::id::UserId;
use crate::page::{Page, PageRequest};

const NO_USER: Error = Error::NotFound(Resource::User);

/// Shows users to each other.
pub struct People {
    /// Reads users as others see them.
    pub people: Arc<dyn PeopleRepository>,
    /// Stores who follows whom.
    pub follows: Arc<dyn FollowRepository>,
}

impl People {
    /// Returns the profile of a user.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown user and, unless the viewer is ADMIN, for one who is disabled or blocks the viewer.
    pub async fn get(&self, viewer: &Member, id: UserId) -> Result<Profile> {
        profile(viewer, self.people.find(id, viewer.id()).await?)
    }

    /// Returns the profile of the user with this name, in any letter case.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    pub async fn get_by_username(&self, viewer: &Member, username: &Username) -> Result<Profile> {
        profile(viewer, self.people.find_by_username(username, viewer.id()).await?)
    }

    /// Returns the profiles of users in the order of their ids, of those after the id `after` if it is given. Users whom
    /// [`get`](Self::get) would not find are left out.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn get_all(&self, viewer: &Member, ids: &UserIds, after: Option<UserId>) -> Result<Vec<Profile>> {
        let ids = after.map_or(ids.as_slice(), |last| ids.after(last));
        let found = self.people.find_all(ids, viewer.id()).await?;
        let mut found: HashMap<_, _> = found.into_iter().map(|person| (person.id, person)).collect();
        Ok(ids.iter().filter_map(|id| found.remove(id)?.seen_by(viewer)).collect())
    }

    /// Returns the profiles of the users who are discoverable, newest account first.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn directory(&self, viewer: &Member, page: PageRequest) -> Result<Page<Profile>> {
        Ok(profiles(viewer, self.people.list_discoverable(viewer.viewer(), page).await?))
    }

    /// Returns the profiles of the followers of a user, newest relation first.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown user, and for one separated from the viewer by a block; [`Error::Forbidden`] when
    /// the viewer may not read the list.
    pub async fn list_followers(&self, viewer: &Member, user: UserId, page: PageRequest) -> Result<Page<Profile>> {
        self.ensure_may_list(viewer, user).await?;
        let found = self.people.list_followers(user, viewer.viewer(), page).await?;
        Ok(profiles(viewer, found))
    }

    /// Returns the profiles of the users whom a user follows, newest relation first.
    ///
    /// # Errors
    /// Those of [`list_followers`](Self::list_followers).
    pub async fn list_followed(&self, viewer: &Member, user: UserId, page: PageRequest) -> Result<Page<Profile>> {
        self.ensure_may_list(viewer, user).await?;
        let found = self.people.list_followed(user, viewer.viewer(), page).await?;
        Ok(profiles(viewer, found))
    }

    async fn ensure_may_list(&self, viewer: &Member, user: UserId) -> Result<()> {
        ensure_may_list(viewer, user, self.follows.find_standing(viewer.id(), user).await?)
    }
}

fn profile(viewer: &Member, found: Option<Person>) -> Result<Profile> {
    found.and_then(|person| person.seen_by(viewer)).ok_or(NO_USER)
}

/// Returns what the viewer sees of a page, without users of whom the viewer sees nothing.
fn profiles(viewer: &Member, page: Page<Person>) -> Page<Profile> {
    page.filter_map(|person| person.listed_for(viewer))
}
