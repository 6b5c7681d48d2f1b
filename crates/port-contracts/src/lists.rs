//! A uniform interface to every list, for tests of properties that all lists share. Entries are represented by their [`Keyset`].

use std::sync::Arc;

use agora_domain::Result;
use agora_domain::accounts::{Session, Viewer};
use agora_domain::audit::AuditEntry;
use agora_domain::audit_log::AuditFilter;
use agora_domain::blocks::{NewBlock, NewMute};
use agora_domain::clock::Timestamp;
use agora_domain::comments::{CommentOrder, Reply};
use agora_domain::entities::Hashtag;
use agora_domain::id::{CommentId, PostId, UserId};
use agora_domain::page::{Keyset, Page, PageRequest};
use agora_domain::posts::{FeedRequest, PostEdit, Visibility, VisibleTo};
use agora_domain::products::ProductFilter;
use agora_domain::relation::NewRelation;
use agora_domain::reports::{Report, ReportStatus};
use agora_domain::search::{Needles, PeopleSearch, PostSearch, Query};
use uuid::Uuid;

use crate::Repositories;
use crate::run::done_or_missing;
use crate::world::{ANYBODY, World, display_name, entities, post_text, product_filter};

/// The hashtag in the text of the posts that are added.
pub const TAG: &str = "#walked";

/// One of the lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// All accounts.
    Accounts,
    /// All posts.
    Posts,
    /// The posts of an author.
    PostsByAuthor,
    /// The public timeline.
    Public,
    /// The posts that the host has bookmarked.
    Bookmarks,
    /// The posts with [`TAG`].
    PostsByTag,
    /// The following feed of somebody who follows the author.
    Feed,
    /// The users who like the host's post.
    Likers,
    /// The comments on the host's post.
    Comments,
    /// The top-level comments on the host's post, oldest first, with replies stored in between.
    TopLevelComments,
    /// The top-level comments, newest first.
    NewestComments,
    /// The replies to the host's comment.
    Replies,
    /// The users who like the host's comment.
    CommentLikers,
    /// The followers of the host.
    Followers,
    /// The users whom the host follows.
    Followed,
    /// The followers of the host, with profiles and counts.
    FollowingPeople,
    /// The users whom the host follows, with profiles and counts.
    FollowedPeople,
    /// The users whom the author blocks.
    Blocked,
    /// The users whom the viewer mutes.
    Muted,
    /// The directory of discoverable users.
    Directory,
    /// The catalog.
    Products,
    /// The catalog with filters.
    FilteredProducts,
    /// The catalog with fewer fields.
    ShortProducts,
    /// Posts found by a word.
    FoundPosts,
    /// Users found by their display name.
    FoundPeople,
    /// Products found by words.
    FoundProducts,
    /// The audit log.
    AuditLog,
    /// All reports.
    Reports,
    /// The open reports.
    OpenReports,
    /// The sessions of the author.
    Sessions,
}

impl List {
    /// Every list.
    pub const ALL: [Self; 30] = [
        Self::Accounts,
        Self::Posts,
        Self::PostsByAuthor,
        Self::Public,
        Self::Bookmarks,
        Self::PostsByTag,
        Self::Feed,
        Self::Likers,
        Self::Comments,
        Self::TopLevelComments,
        Self::NewestComments,
        Self::Replies,
        Self::CommentLikers,
        Self::Followers,
        Self::Followed,
        Self::FollowingPeople,
        Self::FollowedPeople,
        Self::Blocked,
        Self::Muted,
        Self::Directory,
        Self::Products,
        Self::FilteredProducts,
        Self::ShortProducts,
        Self::FoundPosts,
        Self::FoundPeople,
        Self::FoundProducts,
        Self::AuditLog,
        Self::Reports,
        Self::OpenReports,
        Self::Sessions,
    ];

    /// Returns whether the list is ordered from newest to oldest.
    pub const fn is_newest_first(self) -> bool {
        match self {
            Self::Posts | Self::PostsByAuthor | Self::Feed | Self::Likers | Self::Followers | Self::Followed => true,
            Self::FollowingPeople | Self::FollowedPeople | Self::Directory | Self::Public | Self::Bookmarks => true,
            Self::PostsByTag | Self::FoundPosts | Self::FoundPeople | Self::FoundProducts => true,
            Self::NewestComments | Self::CommentLikers | Self::Blocked | Self::Muted => true,
            Self::AuditLog | Self::Reports | Self::OpenReports | Self::Sessions => true,
            Self::Comments | Self::TopLevelComments | Self::Replies => false,
            Self::Accounts | Self::Products | Self::FilteredProducts | Self::ShortProducts => false,
        }
    }

    /// Returns whether its entries cannot be removed.
    pub const fn is_permanent(self) -> bool {
        let are_accounts = matches!(self, Self::Accounts | Self::Directory | Self::FoundPeople);
        are_accounts || matches!(self, Self::AuditLog | Self::Reports | Self::OpenReports)
    }

    /// Returns the ids of these keysets, in the order of the list.
    pub fn in_order(self, places: impl IntoIterator<Item = Keyset>) -> Vec<Uuid> {
        let mut places: Vec<_> = places.into_iter().collect();
        places.sort_unstable();
        if self.is_newest_first() {
            places.reverse();
        }
        places.into_iter().map(|place| place.id).collect()
    }
}

/// The users, posts and comments whose lists are read.
#[derive(Debug, Clone, Copy)]
pub struct People {
    /// Writes posts.
    pub author: UserId,
    /// Follows the author.
    pub viewer: UserId,
    /// Wrote `post`; follows and is followed.
    pub host: UserId,
    /// The post that is liked and commented on.
    pub post: PostId,
    /// The host's comment on `commented`, which is liked and answered.
    pub comment: CommentId,
    /// Another post of the host.
    pub commented: PostId,
}

/// Access to every list of some [`People`]. An entry with a [`Keyset`] has the id of that keyset.
#[derive(Clone)]
pub struct Lists {
    db: Repositories,
    world: Arc<World>,
    people: People,
}

impl Lists {
    /// Creates access to the lists of existing people.
    pub fn of(db: &Repositories, people: People) -> Self {
        Self { db: db.clone(), world: Arc::new(World::new(db)), people }
    }

    pub(crate) async fn new(db: &Repositories) -> Self {
        let world = World::new(db);
        let [author, viewer, host] = world.users().await;
        world.follow(viewer, author).await;
        let post = world.post(host).await.id;
        let commented = world.post(host).await.id;
        let comment = world.comment(commented, host).await.id;
        let people = People { author, viewer, host, post, comment, commented };
        Self { db: db.clone(), world: Arc::new(world), people }
    }

    /// Returns access to the same lists through another node.
    #[must_use]
    pub fn through(&self, db: &Repositories) -> Self {
        Self { db: db.clone(), ..self.clone() }
    }

    /// Reads a page of a list.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn read(&self, list: List, page: PageRequest) -> Result<Page<Uuid>> {
        let People { author, viewer, host, post, comment, .. } = self.people;
        let (db, all) = (&self.db, &Visibility::ALL);
        Ok(match list {
            List::Accounts => db.accounts.list(page).await?.map(|account| account.id.uuid()),
            List::Posts => db.posts.list_all(Viewer::ordinary(viewer), page).await?.map(|view| view.post.id.uuid()),
            List::PostsByAuthor => db
                .posts
                .list_by_author(author, all, Viewer::ordinary(viewer), page)
                .await?
                .map(|view| view.post.id.uuid()),
            List::Public => db.posts.list_public(Viewer::ordinary(viewer), page).await?.map(|view| view.post.id.uuid()),
            List::Bookmarks => {
                let visible = VisibleTo { viewer: Viewer::ordinary(host), followed: all, others: all };
                db.bookmarks.list(visible, page).await?.map(|view| view.post.id.uuid())
            }
            List::PostsByTag => {
                let visible =
                    VisibleTo { viewer: Viewer::ordinary(viewer), followed: all, others: &[Visibility::Public] };
                let tag = Hashtag::parse(TAG).expect("a hashtag");
                db.posts.list_by_tag(&tag, visible, page).await?.map(|view| view.post.id.uuid())
            }
            List::Feed => {
                let feed = FeedRequest { created_before: None, page };
                db.posts.list_followed(Viewer::ordinary(viewer), all, feed).await?.map(|view| view.post.id.uuid())
            }
            List::Likers => db.posts.list_likers(post, ANYBODY, page).await?.map(|liker| liker.id.uuid()),
            List::Comments => db.comments.list(post, ANYBODY, page).await?.map(|view| view.comment.id.uuid()),
            List::TopLevelComments => {
                let order = CommentOrder::Oldest;
                db.comments
                    .list_top_level(post, Viewer::ordinary(viewer), order, page)
                    .await?
                    .map(|view| view.comment.id.uuid())
            }
            List::NewestComments => {
                let order = CommentOrder::Newest;
                db.comments
                    .list_top_level(post, Viewer::ordinary(viewer), order, page)
                    .await?
                    .map(|view| view.comment.id.uuid())
            }
            List::Replies => db
                .comments
                .list_replies(comment, Viewer::ordinary(viewer), page)
                .await?
                .map(|view| view.comment.id.uuid()),
            List::CommentLikers => db.comments.list_likers(comment, ANYBODY, page).await?.map(|user| user.id.uuid()),
            List::Followers => db.follows.list_followers(host, ANYBODY, page).await?.map(|user| user.id.uuid()),
            List::Followed => db.follows.list_followed(host, ANYBODY, page).await?.map(|user| user.id.uuid()),
            List::Blocked => db.blocks.list_blocked(Viewer::ordinary(author), page).await?.map(|user| user.id.uuid()),
            List::Muted => db.blocks.list_muted(Viewer::ordinary(viewer), page).await?.map(|(user, _)| user.id.uuid()),
            List::FollowingPeople => db
                .people
                .list_followers(host, Viewer { sees_all: true, ..ANYBODY }, page)
                .await?
                .map(|user| user.id.uuid()),
            List::FollowedPeople => db.people.list_followed(host, ANYBODY, page).await?.map(|user| user.id.uuid()),
            List::Directory => {
                db.people.list_discoverable(Viewer::ordinary(viewer), page).await?.map(|user| user.id.uuid())
            }
            List::Products => db.products.list(&ProductFilter::default(), page).await?.map(|product| product.id.uuid()),
            List::FilteredProducts => {
                let filter = product_filter(Some("kitchen"), Some("tea"));
                db.products.list(&filter, page).await?.map(|product| product.id.uuid())
            }
            List::ShortProducts => db.products.list_short(page).await?.map(|product| product.id.uuid()),
            List::FoundPosts => {
                let wanted = PostSearch { needles: self.needles("morning").await?, viewer: Viewer::ordinary(viewer) };
                db.search.find_posts(&wanted, page).await?.map(|view| view.post.id.uuid())
            }
            List::FoundPeople => {
                let needles = self.needles("walker").await?;
                let wanted = PeopleSearch { needles, viewer: Viewer::ordinary(viewer), except: None };
                db.search.find_people(&wanted, page).await?.map(|person| person.id.uuid())
            }
            List::FoundProducts => {
                let needles = self.needles("kitchen teapot").await?;
                db.search.find_products(&needles, page).await?.map(|product| product.id.uuid())
            }
            List::AuditLog => db.audit.list(AuditFilter::default(), page).await?.map(|view| view.entry.id.uuid()),
            List::Reports => db.reports.list(None, page).await?.map(|view| view.report.id.uuid()),
            List::OpenReports => {
                db.reports.list(Some(ReportStatus::Open), page).await?.map(|view| view.report.id.uuid())
            }
            List::Sessions => {
                let all = Timestamp::from_unix_millis(i64::MIN / 2);
                db.sessions.list(author, all, page).await?.map(|view| view.session.id.uuid())
            }
        })
    }

    /// Packs a part of the search index, so that searches span packed and unpacked texts; then returns the needles of a query.
    async fn needles(&self, query: &str) -> Result<Needles> {
        self.db.search_index.pack().await?;
        Ok(Needles::of(&Query::parse(query).unwrap(), None))
    }

    /// Adds an entry to a list.
    pub async fn add(&self, list: List, Keyset { at, id }: Keyset) {
        let People { author, viewer, host, post, comment, commented } = self.people;
        let (db, w) = (&self.db, &self.world);
        let (user, relation) = (UserId::new(id), NewRelation { id: id.into(), at, notice: None });
        let register = async || {
            let name = id.simple().to_string();
            let new = w.new_account_with(&name, |account| {
                (account.id, account.created_at, account.display_name) = (user, at, display_name("Walker"));
            });
            db.accounts.create(&new, None).await.unwrap();
        };
        match list {
            List::Accounts | List::Directory | List::FoundPeople => register().await,
            List::Posts
            | List::PostsByAuthor
            | List::PostsByTag
            | List::Public
            | List::Feed
            | List::FoundPosts
            | List::Bookmarks => {
                let mut post = w.new_post(author);
                let text = format!("Good morning {TAG}");
                (post.text, post.entities) = (post_text(&text), entities(&text));
                (post.id, post.created_at) = (id.into(), at);
                db.posts.create(&post, &[], None).await.unwrap();
                if list == List::Bookmarks {
                    db.bookmarks.set(post.id, host, relation).await.unwrap();
                }
            }
            List::Likers => {
                register().await;
                db.posts.set_like(post, user, relation).await.unwrap();
            }
            List::Comments | List::TopLevelComments | List::NewestComments => {
                let mut new = w.new_comment(post, host);
                (new.comment.id, new.comment.created_at) = (id.into(), at);
                db.comments.create(&new, None).await.unwrap();
                if list != List::Comments {
                    w.reply(&new.comment, author).await;
                }
            }
            List::Replies => {
                let mut new = w.new_comment(commented, host);
                new.reply = Some(Reply { thread: comment, to: comment });
                (new.comment.id, new.comment.created_at) = (id.into(), at);
                db.comments.create(&new, None).await.unwrap();
            }
            List::CommentLikers => {
                register().await;
                db.comments.set_like(comment, user, relation).await.unwrap();
            }
            List::Followers | List::FollowingPeople => {
                register().await;
                db.follows.set(user, host, relation).await.unwrap();
            }
            List::Followed | List::FollowedPeople => {
                register().await;
                db.follows.set(host, user, relation).await.unwrap();
            }
            List::Blocked => {
                register().await;
                db.blocks.block(author, user, NewBlock { id: relation.id, at }).await.unwrap();
            }
            List::Muted => {
                register().await;
                db.blocks.mute(viewer, user, NewMute { id: relation.id, at, until: None }).await.unwrap();
            }
            List::Products | List::FilteredProducts | List::ShortProducts | List::FoundProducts => {
                let mut product = w.new_product(&id.to_string());
                (product.id, product.created_at) = (id.into(), at);
                db.products.create(&product, &w.entry(), None).await.unwrap();
            }
            List::AuditLog => {
                let entry = AuditEntry { id: id.into(), ..w.entry_at(at) };
                db.products.create(&w.new_product(&id.to_string()), &entry, None).await.unwrap();
            }
            List::Sessions => _ = w.open(&Session { id: id.into(), user: author, opened_at: at }).await,
            List::Reports | List::OpenReports => {
                register().await;
                let report = Report { id: id.into(), created_at: at, ..w.new_report(user) };
                db.reports.create(&report, &[], None).await.unwrap();
            }
        }
    }

    /// Edits the text of a post such that the same searches find it.
    pub async fn rewrite(&self, id: Uuid, number: u64) {
        let text = format!("Good morning {TAG} {number}");
        let edit = PostEdit { text: Some(post_text(&text)), entities: entities(&text), ..PostEdit::default() };
        done_or_missing(self.db.posts.edit(id.into(), ANYBODY, &edit, self.world.now()).await).unwrap();
    }

    /// Packs a part of the search index.
    pub async fn pack(&self) {
        self.db.search_index.pack().await.unwrap();
    }

    /// Removes the entry with an id from a list, if it is there and its list is not [permanent](List::is_permanent).
    pub async fn remove(&self, list: List, id: Uuid) {
        let People { author, viewer, host, post, comment, .. } = self.people;
        let (db, user) = (&self.db, UserId::new(id));
        match list {
            List::Accounts | List::Directory | List::FoundPeople => {}
            List::AuditLog | List::Reports | List::OpenReports => {}
            List::Sessions => db.sessions.revoke(id.into(), self.world.now()).await.unwrap(),
            List::Posts | List::PostsByAuthor | List::PostsByTag | List::Public | List::Feed | List::FoundPosts => {
                done_or_missing(db.posts.delete(id.into(), self.world.now()).await).unwrap();
            }
            List::Bookmarks => done_or_missing(db.bookmarks.unset(id.into(), host).await.map(drop)).unwrap(),
            List::Likers => db.posts.unset_like(post, user).await.map(drop).unwrap(),
            List::Comments | List::TopLevelComments | List::NewestComments | List::Replies => {
                done_or_missing(db.comments.delete(id.into()).await).unwrap();
            }
            List::CommentLikers => db.comments.unset_like(comment, user).await.map(drop).unwrap(),
            List::Blocked => done_or_missing(db.blocks.unblock(author, user).await.map(drop)).unwrap(),
            List::Muted => drop(db.blocks.unmute(viewer, user).await.unwrap()),
            List::Followers | List::FollowingPeople => db.follows.unset(user, host).await.unwrap(),
            List::Followed | List::FollowedPeople => db.follows.unset(host, user).await.unwrap(),
            List::Products | List::FilteredProducts | List::ShortProducts | List::FoundProducts => {
                done_or_missing(db.products.delete(id.into(), &self.world.entry()).await).unwrap();
            }
        }
    }

    /// Reads a page of the feed, bounded to posts made before an instant.
    pub(crate) async fn read_bounded(&self, created_before: Timestamp, page: PageRequest) -> Page<Uuid> {
        let feed = FeedRequest { created_before: Some(created_before), page };
        let page =
            self.db.posts.list_followed(Viewer::ordinary(self.people.viewer), &Visibility::ALL, feed).await.unwrap();
        page.map(|view| view.post.id.uuid())
    }
}
