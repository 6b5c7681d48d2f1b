//! The use cases of search.

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
    /// Finds them.
    pub found: Arc<dyn SearchRepository>,
    /// Reads users as others see them.
    pub people: Arc<dyn PeopleRepository>,
}

/// The position of the user whose username equals the query: before all others.
const EXACT_MATCH_POSITION: Keyset = Keyset { at: Timestamp::from_unix_millis(253_402_300_800_000), id: Uuid::max() };

impl Search {
    /// Returns the posts that match a query and that the viewer may find, newest first; only those of `author` if one is given.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown author, and for one whom the viewer may not see.
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

    /// Returns the users who match a query and whom the viewer may find. The user whose username equals the query comes first,
    /// then the newest accounts.
    ///
    /// # Errors
    /// Those of the repositories.
    pub async fn users(&self, viewer: &Member, query: &Query, page: PageRequest) -> Result<Page<Profile>> {
        let exact_match = self.find_exact_match(viewer, query).await?;
        let needles = Needles::of(&query.clone().without_hashtags(), None);
        let except = exact_match.as_ref().map(|person| person.id);
        let wanted = PeopleSearch { needles, viewer: viewer.viewer(), except };
        let found = self.found.find_people(&wanted, page).await?;
        let is_at_top = match page.from {
            Position::Start => true,
            Position::After(_) => false,
            Position::Before(_) | Position::End => found.prev.is_none(),
        };
        let found = match exact_match.filter(|_| is_at_top) {
            Some(first) => prepend(first, found, page),
            None => found,
        };
        Ok(found.filter_map(|person| person.listed_for(viewer)))
    }

    /// Returns the products that match a query, newest first.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn products(&self, query: &Query, page: PageRequest) -> Result<Page<Product>> {
        self.found.find_products(&Needles::of(&query.clone().without_hashtags(), None), page).await
    }

    /// Returns the user whose username equals the query, if the viewer may find them.
    async fn find_exact_match(&self, viewer: &Member, query: &Query) -> Result<Option<Person>> {
        let Some(username) = query.username() else { return Ok(None) };
        let found = self.people.find_by_username(&username, viewer.id()).await?;
        Ok(found.filter(|person| person.is_found_by(viewer)))
    }
}

/// Adds the first entry of the list to the page at the beginning of the list, within the requested page size.
fn prepend(first: Person, page: Page<Person>, request: PageRequest) -> Page<Person> {
    let first = (EXACT_MATCH_POSITION, first);
    let others = page.keys.into_iter().zip(page.items);
    let rows = match request.from.is_read_backward() {
        true => others.rev().chain([first]).collect(),
        false => [first].into_iter().chain(others).collect(),
    };
    let beyond = (page.prev, page.next);
    let mut joined = request.page_of(rows, |(key, _)| *key);
    // Some users may be gone since they were found, so a page that had a neighbor may still have one.
    let (first, last) = (joined.keys.first().copied(), joined.keys.last().copied());
    if request.from.is_read_backward() {
        joined.prev = joined.prev.or(beyond.0.and(first).map(Position::Before));
    } else {
        joined.next = joined.next.or(beyond.1.and(last).map(Position::After));
    }
    joined.map(|(_, person)| person)
}

/// The maintenance of the search index: adds missing things, packs recent writes and deletes outdated entries.
pub struct Indexing {
    /// The index.
    pub index: Arc<dyn SearchIndex>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
}

/// How long the index keeps the entries of a deleted or changed thing: longer than a search takes, by more than the clocks of
/// nodes differ.
///
/// The time starts at the deletion, not at the end of its transaction. After a transaction that took this long, a search may
/// once miss what it changed.
const FORGET_AFTER_MILLIS: i64 = 600_000;

/// The most things of a kind that are added to the index at once.
const INDEX_BATCH_SIZE: usize = 200;

impl Indexing {
    /// Returns the number of things that the index does not have.
    ///
    /// # Errors
    /// Those of the index.
    pub async fn count_unindexed(&self) -> Result<u64> {
        self.index.count_unindexed().await
    }

    /// Does a batch of the work; returns how many things were added to the index, and whether there may be more to do.
    ///
    /// # Errors
    /// Those of the index.
    pub async fn run(&self) -> Result<(usize, bool)> {
        // First, because unpacked writes make every search slower.
        if self.index.pack().await? {
            return Ok((0, true));
        }
        let (mut indexed, mut is_more) = (0, false);
        for kind in Kind::ALL {
            let found = self.index.list_unindexed(kind, INDEX_BATCH_SIZE).await?;
            is_more |= found.len() == INDEX_BATCH_SIZE;
            if !found.is_empty() {
                let texts: Vec<_> = found.iter().map(|thing| thing.content.text()).collect();
                indexed += self.index.index(found.into_iter().zip(texts).collect()).await?;
            }
        }
        Ok((indexed, is_more))
    }

    /// Deletes a batch of the entries of things that were deleted or changed; returns whether there may be more.
    ///
    /// # Errors
    /// Those of the index.
    pub async fn forget(&self) -> Result<bool> {
        self.index.forget(self.clock.now().plus_millis(-FORGET_AFTER_MILLIS)).await
    }
}
