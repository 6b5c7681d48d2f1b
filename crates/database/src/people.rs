//! The repository of people.

use agora_domain::Result;
use agora_domain::accounts::{Biography, DisplayName, Username, Viewer};
use agora_domain::id::UserId;
use agora_domain::page::{Keyset, Page, PageRequest};
use agora_domain::people::{PeopleRepository, Person, PostCounts, Relationship};
use async_trait::async_trait;
use diesel::{Queryable, Selectable};

use crate::account_filters::DbViewer;
use crate::error::Outcome;
use crate::parts::Parts;
use crate::rows::{PictureRow, Slice, count, keyset, page_of};
use crate::schema::users;
use crate::sql_types::{DbId, DbInstant};
use crate::{Database, call, part};

/// The columns of a user that a profile shows.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = users)]
pub(crate) struct ProfileRow {
    pub(crate) id: DbId,
    pub(crate) username: String,
    pub(crate) display_name: Option<String>,
    pub(crate) biography: Option<String>,
    #[diesel(embed)]
    pub(crate) picture: PictureRow,
    pub(crate) enabled: bool,
    pub(crate) discoverable: bool,
    pub(crate) hide_counts: bool,
    pub(crate) created_at: DbInstant,
}

/// A user with counts and the relationship of the viewer to the user.
#[derive(Debug, Clone, Queryable)]
pub(crate) struct PersonRow {
    pub(crate) user: ProfileRow,
    /// The numbers of posts by visibility: public, followers, private.
    pub(crate) posts: (i64, i64, i64),
    pub(crate) followed: i64,
    pub(crate) followers: i64,
    /// Whether the viewer follows the user, the user follows the viewer, the viewer blocks the user, the user blocks the viewer,
    /// and the viewer mutes the user.
    pub(crate) relationship: (bool, bool, bool, bool, bool),
}

/// The time and id of a relation, then the user at its other end.
pub(crate) type RelatedPerson = (DbInstant, DbId, PersonRow);

impl PersonRow {
    fn key(&self) -> Keyset {
        keyset(self.user.created_at, self.user.id)
    }

    pub(crate) fn person(self) -> Outcome<Person> {
        let (public, followers, private) = self.posts;
        let (following, followed_by, blocking, blocks_viewer, muting) = self.relationship;
        Ok(Person {
            id: self.user.id.0.into(),
            username: Username::restore(self.user.username),
            display_name: self.user.display_name.map(DisplayName::restore),
            biography: self.user.biography.map(Biography::restore),
            profile_picture: self.user.picture.picture()?,
            created_at: self.user.created_at.0,
            enabled: self.user.enabled,
            discoverable: self.user.discoverable,
            hide_counts: self.user.hide_counts,
            posts: PostCounts { public: count(public), followers: count(followers), private: count(private) },
            follower_count: count(self.followers),
            followed_count: count(self.followed),
            relationship: Relationship { following, followed_by, blocking, muting },
            blocks_viewer,
        })
    }
}

pub(crate) fn page_of_related(page: PageRequest, found: Vec<RelatedPerson>) -> Result<Page<Person>> {
    page_of(page, found, |(at, id, row)| Ok((keyset(at, id), row.person()?)))
}

#[async_trait]
impl PeopleRepository for Database {
    async fn find(&self, id: UserId, viewer: UserId) -> Result<Option<Person>> {
        let row = call!(self, read people::find(DbId(id.uuid()), DbId(viewer.uuid())))?;
        Ok(row.map(PersonRow::person).transpose()?)
    }

    async fn find_by_username(&self, username: &Username, viewer: UserId) -> Result<Option<Person>> {
        let key = username.key();
        let row = call!(self, read people::find_by_username(key, DbId(viewer.uuid())))?;
        Ok(row.map(PersonRow::person).transpose()?)
    }

    async fn find_all(&self, ids: &[UserId], viewer: UserId) -> Result<Vec<Person>> {
        let ids: Vec<_> = ids.iter().map(|id| DbId(id.uuid())).collect();
        let found = call!(self, list people::find_all(ids, DbId(viewer.uuid())))?;
        Ok(found.into_iter().map(PersonRow::person).collect::<Outcome<_>>()?)
    }

    async fn list_discoverable(&self, viewer: Viewer, page: PageRequest) -> Result<Page<Person>> {
        let found = call!(self, list people::list_discoverable(DbViewer::of(viewer), Slice::newest_first(page)))?;
        page_of(page, found, |row| Ok((row.key(), row.person()?)))
    }

    async fn list_followers(&self, user: UserId, viewer: Viewer, page: PageRequest) -> Result<Page<Person>> {
        let (user, viewer, mut parts) =
            (DbId(user.uuid()), DbViewer::of(viewer), Parts::new(page, Slice::newest_first(page)));
        while let Some((slice, most)) = parts.next() {
            parts.add(part!(self, parts, people::list_followers(user, viewer, slice, most))?);
        }
        page_of_related(page, parts.found)
    }

    async fn list_followed(&self, user: UserId, viewer: Viewer, page: PageRequest) -> Result<Page<Person>> {
        let (user, viewer, slice) = (DbId(user.uuid()), DbViewer::of(viewer), Slice::newest_first(page));
        page_of_related(page, call!(self, list people::list_followed(user, viewer, slice))?)
    }
}
