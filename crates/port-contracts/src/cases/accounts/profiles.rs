//! Changes of profiles and passwords.

use std::collections::HashSet;

use agora_domain::Error;
use agora_domain::accounts::{
    Account, PasswordChange, PasswordHash, Privacy, PrivacyChanges, ProfileChanges, ProfilePicture, UpdatedProfile,
};
use agora_domain::error::Resource;

use crate::Repositories;
use crate::run::{assert_fails, concurrently};
use crate::world::{World, biography, display_name, picture_key};

pub async fn a_profile_update_keeps_replaces_or_removes_the_biography(db: Repositories) {
    let w = World::new(&db);
    let mut expected = w.account_with("Ada", |account| account.profile_picture = Some(w.new_picture())).await;
    let other = w.account("Bob").await;
    let steps = [Some(biography("Counts")), None, Some(biography("Writes 'n' \"quotes\" 👍")), Some(None), Some(None)];
    for step in steps {
        if let Some(biography) = &step {
            expected.biography.clone_from(biography);
        }
        let changes = ProfileChanges { biography: step, ..ProfileChanges::default() };
        let updated = db.accounts.update_profile(expected.id, &changes, w.now()).await.unwrap();
        assert_eq!(updated, UpdatedProfile { account: expected.clone(), replaced_picture: None });
        assert_eq!(db.accounts.find(expected.id).await.unwrap().as_ref(), Some(&expected));
    }
    assert_eq!(db.accounts.find(other.id).await.unwrap(), Some(other));
}

pub async fn a_profile_update_returns_the_replaced_picture(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account_with("Ada", |account| account.biography = biography("Counts")).await;
    let (first, second) = (w.image().await, w.image().await);
    let steps = [
        (Some(Some(&first)), Some(&first), None),
        (None, Some(&first), None),
        (Some(Some(&first)), Some(&first), None),
        (Some(Some(&second)), Some(&second), Some(&first)),
        (Some(None), None, Some(&second)),
        (Some(None), None, None),
    ];
    for (given, named, replaced) in steps {
        let profile_picture = given.map(|picture| picture.cloned().map(ProfilePicture::new));
        let changes = ProfileChanges { profile_picture, ..ProfileChanges::default() };
        let expected = Account { profile_picture: named.cloned().map(ProfilePicture::new), ..ada.clone() };
        let updated = db.accounts.update_profile(ada.id, &changes, w.now()).await.unwrap();
        assert_eq!(updated, UpdatedProfile { account: expected.clone(), replaced_picture: replaced.cloned() });
        assert_eq!(db.accounts.find(ada.id).await.unwrap(), Some(expected));
    }
}

pub async fn a_profile_update_changes_several_fields_together(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account_with("Ada", |account| account.profile_picture = Some(w.new_picture())).await;
    let (display_name, biography, picture) =
        (display_name("Ada L."), biography("Counts"), ProfilePicture::new(w.image().await));
    let changes = ProfileChanges {
        display_name: Some(display_name.clone()),
        biography: Some(biography.clone()),
        privacy: PrivacyChanges { discoverable: Some(false), searchable: Some(false), hide_counts: Some(true) },
        profile_picture: Some(Some(picture.clone())),
    };
    let updated = db.accounts.update_profile(ada.id, &changes, w.now()).await.unwrap();
    assert_eq!(updated.replaced_picture, picture_key(&ada));
    let privacy = Privacy { discoverable: false, searchable: false, hide_counts: true };
    let expected = Account { display_name, biography, privacy, profile_picture: Some(picture), ..ada };
    assert_eq!(updated.account, expected);
    assert_eq!(db.accounts.find(expected.id).await.unwrap(), Some(expected));
}

pub async fn display_name_and_privacy_settings_are_updated(db: Repositories) {
    let w = World::new(&db);
    let (mut ada, bob) = (w.account("Ada").await, w.account("Bob").await);
    let names = [Some(display_name("Ada 'A' 👩\u{200d}💻")), None, Some(None), Some(display_name("x"))];
    for (n, name) in names.into_iter().enumerate() {
        if let Some(name) = &name {
            ada.display_name.clone_from(name);
        }
        let privacy = PrivacyChanges {
            discoverable: Some(n % 2 == 0),
            searchable: (n > 1).then_some(n % 2 == 1),
            hide_counts: (n == 2).then_some(true),
        };
        ada.privacy = ada.privacy.with(privacy);
        let changes = ProfileChanges { display_name: name, privacy, ..ProfileChanges::default() };
        assert_eq!(db.accounts.update_profile(ada.id, &changes, w.now()).await.unwrap().account, ada);
        assert_eq!(db.accounts.find(ada.id).await.unwrap().as_ref(), Some(&ada));
    }
    assert_eq!(db.accounts.find(bob.id).await.unwrap(), Some(bob));
}

pub async fn updating_an_unknown_profile_fails(db: Repositories) {
    let w = World::new(&db);
    let changes = [
        ProfileChanges::default(),
        ProfileChanges {
            biography: Some(biography("Nobody")),
            profile_picture: Some(Some(ProfilePicture::new(w.image().await))),
            ..ProfileChanges::default()
        },
    ];
    for changes in changes {
        assert_fails!(db.accounts.update_profile(w.id(), &changes, w.now()).await, Error::NotFound(Resource::User));
    }
}

pub async fn concurrent_picture_updates_return_each_replaced_picture_once(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    let pictures = w.images(20).await;
    let outcomes = concurrently(pictures.iter().cloned().map(|picture| {
        let (db, now) = (db.clone(), w.now());
        let changes =
            ProfileChanges { profile_picture: Some(Some(ProfilePicture::new(picture))), ..ProfileChanges::default() };
        async move { db.accounts.update_profile(ada, &changes, now).await }
    }))
    .await;
    let replaced: Vec<_> = outcomes.into_iter().filter_map(|outcome| outcome.unwrap().replaced_picture).collect();
    let last = picture_key(&db.accounts.find(ada).await.unwrap().unwrap()).unwrap();
    assert_eq!(replaced.len(), pictures.len() - 1);
    assert_eq!(w.mark_recorded_images().await, replaced.iter().cloned().collect());
    let all: HashSet<_> = replaced.into_iter().chain([last]).collect();
    assert_eq!(all, pictures.into_iter().collect());
}

pub async fn rehashing_replaces_only_the_verified_hash_and_revokes_no_session(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob) = (w.account("Ada").await.id, w.account("Bob").await.id);
    let his_password = db.accounts.find_password(bob).await.unwrap();
    let session = w.session(ada).await.id;
    let verified = db.accounts.find_password(ada).await.unwrap().unwrap();
    let [renewed, changed, late] = ["$renewed", "$changed", "$late"].map(|hash| PasswordHash::new(hash.to_owned()));
    db.accounts.renew_password_hash(ada, &verified, &renewed).await.unwrap();
    assert_eq!(db.accounts.find_password(ada).await.unwrap().as_ref(), Some(&renewed));
    assert!(!db.sessions.find(session).await.unwrap().unwrap().revoked);

    let (verified, new) = (renewed.clone(), changed.clone());
    let change = PasswordChange { user: ada, verified, new, keep: None, at: w.now(), entry: None };
    assert!(db.accounts.change_password(&change).await.unwrap());
    db.accounts.renew_password_hash(ada, &renewed, &late).await.unwrap();
    assert_eq!(db.accounts.find_password(ada).await.unwrap(), Some(changed));
    db.accounts.renew_password_hash(w.id(), &renewed, &late).await.unwrap();
    assert_eq!(db.accounts.find_password(bob).await.unwrap(), his_password);
}

pub async fn changing_the_password_revokes_every_session_except_the_kept_one(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob) = (w.account("Ada").await.id, w.account("Bob").await.id);
    let his_password = db.accounts.find_password(bob).await.unwrap();
    let (kept, one, other) = (w.session(ada).await.id, w.session(ada).await.id, w.session(ada).await.id);
    let his = w.session(bob).await.id;
    for (keep, revoked) in [(Some(kept), [false, true, true, false]), (None, [true, true, true, false])] {
        for id in [kept, one, other, his] {
            // Read first, so that a caching adapter has all of them in its cache.
            db.sessions.find(id).await.unwrap();
        }
        let verified = db.accounts.find_password(ada).await.unwrap().unwrap();
        let password = PasswordHash::new(format!("$new${keep:?}"));
        let change = PasswordChange { user: ada, verified, new: password.clone(), keep, at: w.now(), entry: None };
        assert!(db.accounts.change_password(&change).await.unwrap());
        db.sessions.invalidate_account(ada);
        assert_eq!(db.accounts.find_password(ada).await.unwrap(), Some(password));
        for (id, revoked) in [kept, one, other, his].into_iter().zip(revoked) {
            assert_eq!(db.sessions.find(id).await.unwrap().unwrap().revoked, revoked);
        }
    }
    assert_eq!(db.accounts.find_password(bob).await.unwrap(), his_password);
    let again = w.session(ada).await.id;
    assert!(!db.sessions.find(again).await.unwrap().unwrap().revoked);
}
