//! The record of the images that no row references.

use std::collections::HashSet;

use agora_domain::accounts::{Account, NewAccount, ProfileChanges, ProfilePicture, Viewer};
use agora_domain::error::{ImageCollected, Resource};
use agora_domain::media::{Attachment, AttachmentsEdit, ImageFormat, ImageKey};
use agora_domain::posts::{Post, PostEdit};
use agora_domain::{Error, Result};

use crate::Repositories;
use crate::run::{assert_fails, concurrently, done_or_missing};
use crate::world::{ANYBODY, World, at, attached, biography, picture_key, post_text};

fn replace(image: &ImageKey) -> PostEdit {
    PostEdit { attachments: AttachmentsEdit::replace(Attachment::bare(image.clone())), ..PostEdit::default() }
}

fn picture(image: &ImageKey) -> ProfileChanges {
    ProfileChanges { profile_picture: Some(Some(ProfilePicture::new(image.clone()))), ..ProfileChanges::default() }
}

fn set(keys: &[&ImageKey]) -> HashSet<ImageKey> {
    keys.iter().copied().cloned().collect()
}

async fn mark_for_deletion(db: &Repositories, cutoff: i64, now: i64, limit: usize) -> HashSet<ImageKey> {
    db.images.mark_for_deletion(at(cutoff), at(now), limit).await.unwrap().into_iter().collect()
}

pub async fn images_recorded_before_a_cutoff_are_marked_oldest_first(db: Repositories) {
    let w = World::new(&db);
    let [one, two, three, four] = [(); 4].map(|()| w.new_image());
    // Recorded in an order that differs from that of the keys.
    for (key, since) in [(&three, 30), (&one, 10), (&four, 40), (&two, 20)] {
        db.images.announce(key, at(since)).await.unwrap();
    }
    let marked = async |cutoff, limit| mark_for_deletion(&db, cutoff, 1000, limit).await;
    assert_eq!(marked(10, 10).await, set(&[]));
    assert_eq!(marked(40, 2).await, set(&[&one, &two]));
    assert_eq!(marked(40, 2).await, set(&[&three]));
    assert_eq!(marked(40, 2).await, set(&[]));
    assert_eq!(marked(41, 2).await, set(&[&four]));
}

pub async fn recording_an_image_again_changes_nothing(db: Repositories) {
    let key = World::new(&db).new_image();
    db.images.announce(&key, at(10)).await.unwrap();
    db.images.announce(&key, at(20)).await.unwrap();
    assert_eq!(mark_for_deletion(&db, 11, 1000, 10).await, set(&[&key]));
    db.images.announce(&key, at(2000)).await.unwrap();
    assert_eq!(mark_for_deletion(&db, 1001, 1001, 10).await, set(&[&key]), "it is still marked");
}

pub async fn a_marked_image_is_returned_again_after_the_others_until_forgotten(db: Repositories) {
    let w = World::new(&db);
    let [one, two, three] = [(); 3].map(|()| w.new_image());
    for (key, since) in [(&one, 10), (&two, 20), (&three, 30)] {
        db.images.announce(key, at(since)).await.unwrap();
    }
    let marked = async |now, limit| mark_for_deletion(&db, 1000, now, limit).await;
    assert_eq!(marked(100, 1).await, set(&[&one]));
    assert_eq!(marked(101, 1).await, set(&[&two]));
    db.images.forget(&[two]).await.unwrap();
    assert_eq!(marked(102, 1).await, set(&[&three]));
    assert_eq!(marked(103, 1).await, set(&[&one]));
    db.images.forget(&[one, three]).await.unwrap();
    assert_eq!(marked(104, 1).await, set(&[]));
}

pub async fn images_are_forgotten_by_key_and_format(db: Repositories) {
    let w = World::new(&db);
    let [png, webp] = [ImageFormat::Png, ImageFormat::WebP].map(|format| ImageKey::new([7; 16], format));
    let keys = w.images(300).await;
    w.announce(Some(&png)).await;
    // Forgetting unrecorded keys, or none at all, is no error.
    db.images.forget(&[webp, w.new_image()]).await.unwrap();
    db.images.forget(&[]).await.unwrap();
    assert_eq!(w.mark_recorded_images().await.len(), 301);
    db.images.forget(&keys).await.unwrap();
    assert_eq!(w.mark_recorded_images().await, set(&[&png]));
}

pub async fn referencing_an_image_removes_it_from_the_record(db: Repositories) {
    let w = World::new(&db);
    let left = w.image().await;
    let ada = w.account_with("Ada", |account| account.profile_picture = Some(w.new_picture())).await.id;
    let bob = w.account("Bob").await.id;
    w.post_with(ada, |post| post.attachments = attached(Some(w.new_image()))).await;
    let post = w.post(ada).await.id;
    db.posts.edit(post, ANYBODY, &replace(&w.image().await), w.now()).await.unwrap();
    db.accounts.update_profile(bob, &picture(&w.image().await), w.now()).await.unwrap();
    assert_eq!(w.mark_recorded_images().await, set(&[&left]));
}

/// Rows with and without images.
struct Rows {
    pictured: (Account, Post),
    bare: (Account, Post),
}

impl Rows {
    async fn new(w: &World) -> Self {
        let ada = w.account_with("Ada", |account| account.profile_picture = Some(w.new_picture())).await;
        let bob = w.account("Bob").await;
        let hers = w.post_with(ada.id, |post| post.attachments = attached(Some(w.new_image()))).await;
        let his = w.post(bob.id).await;
        Self { pictured: (ada, hers), bare: (bob, his) }
    }

    /// Tries every write that references an image, and checks that each is refused and stores nothing.
    async fn expect_refusals(&self, db: &Repositories, w: &World, key: &ImageKey) {
        let refused = |outcome: Result<()>| match outcome {
            Err(Error::Unavailable(cause)) => assert!(cause.is::<ImageCollected>(), "{cause}"),
            other => panic!("{other:?}"),
        };
        for (account, post) in [&self.pictured, &self.bare] {
            let edit = PostEdit { text: Some(post_text("Edited")), ..replace(key) };
            refused(db.posts.edit(post.id, ANYBODY, &edit, w.now()).await.map(drop));
            assert_eq!(db.posts.find(post.id, Viewer::ordinary(account.id)).await.unwrap().unwrap().view.post, *post);
            let changes = ProfileChanges { biography: Some(biography("Changed")), ..picture(key) };
            refused(db.accounts.update_profile(account.id, &changes, w.now()).await.map(drop));
            assert_eq!(db.accounts.find(account.id).await.unwrap().as_ref(), Some(account));
        }
        let post = Post { attachments: attached(Some(key.clone())), ..w.new_post(self.bare.0.id) };
        refused(db.posts.create(&post, &[], None).await.map(drop));
        assert_eq!(db.posts.find(post.id, Viewer::ordinary(post.author)).await.unwrap(), None);
        let new: NewAccount =
            w.new_account_with("Cleo", |account| account.profile_picture = Some(ProfilePicture::new(key.clone())));
        refused(db.accounts.create(&new, None).await);
        assert_eq!(db.accounts.find(new.account.id).await.unwrap(), None);
    }
}

pub async fn referencing_an_unrecorded_image_is_refused(db: Repositories) {
    let w = World::new(&db);
    let rows = Rows::new(&w).await;
    let (left, forgotten) = (w.image().await, w.image().await);
    db.images.forget(std::slice::from_ref(&forgotten)).await.unwrap();
    for key in [w.new_image(), forgotten] {
        rows.expect_refusals(&db, &w, &key).await;
    }
    assert_eq!(w.mark_recorded_images().await, set(&[&left]), "no image was released");
}

pub async fn referencing_a_marked_image_is_refused(db: Repositories) {
    let w = World::new(&db);
    let rows = Rows::new(&w).await;
    let key = w.image().await;
    assert_eq!(w.mark_recorded_images().await, set(&[&key]));
    rows.expect_refusals(&db, &w, &key).await;
    assert_eq!(w.mark_recorded_images().await, set(&[&key]), "it is still marked");
}

pub async fn referencing_a_released_image_is_refused(db: Repositories) {
    let w = World::new(&db);
    let rows = Rows::new(&w).await;
    let key = w.new_image();
    let post = w.post_with(rows.bare.0.id, |post| post.attachments = attached(Some(key.clone()))).await.id;
    db.posts.delete(post, w.now()).await.unwrap();
    // Its file is about to be deleted.
    rows.expect_refusals(&db, &w, &key).await;
    assert_eq!(w.mark_recorded_images().await, set(&[&key]));
}

pub async fn a_released_image_is_recorded_with_the_time_of_the_change(db: Repositories) {
    let w = World::new(&db);
    let [replaced, removed, deleted, profile] = [(); 4].map(|()| w.new_image());
    let ada =
        w.account_with("Ada", |account| account.profile_picture = Some(ProfilePicture::new(profile.clone()))).await.id;
    let mut posts = Vec::new();
    for key in [&replaced, &removed, &deleted] {
        posts.push(w.post_with(ada, |post| post.attachments = attached(Some(key.clone()))).await.id);
    }
    w.post_with(ada, |post| post.attachments = attached(Some(w.new_image()))).await;
    let new = [w.image().await, w.image().await];
    let change = |n: i64| at(100_000 + n);
    db.posts.edit(posts[0], ANYBODY, &replace(&new[0]), change(1)).await.unwrap();
    let remove = PostEdit { attachments: AttachmentsEdit::REMOVE, ..PostEdit::default() };
    db.posts.edit(posts[1], ANYBODY, &remove, change(2)).await.unwrap();
    db.posts.delete(posts[2], change(3)).await.unwrap();
    assert_fails!(db.posts.delete(posts[2], change(5)).await, Error::NotFound(Resource::Post));
    db.accounts.update_profile(ada, &picture(&new[1]), change(4)).await.unwrap();
    for (n, given_up) in (1..).zip([replaced, removed, deleted, profile]) {
        // Released images are marked at once, unless they were released at that very instant.
        assert_eq!(db.images.mark_for_deletion(at(0), change(n), 1).await.unwrap(), []);
        let marked = db.images.mark_for_deletion(at(0), change(n + 1), 1).await.unwrap();
        assert_eq!(marked, [given_up]);
        db.images.forget(&marked).await.unwrap();
    }
    assert_eq!(w.mark_recorded_images().await, set(&[]));
}

pub async fn changes_to_other_fields_leave_the_record_unchanged(db: Repositories) {
    let w = World::new(&db);
    let Rows { pictured: (ada, post), bare: (_, other) } = Rows::new(&w).await;
    let left = w.image().await;
    let text = PostEdit { text: Some(post_text("Edited")), ..PostEdit::default() };
    let same = replace(&post.attachments[0].key);
    for edit in [PostEdit::default(), text, same] {
        db.posts.edit(post.id, ANYBODY, &edit, w.now()).await.unwrap();
    }
    let words = ProfileChanges { biography: Some(biography("Counts")), ..ProfileChanges::default() };
    for changes in [ProfileChanges::default(), words, picture(&picture_key(&ada).unwrap())] {
        db.accounts.update_profile(ada.id, &changes, w.now()).await.unwrap();
    }
    db.posts.delete(other.id, w.now()).await.unwrap();
    assert_eq!(w.mark_recorded_images().await, set(&[&left]));
}

pub async fn an_image_is_never_referenced_by_two_rows(db: Repositories) {
    let w = World::new(&db);
    let Rows { pictured: (ada, post), bare: (bob, other) } = Rows::new(&w).await;
    for named in [picture_key(&ada).unwrap(), post.attachments[0].key.clone()] {
        assert!(db.posts.edit(other.id, ANYBODY, &replace(&named), w.now()).await.is_err());
        assert!(db.accounts.update_profile(bob.id, &picture(&named), w.now()).await.is_err());
    }
    // Concurrently as well.
    let key = w.image().await;
    let outcomes = concurrently((0..20).map(|_| {
        let db = db.clone();
        let post = Post { attachments: attached(Some(key.clone())), ..w.new_post(bob.id) };
        async move { db.posts.create(&post, &[], None).await.is_ok() }
    }))
    .await;
    assert_eq!(outcomes.into_iter().filter(|named| *named).count(), 1);
    assert_eq!(w.mark_recorded_images().await, set(&[]));
}

pub async fn an_image_is_either_referenced_or_marked(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let keys = w.images(60).await;
    let (cutoff, now) = (w.now(), w.now());
    let outcomes = concurrently((0..70).map(|n| {
        let db = db.clone();
        let key = keys.get(n).cloned();
        let post = Post { attachments: attached(key.clone()), ..w.new_post(ada) };
        async move {
            match key {
                Some(key) => (db.posts.create(&post, &[], None).await.is_ok().then_some(key), vec![]),
                None => (None, db.images.mark_for_deletion(cutoff, now, 10).await.unwrap()),
            }
        }
    }))
    .await;
    let (mut named, mut marked) = (HashSet::new(), HashSet::new());
    for (key, taken) in outcomes {
        named.extend(key);
        marked.extend(taken);
    }
    assert!(named.is_disjoint(&marked));
    assert_eq!(w.mark_recorded_images().await, marked);
    assert_eq!(named.len() + marked.len(), keys.len(), "refused images were marked");
}

pub async fn concurrent_references_and_releases_lose_no_image(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let posts = [w.post(ada).await.id, w.post(ada).await.id];
    let keys = w.images(48).await;
    concurrently((0..48).map(|n| {
        let (db, key, now, post) = (db.clone(), keys[n].clone(), w.now(), posts[n % 2]);
        async move {
            match n {
                // One of the posts is deleted midway; later edits of it find none.
                20 => db.posts.delete(post, now).await.map(drop),
                _ if n % 3 == 0 => db.accounts.update_profile(ada, &picture(&key), now).await.map(drop),
                _ => done_or_missing(db.posts.edit(post, ANYBODY, &replace(&key), now).await),
            }
            .unwrap();
        }
    }))
    .await;
    let mut named: HashSet<ImageKey> =
        picture_key(&db.accounts.find(ada).await.unwrap().unwrap()).into_iter().collect();
    named.extend(
        db.posts
            .find(posts[1], Viewer::ordinary(ada))
            .await
            .unwrap()
            .unwrap()
            .view
            .post
            .attachments
            .into_iter()
            .map(|image| image.key),
    );
    assert_eq!(named.len(), 2);
    assert_eq!(db.posts.find(posts[0], Viewer::ordinary(ada)).await.unwrap(), None);
    let unreferenced = w.mark_recorded_images().await;
    assert!(named.is_disjoint(&unreferenced));
    assert_eq!(named.union(&unreferenced).cloned().collect::<HashSet<_>>(), keys.into_iter().collect());
}

pub async fn referenced_images_are_found_by_key_prefix_with_their_owners(db: Repositories) {
    let w = World::new(&db);
    let key = |first: u8, n: u8| {
        let mut bits = [n; 16];
        bits[0] = first;
        ImageKey::new(bits, ImageFormat::Gif)
    };
    let (ada, ben) = (w.account("Ada").await.id, w.account("Ben").await.id);
    let posted =
        [(ada, key(0, 0)), (ben, key(0, 0xff)), (ada, key(0x9f, 1)), (ada, key(0xff, 0)), (ben, key(0xff, 0xff))];
    for (author, key) in &posted {
        w.post_with(*author, |post| post.attachments = attached(Some(key.clone()))).await;
    }
    w.post(ada).await;
    let shown = key(0x9f, 0);
    w.announce(Some(&shown)).await;
    db.accounts.update_profile(ben, &picture(&shown), w.now()).await.unwrap();
    let [.., (_, first), (_, last)] = &posted;
    for (folder, expected) in [
        (0, vec![(key(0, 0), ada), (key(0, 0xff), ben)]),
        (0x9e, vec![]),
        (0x9f, vec![(shown, ben), (key(0x9f, 1), ada)]),
        (0xa0, vec![]),
        (0xff, vec![(first.clone(), ada), (last.clone(), ben)]),
    ] {
        let mut named = db.image_references.referenced_in(folder).await.unwrap();
        named.sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
        assert_eq!(named, expected, "{folder:x}");
    }
}

pub async fn referenced_and_recorded_keys_are_distinguished(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let [posted, shown, marked, recorded] = [w.image().await, w.image().await, w.image().await, w.new_image()];
    w.post_with(ada, |post| post.attachments = attached(Some(w.new_image()))).await;
    let post = w.post(ada).await;
    db.posts.edit(post.id, ANYBODY, &replace(&posted), w.now()).await.unwrap();
    db.accounts.update_profile(ada, &picture(&shown), w.now()).await.unwrap();
    assert_eq!(w.mark_recorded_images().await, set(&[&marked]));
    w.announce(Some(&recorded)).await;
    let unknown = w.new_image();
    let keys = [&posted, &shown, &marked, &recorded, &unknown].map(Clone::clone);
    let keys_of = |keys: Vec<ImageKey>| keys.into_iter().collect::<HashSet<_>>();
    assert_eq!(keys_of(db.image_references.referenced_of(&keys).await.unwrap()), set(&[&posted, &shown]));
    assert_eq!(keys_of(db.images.recorded(&keys).await.unwrap()), set(&[&marked, &recorded]));
}
