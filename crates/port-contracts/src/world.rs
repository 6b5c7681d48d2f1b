//! Fixtures of the cases: valid entities in one call each, with ids and instants that depend only on the order of the calls.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use agora_domain::accounts::{
    Account, Author, Biography, ConfirmedPassword, DisplayName, Email, NewAccount, PasswordHash, Privacy,
    ProfilePicture, Roles, Session, UserPreview, UserSummary, Username, Viewer,
};
use agora_domain::audit::{Action, Actor, AuditEntry, Target};
use agora_domain::blocks::{NewBlock, NewMute};
use agora_domain::clock::Timestamp;
use agora_domain::comments::{Comment, CommentText, NewComment, Reply, ThreadedComment};
use agora_domain::entities::{Candidates, Entities};
use agora_domain::id::{CommentId, PostId, UserId};
use agora_domain::media::{Attachment, ImageFormat, ImageKey};
use agora_domain::posts::{Liker, Post, PostText, PostView, Visibility};
use agora_domain::products::{
    Category, Description, Price, Product, ProductFilter, ProductName, SearchText, Sku, Stock,
};
use agora_domain::relation::NewRelation;
use agora_domain::reports::{Report, ReportCategory, ReportStatus, ReportTarget};
use uuid::Uuid;

use crate::Repositories;

/// Texts that an adapter could damage by escaping, normalising or interpreting them. Each is trimmed and valid as a username.
pub(crate) const ODD_TEXTS: [&str; 14] = [
    "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽",
    "שלום \u{202e}עולם",
    "مرحبا بالعالم",
    "'; DROP TABLE posts; --",
    "\"double\" 'single' `back`",
    "100% _under_ \\back\\ \\%",
    "e\u{301} is not é",
    "İstanbul ıssız ẞ ﬁn",
    "NULL",
    "0012.50",
    "?1 $1 :name {} {0} %s",
    "a\u{a0}b\u{200b}c\u{feff}",
    "\u{10ffff}𝒳",
    "<b>&amp;</b>",
];

/// Milliseconds since 1970 that test the precision and the range of stored times: before and around the epoch, and the last
/// millisecond of the year 9999.
pub(crate) const INSTANTS: [i64; 8] =
    [-2_208_988_800_001, -1001, -1, 0, 1, 1_709_210_096_789, 1_709_210_096_790, 253_402_300_799_999];

/// A viewer without relations to anybody, to whom lists show what everybody may see.
pub(crate) const ANYBODY: Viewer = Viewer::ordinary(UserId::new(Uuid::nil()));

/// Returns the instant `n` milliseconds after a fixed one in November 2023.
pub(crate) const fn at(n: i64) -> Timestamp {
    Timestamp::from_unix_millis(1_700_000_000_000 + n)
}

/// Returns the `n`th of an increasing sequence of UUIDs with the version and variant of UUIDv7.
pub(crate) const fn uuid(n: u64) -> Uuid {
    Uuid::from_u64_pair(0x018b_cfe5_6800_7000, 0x8000_0000_0000_0000 | n)
}

/// Returns the entries in an order that is neither ascending nor descending: those at odd indexes backwards, then the others.
pub(crate) fn shuffled<T>(entries: impl IntoIterator<Item = T>) -> Vec<T> {
    let (even, odd): (Vec<_>, Vec<_>) = entries.into_iter().enumerate().partition(|(i, _)| i % 2 == 0);
    odd.into_iter().rev().chain(even).map(|(_, entry)| entry).collect()
}

/// Returns a pseudo-random number generator with a fixed seed: each call returns a number from 0 to below its argument.
pub(crate) fn pseudo_random() -> impl FnMut(i64) -> i64 {
    let mut state = 1_u64;
    move |sides| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33).cast_signed() % sides
    }
}

pub(crate) fn username(name: &str) -> Username {
    Username::parse(name).unwrap()
}

pub(crate) fn email(address: &str) -> Email {
    Email::parse(address).unwrap_or_else(|violation| panic!("{address}: {violation}"))
}

pub(crate) fn biography(text: &str) -> Option<Biography> {
    Biography::parse(text).unwrap()
}

pub(crate) fn display_name(name: &str) -> Option<DisplayName> {
    DisplayName::parse(name).unwrap()
}

pub(crate) fn post_text(text: &str) -> PostText {
    PostText::parse(text).unwrap()
}

/// Returns the entities of a text that mentions nobody.
pub(crate) fn entities(text: &str) -> Option<Entities> {
    Some(Entities::of(&Candidates::find(text).resolve(&BTreeMap::new())))
}

pub(crate) fn comment_text(text: &str) -> CommentText {
    CommentText::parse(text).unwrap()
}

/// Returns the filter for a category and a text.
pub(crate) fn product_filter(category: Option<&str>, text: Option<&str>) -> ProductFilter {
    let category = category.map(|name| Category::parse(name).unwrap());
    let text = text.map(|text| SearchText::parse(text).unwrap());
    ProductFilter::new(category.as_ref(), text.as_ref())
}

pub(crate) fn author(account: &Account) -> Author {
    let Account { id, username, email, display_name, biography, profile_picture, .. } = account.clone();
    Author { id, username, email, display_name, biography, profile_picture }
}

/// Returns the key of the profile picture of an account.
pub(crate) fn picture_key(account: &Account) -> Option<ImageKey> {
    account.profile_picture.as_ref().map(|picture| picture.key.clone())
}

pub(crate) fn summary(account: &Account) -> UserSummary {
    author(account).into()
}

pub(crate) fn preview(account: &Account) -> UserPreview {
    let Account { id, username, display_name, profile_picture, .. } = account.clone();
    UserPreview { id, username, display_name, profile_picture }
}

/// Returns what anybody sees of a comment that nobody has liked or answered.
pub(crate) fn untouched_comment(new: &NewComment, account: &Account) -> ThreadedComment {
    let NewComment { comment, reply, entities, .. } = new.clone();
    let author = preview(account);
    ThreadedComment { comment, reply, entities, author, reply_count: 0, like_count: 0, liked_by_viewer: false }
}

pub(crate) fn liker(account: &Account) -> Liker {
    let Account { id, username, .. } = account.clone();
    Liker { id, username, profile_picture: picture_key(account) }
}

/// Returns what anybody sees of a post that nobody has liked or commented on.
pub(crate) fn untouched(post: &Post, account: &Account) -> PostView {
    PostView {
        post: post.clone(),
        author: author(account),
        liked_by: vec![],
        like_count: 0,
        liked_by_viewer: false,
        comment_count: 0,
        bookmarked_by_viewer: false,
    }
}

/// Returns these images as attachments without preview and alt text.
pub(crate) fn attached(keys: impl IntoIterator<Item = ImageKey>) -> Vec<Attachment> {
    keys.into_iter().map(Attachment::bare).collect()
}

/// Creates entities. Methods whose names begin with `new` only return them; the others store them, after recording their images.
pub(crate) struct World {
    db: Repositories,
    made: AtomicU64,
}

impl World {
    pub(crate) fn new(db: &Repositories) -> Self {
        Self { db: db.clone(), made: AtomicU64::new(0) }
    }

    fn next(&self) -> u64 {
        self.made.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns an id greater than every one before.
    pub(crate) fn id<T: From<Uuid>>(&self) -> T {
        uuid(self.next()).into()
    }

    /// Returns `count` ids in ascending order.
    pub(crate) fn ids<T: From<Uuid>>(&self, count: usize) -> Vec<T> {
        (0..count).map(|_| self.id()).collect()
    }

    /// Returns an instant later than every one before.
    pub(crate) fn now(&self) -> Timestamp {
        at(self.next().cast_signed())
    }

    /// Returns an open report of a post of its own.
    pub(crate) fn new_report(&self, reporter: UserId) -> Report {
        let (id, created_at, target) = (self.id(), self.now(), ReportTarget::Post(self.id()));
        let (category, status) = (ReportCategory::Spam, ReportStatus::Open);
        Report { id, created_at, reporter, target, category, comment: None, status, note: None }
    }

    /// Returns an audit entry of now.
    pub(crate) fn entry(&self) -> AuditEntry {
        self.entry_at(self.now())
    }

    /// Returns an audit entry of an instant.
    pub(crate) fn entry_at(&self, at: Timestamp) -> AuditEntry {
        let (id, actor, action, target) = (self.id(), Actor::CommandLine, Action::ProductsImported, Target::Catalog);
        AuditEntry { id, at, actor, action, target, details: None }
    }

    /// Returns the key of an image that is not on record.
    pub(crate) fn new_image(&self) -> ImageKey {
        ImageKey::new(uuid(self.next()).into_bytes(), ImageFormat::Png)
    }

    /// Returns a profile picture with an image that is not on record.
    pub(crate) fn new_picture(&self) -> ProfilePicture {
        ProfilePicture::new(self.new_image())
    }

    /// Returns the key of an image that is on record, so that a row may reference it.
    pub(crate) async fn image(&self) -> ImageKey {
        let key = self.new_image();
        self.announce(Some(&key)).await;
        key
    }

    /// Returns the keys of `count` images, recorded one after another.
    pub(crate) async fn images(&self, count: usize) -> Vec<ImageKey> {
        let mut keys = Vec::with_capacity(count);
        for _ in 0..count {
            keys.push(self.image().await);
        }
        keys
    }

    /// Records an image, if any, as is done before its file is stored.
    pub(crate) async fn announce(&self, key: Option<&ImageKey>) {
        if let Some(key) = key {
            self.db.images.announce(key, self.now()).await.unwrap();
        }
    }

    /// Marks all recorded images for deletion, and returns their keys.
    pub(crate) async fn mark_recorded_images(&self) -> HashSet<ImageKey> {
        let marked = self.db.images.mark_for_deletion(at(1_000_000_000), self.now(), 10_000).await.unwrap();
        marked.into_iter().collect()
    }

    /// Returns an account with role USER and a name, without any optional field.
    pub(crate) fn new_account(&self, name: &str) -> NewAccount {
        let n = self.next();
        let account = Account {
            id: uuid(n).into(),
            username: username(name),
            email: email(&format!("address{n}@example.org")),
            display_name: None,
            biography: None,
            profile_picture: None,
            privacy: Privacy::default(),
            roles: Roles::USER,
            enabled: true,
            email_verified: false,
            created_at: at(n.cast_signed()),
        };
        NewAccount { account, password: PasswordHash::new(format!("$hash${n}")), entry: None }
    }

    /// Returns an account like [`new_account`](Self::new_account), after `alter`.
    pub(crate) fn new_account_with(&self, name: &str, alter: impl FnOnce(&mut Account)) -> NewAccount {
        let mut new = self.new_account(name);
        alter(&mut new.account);
        new
    }

    pub(crate) async fn account_with(&self, name: &str, alter: impl FnOnce(&mut Account)) -> Account {
        let new = self.new_account_with(name, alter);
        self.announce(picture_key(&new.account).as_ref()).await;
        self.db.accounts.create(&new, None).await.unwrap();
        new.account
    }

    pub(crate) async fn account(&self, name: &str) -> Account {
        self.account_with(name, |_| {}).await
    }

    pub(crate) async fn admin(&self, name: &str) -> Account {
        self.account_with(name, |account| account.roles = Roles::ADMIN_AND_USER).await
    }

    /// Creates `N` accounts, oldest first.
    pub(crate) async fn accounts<const N: usize>(&self) -> [Account; N] {
        let mut accounts = Vec::with_capacity(N);
        for _ in 0..N {
            accounts.push(self.account(&format!("somebody {}", self.next())).await);
        }
        accounts.try_into().unwrap()
    }

    /// Creates `N` accounts, and returns their ids, oldest first.
    pub(crate) async fn users<const N: usize>(&self) -> [UserId; N] {
        self.accounts().await.map(|account| account.id)
    }

    pub(crate) async fn session(&self, user: UserId) -> Session {
        let session = Session { id: self.id(), user, opened_at: self.now() };
        assert!(self.open(&session).await);
        session
    }

    /// Returns the proof that the current password of an account was confirmed; with an empty hash for an unknown account.
    pub(crate) async fn confirmed(&self, user: UserId) -> ConfirmedPassword {
        let password = self.db.accounts.find_password(user).await.unwrap();
        ConfirmedPassword { user, password: password.unwrap_or_else(|| PasswordHash::new(String::new())) }
    }

    /// Opens a session as after a login with the account's current password; returns whether it was opened.
    pub(crate) async fn open(&self, session: &Session) -> bool {
        let password = self.db.accounts.find_password(session.user).await.unwrap().unwrap();
        self.db.sessions.open(session, &password, None).await.unwrap()
    }

    /// Returns a PUBLIC post with a text and without images.
    pub(crate) fn new_post(&self, author: UserId) -> Post {
        let now = self.now();
        Post {
            id: self.id(),
            author,
            text: post_text("Good morning"),
            entities: entities(""),
            attachments: Vec::new(),
            visibility: Visibility::Public,
            is_hidden: false,
            created_at: now,
            updated_at: now,
        }
    }

    pub(crate) async fn post_with(&self, author: UserId, alter: impl FnOnce(&mut Post)) -> Post {
        let mut post = self.new_post(author);
        alter(&mut post);
        for attachment in &post.attachments {
            self.announce(Some(&attachment.key)).await;
        }
        self.db.posts.create(&post, &[], None).await.unwrap();
        post
    }

    pub(crate) async fn post(&self, author: UserId) -> Post {
        self.post_with(author, |_| {}).await
    }

    /// Creates a post with this text and its entities.
    pub(crate) async fn post_saying(&self, author: UserId, text: &str) -> Post {
        self.post_with(author, |post| (post.text, post.entities) = (post_text(text), entities(text))).await
    }

    pub(crate) fn new_relation(&self) -> NewRelation {
        NewRelation { id: self.id(), at: self.now(), notice: None }
    }

    pub(crate) async fn like(&self, post: PostId, user: UserId) {
        self.db.posts.set_like(post, user, self.new_relation()).await.unwrap();
    }

    pub(crate) async fn follow(&self, follower: UserId, followed: UserId) {
        self.db.follows.set(follower, followed, self.new_relation()).await.unwrap();
    }

    pub(crate) async fn block(&self, blocker: UserId, blocked: UserId) {
        let block = NewBlock { id: self.id(), at: self.now() };
        self.db.blocks.block(blocker, blocked, block).await.unwrap();
    }

    pub(crate) async fn mute(&self, muter: UserId, muted: UserId, until: Option<Timestamp>) {
        let mute = NewMute { id: self.id(), at: self.now(), until };
        self.db.blocks.mute(muter, muted, mute).await.unwrap();
    }

    pub(crate) fn new_comment(&self, post: PostId, author: UserId) -> NewComment {
        let now = self.now();
        let content = comment_text("Indeed");
        let (id, created_at, updated_at, is_hidden) = (self.id(), now, now, false);
        let comment = Comment { id, post, author, content, created_at, updated_at, is_hidden };
        NewComment { comment, reply: None, entities: Some(Entities::default()), notices: vec![] }
    }

    /// Returns a reply to the comment `to`, in the thread of `thread`.
    pub(crate) fn new_reply(&self, thread: &Comment, to: CommentId, author: UserId) -> NewComment {
        let reply = Some(Reply { thread: thread.id, to });
        NewComment { reply, ..self.new_comment(thread.post, author) }
    }

    /// Creates a reply to the top-level comment of a thread.
    pub(crate) async fn reply(&self, thread: &Comment, author: UserId) -> Comment {
        let reply = self.new_reply(thread, thread.id, author);
        self.db.comments.create(&reply, None).await.unwrap();
        reply.comment
    }

    pub(crate) async fn like_comment(&self, comment: CommentId, user: UserId) {
        self.db.comments.set_like(comment, user, self.new_relation()).await.unwrap();
    }

    pub(crate) async fn comment_with(&self, post: PostId, author: UserId, alter: impl FnOnce(&mut Comment)) -> Comment {
        let mut new = self.new_comment(post, author);
        alter(&mut new.comment);
        self.db.comments.create(&new, None).await.unwrap();
        new.comment
    }

    pub(crate) async fn comment(&self, post: PostId, author: UserId) -> Comment {
        self.comment_with(post, author, |_| {}).await
    }

    /// Returns a product without variants or images.
    pub(crate) fn new_product(&self, sku: &str) -> Product {
        let now = self.now();
        Product {
            id: self.id(),
            sku: Sku::parse(sku).unwrap(),
            name: ProductName::parse("Teapot").unwrap(),
            description: Description::default(),
            price: Price::from_hundredths(1990).unwrap(),
            category: Category::parse("Kitchen").unwrap(),
            stock: Stock::parse(3).unwrap(),
            variants: vec![],
            images: vec![],
            created_at: now,
            updated_at: now,
        }
    }

    pub(crate) async fn product_with(&self, sku: &str, alter: impl FnOnce(&mut Product)) -> Product {
        let mut product = self.new_product(sku);
        alter(&mut product);
        self.db.products.create(&product, &self.entry(), None).await.unwrap();
        product
    }

    pub(crate) async fn product(&self, sku: &str) -> Product {
        self.product_with(sku, |_| {}).await
    }
}
