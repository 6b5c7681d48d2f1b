//! What the use cases of searching need of an adapter.

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

/// Which posts are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostSearch {
    /// What they have.
    pub needles: Needles,
    /// Who looks for them.
    pub viewer: Viewer,
}

/// Which users are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeopleSearch {
    /// What they have.
    pub needles: Needles,
    /// Who looks for them.
    pub viewer: Viewer,
    /// One who is left out.
    pub except: Option<UserId>,
}

/// Finds things by their words. Whatever was written before it is asked is found as it is then, and all of it that the
/// index has: [`SearchIndex`] says what it may not have yet.
///
/// Lists run newest first: by the instant at which a thing was made, then by id, both descending. A page is full as long as
/// there is more.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait SearchRepository: Send + Sync {
    /// Returns posts of authors who are searchable that the viewer may view by the rule of
    /// [`Audience`](crate::posts::Audience), of enabled authors whom the viewer does not mute; and those of the viewer.
    async fn find_posts(&self, wanted: &PostSearch, page: PageRequest) -> Result<Page<PostView>>;

    /// Returns enabled accounts that are discoverable and not [apart](crate::relation::Standing::Apart) from the viewer, or
    /// whatever they are if the viewer sees all.
    async fn find_people(&self, wanted: &PeopleSearch, page: PageRequest) -> Result<Page<Person>>;

    /// Returns products.
    async fn find_products(&self, needles: &Needles, page: PageRequest) -> Result<Page<Product>>;
}

/// A kind of things that are found by their words.
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
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Post, Self::Account, Self::Product];
}

/// A thing that the index does not have yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unindexed {
    /// Names it.
    pub id: Uuid,
    /// When it was made.
    pub created_at: Timestamp,
    /// What it has for words.
    pub content: UnindexedContent,
}

/// What a thing has for words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnindexedContent {
    /// A post's text and author.
    Post(PostText, UserId),
    /// The names of an account.
    Account(Username, Option<DisplayName>),
    /// A product; what belongs to it need not be there.
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

    /// Returns the text by which it is found.
    pub fn text(&self) -> IndexedText {
        match self {
            Self::Post(text, author) => IndexedText::of_post(text).by(*author),
            Self::Account(username, display_name) => IndexedText::of_account(username, display_name.as_ref()),
            Self::Product(product) => IndexedText::of_product(product),
        }
    }
}

/// Keeps the index from which things are found. What is written through the repositories of this version is in it from
/// then on; what an earlier version wrote, and what was moved in bulk, is not in it until it is put there.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait SearchIndex: Send + Sync {
    /// Returns how many things the index does not have.
    async fn count_unindexed(&self) -> Result<u64>;

    /// Returns some things that the index does not have, the newest first.
    async fn list_unindexed(&self, kind: Kind, limit: usize) -> Result<Vec<Unindexed>>;

    /// Puts things into the index, of which it was asked before what they have; returns how many. What was changed since,
    /// or is there by now, is left as it is.
    async fn index(&self, found: Vec<(Unindexed, IndexedText)>) -> Result<usize>;

    /// Brings some of what was written since into the form in which it is found quickly, no more at a time than others can
    /// wait for; returns whether there may be more to do, here or by whoever is doing it. What is found does not depend on it.
    async fn pack(&self) -> Result<bool>;

    /// Deletes some of what the index still has of things that were deleted or changed before an instant, no more at a time
    /// than others can wait for; returns whether there may be more. While somebody else is at work on the index, it does nothing and
    /// returns false. Nothing is found by what it deletes, but a search that began before that instant may be told by it that something was changed.
    async fn forget(&self, before: Timestamp) -> Result<bool>;
}
