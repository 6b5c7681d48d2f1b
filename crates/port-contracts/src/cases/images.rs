//! Which images are named by a row.

use std::collections::HashSet;

use agora_domain::{
    accounts::ProfileChanges,
    media::{ImageFormat, ImageKey},
    posts::{ImageEdit, PostEdit},
};

use crate::{Repositories, world::World};

pub async fn of_no_keys_none_is_referenced(db: Repositories) {
    let w = World::new(&db);
    w.account_with("Ada", |account| account.profile_picture = Some(w.image())).await;
    assert_eq!(db.images.referenced(&[]).await.unwrap(), HashSet::new());
}

pub async fn the_images_that_posts_and_profiles_name_are_referenced_among_many(db: Repositories) {
    let w = World::new(&db);
    let keys: Vec<ImageKey> = (0..1200).map(|_| w.image()).collect();
    let [of_posts, of_profiles] = [[0, 499, 500, 1199], [1, 501, 700, 1198]];
    let author = w.account("Author").await.id;
    for n in of_posts {
        w.post_with(author, |post| post.image = Some(keys[n].clone())).await;
    }
    for n in of_profiles {
        w.account_with(&format!("user {n}"), |account| account.profile_picture = Some(keys[n].clone())).await;
    }
    // Named as well, but not asked for.
    w.post_with(author, |post| post.image = Some(w.image())).await;
    let expected = of_posts.into_iter().chain(of_profiles).map(|n| keys[n].clone()).collect();
    assert_eq!(db.images.referenced(&keys).await.unwrap(), expected);
    for (n, key) in keys.iter().enumerate().take(3) {
        let referenced = db.images.referenced(std::slice::from_ref(key)).await.unwrap();
        assert_eq!(referenced.contains(key), n < 2);
    }
}

pub async fn an_image_named_by_a_post_and_a_profile_is_referenced_once(db: Repositories) {
    let w = World::new(&db);
    let key = w.image();
    let author = w.account_with("Ada", |account| account.profile_picture = Some(key.clone())).await.id;
    w.post_with(author, |post| post.image = Some(key.clone())).await;
    assert_eq!(db.images.referenced(&[key.clone(), key.clone()]).await.unwrap(), HashSet::from([key]));
}

pub async fn a_key_of_another_format_is_another_image(db: Repositories) {
    let w = World::new(&db);
    let [png, webp] = [ImageFormat::Png, ImageFormat::WebP].map(|format| ImageKey::new([7; 16], format));
    w.account_with("Ada", |account| account.profile_picture = Some(png.clone())).await;
    assert_eq!(db.images.referenced(&[webp, png.clone()]).await.unwrap(), HashSet::from([png]));
}

pub async fn an_image_given_up_is_no_longer_referenced(db: Repositories) {
    let w = World::new(&db);
    let [replaced, removed, deleted, picture, new] = [(); 5].map(|()| w.image());
    let ada = w.account_with("Ada", |account| account.profile_picture = Some(picture.clone())).await.id;
    let mut posts = Vec::new();
    for key in [&replaced, &removed, &deleted] {
        posts.push(w.post_with(ada, |post| post.image = Some(key.clone())).await.id);
    }
    let all = [replaced, removed, deleted, picture, new.clone()];
    assert_eq!(db.images.referenced(&all).await.unwrap().len(), 4);
    for (post, image) in posts.iter().zip([ImageEdit::Replace(new.clone()), ImageEdit::Remove]) {
        let edit = PostEdit { image, ..PostEdit::default() };
        db.posts.edit(*post, &edit, w.now()).await.unwrap().unwrap();
    }
    db.posts.delete(posts[2]).await.unwrap().unwrap();
    let changes = ProfileChanges { biography: None, profile_picture: Some(w.image()) };
    db.accounts.update_profile(ada, &changes).await.unwrap().unwrap();
    assert_eq!(db.images.referenced(&all).await.unwrap(), HashSet::from([new]));
}
