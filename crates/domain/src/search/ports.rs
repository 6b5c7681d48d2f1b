//! The ports of the search use cases.

use async_trait::async_trait;
use uuid::Uuid;

use super::{IndexedText, Needles};
use crate::accounts::{DisplayName, Username, Viewer};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::UserId;
use crate::page::{Page, PageRequest};
use crate::people::Person;
use crate::posts::{PostText, PostView};
use crate::products::Product;

/// A search for posts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostSearch {
    /// The needles of the query.
    pub needles: Needles,
    /// The account that searches.
    pub viewer: Viewer,
}

/// A search for users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeopleSearch {
    /// The needles of the query.
    pub needles: Needles,
    /// The account that searches.
    pub viewer: Viewer,
    /// An account to leave out of the results.
    pub except: Option<UserId>,
}

/// Finds posts, users and products by their words. A search finds everything written before it that the index has, in its
/// present state; [`SearchIndex`] documents what the index may not have yet.
///
/// Lists are sorted newest first: by the instant of creation, then by id, both descending. Every page but the last is full.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait SearchRepository: Send + Sync {
    /// Returns posts that the viewer may view by the rule of [`Audience`](crate::posts::Audience), by authors who are searchable,
    /// enabled and not muted by the viewer, as well as the viewer's own posts.
    async fn find_posts(&self, wanted: &PostSearch, page: PageRequest) -> Result<Page<PostView>>;

    /// Returns enabled accounts that are discoverable and not separated from the viewer by a
    /// [block](crate::relation::Standing::Blocked). For a viewer who sees everything, they need only be enabled.
    async fn find_people(&self, wanted: &PeopleSearch, page: PageRequest) -> Result<Page<Person>>;

    /// Returns the products that have the needles.
    async fn find_products(&self, needles: &Needles, page: PageRequest) -> Result<Page<Product>>;
}

/// A kind of searchable thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Posts.
    Post,
    /// Accounts.
    Account,
    /// Products.
    Product,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Post, Self::Account, Self::Product];
}

/// A thing that the index does not have yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unindexed {
    /// The unique identifier.
    pub id: Uuid,
    /// When it was created.
    pub created_at: Timestamp,
    /// The content to index.
    pub content: UnindexedContent,
}

/// The content of a thing by which it is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnindexedContent {
    /// A post's text and author.
    Post(PostText, UserId),
    /// The username and display name of an account.
    Account(Username, Option<DisplayName>),
    /// A product, possibly without its variants and images.
    Product(Box<Product>),
}

impl UnindexedContent {
    /// Returns the kind of the thing.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Post(..) => Kind::Post,
            Self::Account(..) => Kind::Account,
            Self::Product(_) => Kind::Product,
        }
    }

    /// Returns the indexed form of the content.
    pub fn text(&self) -> IndexedText {
        match self {
            Self::Post(text, author) => IndexedText::of_post(text).by(*author),
            Self::Account(username, display_name) => IndexedText::of_account(username, display_name.as_ref()),
            Self::Product(product) => IndexedText::of_product(product),
        }
    }
}

/// The search index. The repositories of this version add to it whatever they write. Things that an earlier version wrote, or
/// that were moved in bulk, are missing until [`index`](Self::index) adds them.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait SearchIndex: Send + Sync {
    /// Returns the number of things that the index does not have.
    async fn count_unindexed(&self) -> Result<u64>;

    /// Returns up to `limit` things that the index does not have, newest first.
    async fn list_unindexed(&self, kind: Kind, limit: usize) -> Result<Vec<Unindexed>>;

    /// Adds things that [`list_unindexed`](Self::list_unindexed) returned, with their indexed forms; returns how many were added.
    /// Things that changed since, or that the index has by now, are left as they are.
    async fn index(&self, found: Vec<(Unindexed, IndexedText)>) -> Result<usize>;

    /// Packs a batch of recent writes into the form that is fast to search, small enough not to hold up other requests; returns
    /// whether there may be more to do, by this caller or by another who is packing already. Search results do not depend on it.
    async fn pack(&self) -> Result<bool>;

    /// Deletes a batch of the entries of things that were deleted or changed before an instant, small enough not to hold up
    /// other requests; returns whether there may be more. While another caller maintains the index, it does nothing and returns
    /// false.
    ///
    /// These entries produce no search results, but they may tell a search that began before that instant that something changed.
    async fn forget(&self, before: Timestamp) -> Result<bool>;
}
