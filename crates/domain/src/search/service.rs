//! The use cases of searching.

use std::sync::Arc;

use uuid::Uuid;

use super::{Kind, Needles, PeopleSearch, PostSearch, Query, SearchIndex, SearchRepository};
use crate::accounts::Member;
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Resource, Result};
use crate::id::UserId;
use crate::page::{Keyset, Page, PageRequest, Position};
use crate::people::{PeopleRepository, Person, Profile};
use crate::posts::PostView;
use crate::products::Product;

/// Finds posts, users and products by their words.
pub struct Search {
    /// Where they are found.
    pub found: Arc<dyn SearchRepository>,
    /// Where users are read as others see them.
    pub people: Arc<dyn PeopleRepository>,
}

/// Where the user stands whose name is what is looked for: before all others.
const TOP: Keyset = Keyset { at: Timestamp::from_unix_millis(253_402_300_800_000), id: Uuid::max() };

impl Search {
    /// Returns the posts that a query finds and the viewer may find, newest first; those of an author if one is given.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown author, and for one whom the viewer does not see.
    pub async fn posts(
        &self,
        viewer: &Member,
        query: &Query,
        author: Option<UserId>,
        page: PageRequest,
    ) -> Result<Page<PostView>> {
        if let Some(author) = author {
            let found = self.people.find(author, viewer.id()).await?;
            found.and_then(|person| person.seen_by(viewer)).ok_or(Error::NotFound(Resource::User))?;
        }
        let needles = Needles::of(query, author);
        let wanted = PostSearch { needles, viewer: viewer.viewer() };
        self.found.find_posts(&wanted, page).await
    }

    /// Returns the users whom a query finds and the viewer may find, newest account first, but the one with exactly that
    /// name before all others.
    ///
    /// # Errors
    /// Those of the repositories.
    pub async fn users(&self, viewer: &Member, query: &Query, page: PageRequest) -> Result<Page<Profile>> {
        let named = self.named(viewer, query).await?;
        let needles = Needles::of(&query.clone().without_hashtags(), None);
        let except = named.as_ref().map(|person| person.id);
        let wanted = PeopleSearch { needles, viewer: viewer.viewer(), except };
        let found = self.found.find_people(&wanted, page).await?;
        let is_at_top = match page.from {
            Position::Start => true,
            Position::After(_) => false,
            Position::Before(_) | Position::End => found.prev.is_none(),
        };
        let found = match named.filter(|_| is_at_top) {
            Some(named) => with_first(named, found, page),
            None => found,
        };
        Ok(found.filter_map(|person| person.listed_for(viewer)))
    }

    /// Returns the products that a query finds, newest first.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn products(&self, query: &Query, page: PageRequest) -> Result<Page<Product>> {
        self.found.find_products(&Needles::of(&query.clone().without_hashtags(), None), page).await
    }

    /// Returns the user whose name is what is looked for, if the viewer may find them.
    async fn named(&self, viewer: &Member, query: &Query) -> Result<Option<Person>> {
        let Some(username) = query.username() else { return Ok(None) };
        let found = self.people.find_by_username(&username, viewer.id()).await?;
        Ok(found.filter(|person| person.is_found_by(viewer)))
    }
}

/// Returns a page that begins where the list does with one entry more, which is the first of the list.
fn with_first(first: Person, page: Page<Person>, request: PageRequest) -> Page<Person> {
    let first = (TOP, first);
    let others = page.keys.into_iter().zip(page.items);
    let rows = match request.from.is_read_backward() {
        true => others.rev().chain([first]).collect(),
        false => [first].into_iter().chain(others).collect(),
    };
    let beyond = (page.prev, page.next);
    let mut joined = request.page_of(rows, |(key, _)| *key);
    // Others may be gone since they were found: where there was more, there still may be.
    let (first, last) = (joined.keys.first().copied(), joined.keys.last().copied());
    if request.from.is_read_backward() {
        joined.prev = joined.prev.or(beyond.0.and(first).map(Position::Before));
    } else {
        joined.next = joined.next.or(beyond.1.and(last).map(Position::After));
    }
    joined.map(|(_, person)| person)
}

/// Brings into the index what it does not have, and into shape what it has.
pub struct Indexing {
    /// The index.
    pub index: Arc<dyn SearchIndex>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
}

/// How long the index keeps what it has of a thing that was deleted or changed: longer than a search takes, and by more than
/// the clocks of nodes differ. It begins with the deletion, not with the end of its transaction: behind one that took as long, a search
/// may pass over what it changed, once.
const FORGET_AFTER_MILLIS: i64 = 600_000;

/// How many things are put into the index at once.
const INDEXED_AT_ONCE: usize = 200;

impl Indexing {
    /// Returns how many things the index does not have.
    ///
    /// # Errors
    /// Those of the index.
    pub async fn count_unindexed(&self) -> Result<u64> {
        self.index.count_unindexed().await
    }

    /// Does some of what is to be done; returns how many things were put into the index, and whether there may be more to
    /// do.
    ///
    /// # Errors
    /// Those of the index.
    pub async fn run(&self) -> Result<(usize, bool)> {
        // What waits to be packed makes every search slower.
        if self.index.pack().await? {
            return Ok((0, true));
        }
        let (mut indexed, mut is_more) = (0, false);
        for kind in Kind::ALL {
            let found = self.index.list_unindexed(kind, INDEXED_AT_ONCE).await?;
            is_more |= found.len() == INDEXED_AT_ONCE;
            if !found.is_empty() {
                let texts: Vec<_> = found.iter().map(|thing| thing.content.text()).collect();
                indexed += self.index.index(found.into_iter().zip(texts).collect()).await?;
            }
        }
        Ok((indexed, is_more))
    }

    /// Deletes from the index some of what it still has of things that were deleted or changed; returns whether there may be
    /// more of it.
    ///
    /// # Errors
    /// Those of the index.
    pub async fn forget(&self) -> Result<bool> {
        self.index.forget(self.clock.now().plus_millis(-FORGET_AFTER_MILLIS)).await
    }
}
