//! Images that are attached to posts.

use std::collections::HashSet;

use agora_domain::accounts::{Account, ProfileChanges, ProfilePicture, Viewer};
use agora_domain::error::{Error, ImageCollected};
use agora_domain::id::UserId;
use agora_domain::media::{AltText, Attachment, AttachmentsEdit, ImageKey, MediaIds, Preview, Rendition};
use agora_domain::posts::{Post, PostEdit, PostHiding};

use crate::Repositories;
use crate::run::concurrently;
use crate::world::{ANYBODY, World, at, attached, biography, picture_key, post_text};

/// Returns an attachment with preview and alt text.
fn described(key: ImageKey) -> Attachment {
    let preview = Some(Preview { width: u32::MAX, height: 1, blurhash: "LEHV6nWB2yk8pyo0adR*.7kCMdnj".to_owned() });
    Attachment { key, preview, alt: AltText::parse("A \"cat\"\n\u{1f408}").unwrap() }
}

async fn stored(db: &Repositories, post: &Post) -> Post {
    db.posts.find(post.id, Viewer::ordinary(post.author)).await.unwrap().unwrap().view.post
}

fn set(images: &[Attachment]) -> PostEdit {
    let ids = MediaIds::parse(images.iter().map(Attachment::id).collect()).unwrap();
    PostEdit { attachments: AttachmentsEdit::Set(ids, images.to_vec()), ..PostEdit::default() }
}

fn keys(images: &[Attachment]) -> HashSet<ImageKey> {
    images.iter().map(|image| image.key.clone()).collect()
}

pub async fn a_post_stores_several_images_with_preview_and_alt_text(db: Repositories) {
    let w = World::new(&db);
    let [ada] = w.users().await;
    let bare = || attached(Some(w.new_image()));
    let full = || vec![described(w.new_image())];
    let four = [bare(), full(), bare(), full()].concat();
    for attachments in [bare(), full(), [full(), bare()].concat(), [bare(), full()].concat(), four] {
        let post = w.post_with(ada, |post| post.attachments.clone_from(&attachments)).await;
        assert_eq!(stored(&db, &post).await.attachments, attachments);
    }
}

pub async fn each_image_of_a_post_is_referenced_and_recorded_when_released(db: Repositories) {
    let w = World::new(&db);
    let [ada] = w.users().await;
    let four: Vec<Attachment> = [(); 4].map(|()| described(w.new_image())).into();
    let post = w.post_with(ada, |post| post.attachments.clone_from(&four)).await;
    let named = async || {
        let named = db.image_references.referenced_of(&keys(&four).into_iter().collect::<Vec<_>>()).await.unwrap();
        let mut folders = HashSet::new();
        for key in keys(&four) {
            let folder = u8::from_str_radix(&key.as_str()[..2], 16).unwrap();
            folders.extend(db.image_references.referenced_in(folder).await.unwrap());
        }
        folders.retain(|(key, _)| keys(&four).contains(key));
        let owners: HashSet<UserId> = folders.iter().map(|(_, owner)| *owner).collect();
        assert!(owners.is_subset(&[ada].into()));
        let named: HashSet<ImageKey> = named.into_iter().collect();
        assert_eq!(folders.into_iter().map(|(key, _)| key).collect::<HashSet<_>>(), named);
        named
    };
    assert_eq!(named().await, keys(&four));
    // Reorders the images and removes one.
    let three = [four[2].clone(), four[0].clone(), four[3].clone()];
    let edited = db.posts.edit(post.id, ANYBODY, &set(&three), w.now()).await.unwrap();
    assert_eq!(edited.replaced_images, [four[1].key.clone()]);
    assert_eq!((stored(&db, &post).await.attachments, named().await), (three.to_vec(), keys(&three)));
    assert_eq!(w.mark_recorded_images().await, [four[1].key.clone()].into());
    // Adds an image, hides the post with copies of the images, and deletes it.
    let more = described(w.image().await);
    let two = [four[3].clone(), more];
    db.posts.edit(post.id, ANYBODY, &set(&two), w.now()).await.unwrap();
    let copies = [described(w.image().await), described(w.image().await)];
    let hiding = PostHiding { hidden: true, before: two.to_vec(), after: copies.to_vec() };
    assert!(db.posts.set_hidden(post.id, &hiding, &w.entry()).await.unwrap());
    assert_eq!((stored(&db, &post).await.attachments, named().await), (copies.to_vec(), HashSet::new()));
    assert_eq!(db.posts.delete(post.id, w.now()).await.unwrap().attachments, copies);
    let given_up = [keys(&four), keys(&two), keys(&copies)].into_iter().flatten().collect();
    assert_eq!(w.mark_recorded_images().await, given_up);
}

pub async fn a_post_with_an_unrecorded_image_is_refused_entirely(db: Repositories) {
    let w = World::new(&db);
    let [ada] = w.users().await;
    let post = w.post(ada).await;
    let known = [described(w.image().await), described(w.image().await)];
    for images in [
        [known[0].clone(), described(w.new_image()), known[1].clone()],
        [described(w.new_image()), known[0].clone(), known[1].clone()],
    ] {
        let refused = |error: Error| match error {
            Error::Unavailable(cause) => assert!(cause.is::<ImageCollected>(), "{cause}"),
            other => panic!("{other:?}"),
        };
        let new = Post { attachments: images.to_vec(), ..w.new_post(ada) };
        refused(db.posts.create(&new, &[], None).await.unwrap_err());
        assert_eq!(db.posts.find(new.id, ANYBODY).await.unwrap(), None);
        refused(db.posts.edit(post.id, ANYBODY, &set(&images), w.now()).await.unwrap_err());
        assert_eq!(stored(&db, &post).await, post);
    }
    assert_eq!(w.mark_recorded_images().await, keys(&known));
}

pub async fn an_upload_is_found_by_its_owner_until_used_or_marked(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let uploads = [described(w.new_image()), described(w.new_image()), described(w.new_image())];
    for (n, upload) in (0..).zip(&uploads) {
        db.images.announce_upload(ada, upload, at(n)).await.unwrap();
    }
    let none_of_them = described(w.image().await);
    let ids: Vec<_> = uploads.iter().chain([&none_of_them]).map(Attachment::id).collect();
    let found = async |owner| {
        let mut found = db.images.find_uploads(owner, &ids).await.unwrap();
        found.sort_by_key(|found| ids.iter().position(|id| *id == found.id()));
        found
    };
    assert_eq!(found(ada).await, uploads);
    assert_eq!(db.images.find_uploads(ada, &ids[1..2]).await.unwrap(), uploads[1..2]);
    assert_eq!(found(bob).await, []);
    let post = Post { text: post_text("with an image"), attachments: uploads[1..2].to_vec(), ..w.new_post(ada) };
    db.posts.create(&post, &[], None).await.unwrap();
    assert_eq!(found(ada).await, [uploads[0].clone(), uploads[2].clone()]);
    assert_eq!(db.images.mark_for_deletion(at(1), w.now(), 10).await.unwrap(), [uploads[0].key.clone()]);
    assert_eq!(found(ada).await, uploads[2..]);
    // An image that a post has released is no upload any more.
    db.posts.delete(post.id, w.now()).await.unwrap();
    assert_eq!(found(ada).await, uploads[2..]);
}

pub async fn concurrent_posts_with_one_upload_succeed_once(db: Repositories) {
    let w = World::new(&db);
    let [ada] = w.users().await;
    let upload = described(w.new_image());
    db.images.announce_upload(ada, &upload, w.now()).await.unwrap();
    let outcomes = concurrently((0..20).map(|_| {
        let db = db.clone();
        let post = Post { attachments: vec![upload.clone()], ..w.new_post(ada) };
        async move { db.posts.create(&post, &[], None).await.is_ok() }
    }))
    .await;
    assert_eq!(outcomes.into_iter().filter(|has_it| *has_it).count(), 1);
    assert_eq!(w.mark_recorded_images().await, HashSet::new());
}

pub async fn previews_are_added_newest_first_without_a_new_version_of_the_post(db: Repositories) {
    let w = World::new(&db);
    let [ada] = w.users().await;
    assert_eq!(db.previews.next(None).await.unwrap(), None);
    w.post(ada).await;
    w.post_with(ada, |post| post.attachments = vec![described(w.new_image())]).await;
    let mut posts = Vec::new();
    for _ in 0..3 {
        posts.push(w.post_with(ada, |post| post.attachments = attached(Some(w.new_image()))).await);
    }
    let key = |post: &Post| post.attachments[0].key.clone();
    let next = async |before: Option<&Post>| db.previews.next(before.map(|post| post.id)).await.unwrap();
    for n in [2, 1, 0] {
        // Continues after the post that is passed over.
        assert_eq!(next(posts.get(n + 1)).await, Some((posts[n].id, key(&posts[n]))));
    }
    assert_eq!(next(Some(&posts[0])).await, None);
    let preview = described(w.new_image()).preview;
    for (post, preview) in posts[1..].iter().rev().zip([preview.clone(), None]) {
        assert_eq!(next(None).await, Some((post.id, key(post))));
        for _ in 0..2 {
            // Twice, as another node may have stored it already.
            db.previews.store(post.id, &key(post), preview.clone(), w.now()).await.unwrap();
        }
        let attachments = vec![Attachment { preview, ..Attachment::bare(key(post)) }];
        assert_eq!(stored(&db, post).await, Post { attachments, ..post.clone() });
    }
    assert_eq!(next(None).await, Some((posts[0].id, key(&posts[0]))));
    assert_eq!(w.mark_recorded_images().await, HashSet::new());
}

pub async fn a_late_preview_records_the_image_if_no_row_references_it(db: Repositories) {
    let w = World::new(&db);
    let [ada] = w.users().await;
    let preview = described(w.new_image()).preview;
    let late = async |post: &Post, key: &ImageKey| {
        db.previews.store(post.id, key, preview.clone(), w.now()).await.unwrap();
    };
    let [moved, replaced, deleted] = [(); 3].map(|()| Attachment::bare(w.new_image()));
    let mut posts = Vec::new();
    for image in [&moved, &replaced, &deleted] {
        posts.push(w.post_with(ada, |post| post.attachments = vec![image.clone()]).await);
    }
    let first = described(w.image().await);
    db.posts.edit(posts[0].id, ANYBODY, &set(&[first.clone(), moved.clone()]), w.now()).await.unwrap();
    db.posts.edit(posts[1].id, ANYBODY, &set(&[described(w.image().await)]), w.now()).await.unwrap();
    db.posts.delete(posts[2].id, w.now()).await.unwrap();
    // Their images were collected meanwhile.
    db.images.forget(&[replaced.key.clone(), deleted.key.clone()]).await.unwrap();
    for (post, image) in posts.iter().zip([&moved, &replaced, &deleted]) {
        late(post, &image.key).await;
    }
    assert_eq!(stored(&db, &posts[0]).await.attachments, [first, moved], "it is still referenced");
    assert_eq!(w.mark_recorded_images().await, keys(&[replaced, deleted]));
}

pub async fn thumbnails_of_pictures_are_added_newest_user_first(db: Repositories) {
    let w = World::new(&db);
    let bare = |account: &mut Account| {
        account.profile_picture = Some(ProfilePicture { key: w.new_image(), small: Rendition::Original });
    };
    w.account("Without").await;
    let accounts = [w.account_with("Ada", bare).await, w.account_with("Bob", bare).await];
    w.account_with("Cleo", |account| account.profile_picture = Some(w.new_picture())).await;
    let keys = accounts.each_ref().map(|account| picture_key(account).unwrap());
    let next = async |before: Option<&Account>| db.previews.next_picture(before.map(|it| it.id)).await.unwrap();
    let [ada, bob] = &accounts;
    assert_eq!(next(None).await, Some((bob.id, keys[1].clone())));
    assert_eq!(next(Some(bob)).await, Some((ada.id, keys[0].clone())));
    assert_eq!(next(Some(ada)).await, None);

    for (account, key, small) in [(bob, &keys[1], Rendition::Thumbnail), (ada, &keys[0], Rendition::Original)] {
        db.previews.store_small(account.id, key, small, w.now()).await.unwrap();
        let profile_picture = Some(ProfilePicture { key: key.clone(), small });
        let expected = Account { profile_picture, ..account.clone() };
        assert_eq!(db.accounts.find(account.id).await.unwrap(), Some(expected));
    }
    assert_eq!(next(None).await, None, "no picture is pending, not even one without a thumbnail");

    // Other changes of a profile do not affect the thumbnail.
    let words = ProfileChanges { biography: Some(biography("Counts")), ..ProfileChanges::default() };
    for account in &accounts {
        db.accounts.update_profile(account.id, &words, w.now()).await.unwrap();
    }
    assert_eq!(next(None).await, None);
    assert_eq!(w.mark_recorded_images().await, HashSet::new());
}

pub async fn a_late_thumbnail_records_the_picture_if_no_row_references_it(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account_with("Ada", |account| account.profile_picture = Some(w.new_picture())).await;
    let old = picture_key(&ada).unwrap();
    let new = ProfilePicture::new(w.image().await);
    let changes = ProfileChanges { profile_picture: Some(Some(new.clone())), ..ProfileChanges::default() };
    db.accounts.update_profile(ada.id, &changes, w.now()).await.unwrap();
    db.images.forget(std::slice::from_ref(&old)).await.unwrap();
    db.previews.store_small(ada.id, &old, Rendition::Thumbnail, w.now()).await.unwrap();
    assert_eq!(db.accounts.find(ada.id).await.unwrap().unwrap().profile_picture, Some(new));
    assert_eq!(w.mark_recorded_images().await, HashSet::from([old]));
}
