//! The search repository and the maintenance of its index.

use std::collections::{HashMap, HashSet};

use agora_domain::Result;
use agora_domain::clock::Timestamp;
use agora_domain::id::UserId;
use agora_domain::page::{Keyset, Page, PageRequest};
use agora_domain::people::Person;
use agora_domain::posts::PostView;
use agora_domain::products::Product;
use agora_domain::search::{
    IndexedText, Kind, Needles, PeopleSearch, PostSearch, SearchIndex, SearchRepository, Unindexed,
};
use async_trait::async_trait;
use uuid::Uuid;

use crate::account_filters::DbViewer;
use crate::feeds::limit;
use crate::people::PersonRow;
use crate::rows::{Slice, count};
use crate::schema::{search_tail, search_texts};
use crate::search_index::{Among, Buckets, Chunk, Contains, Found};
use crate::sql_types::{DbId, DbInstant};
use crate::{Database, call};

/// How many buckets a statement reads for the words of a query, at first and at most.
const FIRST_BUCKETS: i64 = 4;
const MAX_BUCKETS: i64 = 256;

/// How many documents a statement checks, at first and at most.
const FIRST_DOCUMENTS: usize = 64;
const MAX_DOCUMENTS: usize = 1024;

impl Database {
    /// Returns a page of the positions of the search results.
    async fn find(&self, among: Among, needles: &Needles, page: PageRequest) -> Result<Page<Keyset>> {
        let slice = Slice::newest_first(page);
        let (kind, contained) = (among.kind(), needles.contained.as_slice());
        let tail = async || {
            let contains = Contains::new(search_tail::words, contained);
            call!(self, search search::tail(among, contains, slice))
        };
        let (mut found, mut is_missed, mut first_made_since) = (Found::new(slice, tail().await?), false, None);
        let (mut buckets, mut size) = (Buckets::Next(None, FIRST_BUCKETS), FIRST_BUCKETS);
        let (mut common, mut prefix) = (HashSet::new(), needles.prefix.clone());
        loop {
            let wanted = needles.clone();
            let Chunk { candidates, last, absent, next } =
                call!(self, search search::candidates(kind, wanted, slice, buckets))?;
            first_made_since = first_made_since.or(next);
            found.begin_chunk(candidates, last.is_some());
            is_missed |= self.check_documents(among, contained, &mut found).await?;
            if last.is_none() || found.is_complete() {
                break;
            }
            let absent: Vec<_> = absent.into_iter().filter(|word| common.insert(word.clone())).collect();
            let rare = match (prefix.take(), self.packing.rare) {
                (None, _) if absent.is_empty() => None,
                (prefix, rare) => call!(self, search search::rare_buckets(kind, absent, prefix, rare))?,
            };
            size = (size * 4).min(MAX_BUCKETS);
            buckets = rare.map_or(Buckets::Next(last, size), Buckets::Numbered);
        }
        if is_missed {
            // A document that was changed meanwhile moved to the tail, and is still there or in a bucket made since.
            found.add_tail(tail().await?);
            let (wanted, since) = (needles.clone(), Buckets::Since(first_made_since.unwrap_or_default()));
            let Chunk { candidates, .. } = call!(self, search search::candidates(kind, wanted, slice, since))?;
            found.begin_chunk(candidates, false);
            if self.check_documents(among, contained, &mut found).await? {
                found.add_tail(tail().await?);
            }
        }
        Ok(page.page_of(found.into_keys(), |key| *key))
    }

    /// Checks the documents of a chunk until the results are final. Returns whether some documents no longer existed.
    ///
    /// For things that not everybody may see, it runs a statement even without candidates: the duration of a search must not
    /// reveal whether there are hidden matches.
    async fn check_documents(&self, among: Among, contained: &[String], found: &mut Found) -> Result<bool> {
        let (mut is_missed, mut documents) = (false, FIRST_DOCUMENTS);
        let nothing = (!matches!(among, Among::Products)).then(Vec::new);
        let mut next = found.next(documents).or(nothing);
        while let Some(numbers) = next {
            let (contains, count) = (Contains::new(search_texts::words, contained), numbers.len());
            let checked = call!(self, search search::look(among, contains, numbers))?;
            is_missed |= checked.len() < count;
            found.add(checked);
            documents = (documents * 4).min(MAX_DOCUMENTS);
            next = found.next(documents);
        }
        Ok(is_missed)
    }
}

/// Replaces the positions of a page by the things there, without those that no longer exist.
fn page_of_things<T>(page: Page<Keyset>, things: Vec<T>, id: impl Fn(&T) -> Uuid) -> Page<T> {
    let mut things: HashMap<Uuid, T> = things.into_iter().map(|thing| (id(&thing), thing)).collect();
    page.filter_map(|key| things.remove(&key.id))
}

fn ids(page: &Page<Keyset>) -> Vec<DbId> {
    page.items.iter().map(|key| DbId(key.id)).collect()
}

#[async_trait]
impl SearchRepository for Database {
    async fn find_posts(&self, wanted: &PostSearch, page: PageRequest) -> Result<Page<PostView>> {
        let viewer = DbViewer::of(wanted.viewer);
        let page = self.find(Among::Posts { viewer }, &wanted.needles, page).await?;
        let posts = match ids(&page) {
            ids if ids.is_empty() => Vec::new(),
            ids => call!(self, search search::posts(ids, viewer))?,
        };
        Ok(page_of_things(page, posts, |view| view.post.id.uuid()))
    }

    async fn find_people(&self, wanted: &PeopleSearch, page: PageRequest) -> Result<Page<Person>> {
        // No account has the nil id.
        let except = DbId(wanted.except.map_or(Uuid::nil(), UserId::uuid));
        let viewer = DbViewer::of(wanted.viewer);
        let page = self.find(Among::Accounts { viewer, except }, &wanted.needles, page).await?;
        let rows = match ids(&page) {
            ids if ids.is_empty() => Vec::new(),
            ids => call!(self, search people::find_discoverable(ids, viewer))?,
        };
        let people = rows.into_iter().map(PersonRow::person).collect::<std::result::Result<Vec<_>, _>>()?;
        Ok(page_of_things(page, people, |person| person.id.uuid()))
    }

    async fn find_products(&self, needles: &Needles, page: PageRequest) -> Result<Page<Product>> {
        let page = self.find(Among::Products, needles, page).await?;
        let products = match ids(&page) {
            ids if ids.is_empty() => Vec::new(),
            ids => call!(self, search products::find_all(ids))?.products()?,
        };
        Ok(page_of_things(page, products, |product| product.id.uuid()))
    }
}

#[async_trait]
impl SearchIndex for Database {
    async fn count_unindexed(&self) -> Result<u64> {
        Ok(count(call!(self, search indexing::count_unindexed())?))
    }

    async fn list_unindexed(&self, kind: Kind, most: usize) -> Result<Vec<Unindexed>> {
        call!(self, list indexing::list_unindexed(kind, limit(most)))
    }

    async fn index(&self, found: Vec<(Unindexed, IndexedText)>) -> Result<usize> {
        call!(self, write indexing::index(found))
    }

    async fn pack(&self) -> Result<bool> {
        let (mut is_more, packing) = (false, self.packing);
        for kind in Kind::ALL {
            let count = call!(self, read packing::count_to_pack(kind, packing))?;
            if count > 0 {
                call!(self, write packing::pack(kind, count))?;
                is_more = true;
            }
        }
        Ok(is_more)
    }

    async fn forget(&self, before: Timestamp) -> Result<bool> {
        let before = DbInstant(before);
        let Some(bucket) = call!(self, read packing::find_deletion(before))? else { return Ok(false) };
        call!(self, write packing::forget(bucket, before))
    }
}
