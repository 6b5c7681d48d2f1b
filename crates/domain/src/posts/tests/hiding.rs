//! Posts that administrators hide.

use super::*;
use crate::accounts::Admin;
use crate::audit::{Action, Actor, AuditEntry, Hiding, Reason, Target};
use crate::error::Forbidden;
use crate::idempotency::Attempt;
use crate::media::OpenImage;
use futures_util::StreamExt;
use futures_util::stream;

fn admin() -> Admin {
    caller(OTHER, ADMIN).admin().unwrap()
}

fn hiding(hidden: bool) -> Hiding {
    Hiding { hidden, reason: Reason::parse(" Rude ").unwrap() }
}

fn hidden_access(standing: Standing) -> PostAccess {
    PostAccess { id: POST, author: AUTHOR, visibility: Visibility::Public, is_hidden: true, standing }
}

fn is_entry(entry: &AuditEntry, action: Action) -> bool {
    let (actor, target, details) = (Actor::Account(OTHER), Target::Post(POST), Some("Rude".to_owned()));
    *entry == AuditEntry { id: POST.uuid().into(), at: NOW, actor, action, target, details }
}

#[test]
fn a_hidden_post_exists_only_for_its_author_and_administrators() {
    for (viewer, is_there, is_author) in [
        (author(), true, true),
        (member(OTHER, Roles::ADMIN_AND_USER), true, false),
        (member(OTHER, Roles::USER), false, false),
    ] {
        for standing in [Standing::Stranger, Standing::Follower, Standing::Blocked] {
            let access = hidden_access(standing);
            for outcome in [access.ensure_there(&viewer), access.ensure_may_view(&viewer), access.ensure_shown(&viewer)]
            {
                match outcome {
                    Ok(()) => assert!(is_there),
                    Err(Error::NotFound(Resource::Post)) => assert!(!is_there),
                    Err(other) => panic!("{other:?}"),
                }
            }
            let (may_edit, may_delete) = (access.ensure_may_edit(&viewer), access.ensure_author(&viewer));
            let expected = match (is_there, is_author) {
                (true, true) => Forbidden::Hidden,
                (true, false) => Forbidden::NotPostAuthor,
                (false, _) => {
                    assert!(matches!(may_edit, Err(Error::NotFound(Resource::Post))));
                    assert!(matches!(may_delete, Err(Error::NotFound(Resource::Post))));
                    continue;
                }
            };
            assert!(matches!(may_edit, Err(Error::Forbidden(reason)) if reason == expected));
            assert_eq!(may_delete.is_ok(), is_author);
        }
    }
}

#[test]
fn a_hidden_post_shows_no_image_and_rejects_edits() {
    let shown = post("hello", Some(old_image()));
    assert_eq!(shown.shown_attachments(), [Attachment::bare(old_image())]);
    let hidden = Post { is_hidden: true, ..shown };
    assert_eq!(hidden.shown_attachments(), []);
    let edited = hidden.apply(&PostEdit::default(), NOW);
    assert!(matches!(edited, Err(Error::Forbidden(Forbidden::Hidden))));
}

#[tokio::test]
async fn others_can_neither_like_a_hidden_post_nor_take_back_a_like() {
    for standing in [Standing::Stranger, Standing::Follower, Standing::Blocked] {
        let mut ports = Ports::default();
        ports.posts.expect_find_access().returning(move |_, _| Ok(Some(hidden_access(standing))));
        let (posts, viewer) = (ports.build(), member(OTHER, Roles::USER));
        for outcome in [
            posts.toggle_like(&viewer, POST, Attempt::Unnamed).await.map(drop),
            posts.like(&viewer, POST).await,
            posts.unlike(&viewer, POST).await,
        ] {
            assert!(matches!(outcome, Err(Error::NotFound(Resource::Post))));
        }
    }
}

/// Returns ports with a post that is hidden or not.
fn with_post(image: Option<ImageKey>, is_hidden: bool) -> Ports {
    let mut ports = Ports::default();
    let visibility = Visibility::Public;
    let access = PostAccess { id: POST, author: AUTHOR, visibility, is_hidden, standing: Standing::Stranger };
    ports.posts.expect_find_access().returning(move |_, _| Ok(Some(access)));
    let view = view(Post { is_hidden, ..post("hello", image) });
    ports
        .posts
        .expect_find()
        .returning(move |_, _| Ok(Some(FoundPost { view: view.clone(), standing: Standing::Stranger })));
    ports
}

/// Expects both files of the image to be copied to another key, this number of times.
fn expect_image_copied(ports: &mut Ports, times: usize) {
    for (rendition, parts) in [(Rendition::Original, [&b"cl"[..], b"ean"]), (Rendition::Thumbnail, [b"sm", b"all"])] {
        ports
            .images
            .expect_open()
            .times(times)
            .withf(move |key, of, range| (key, *of) == (&old_image(), rendition) && range.is_none())
            .returning(move |_, _, _| {
                let bytes = parts.map(|part| Ok(Bytes::from_static(part)));
                Ok(Some(OpenImage { size: 5, range: Some(0..5), bytes: stream::iter(bytes).boxed() }))
            });
        ports
            .images
            .expect_put()
            .times(times)
            .withf(move |key, of, bytes| (key, *of) == (&new_image(), rendition) && *bytes == parts.concat())
            .returning(|_, _, _| Ok(()));
    }
    ports
        .images
        .expect_new_key()
        .times(times)
        .withf(|format| *format == ImageFormat::Png)
        .returning(|_| Ok(new_image()));
    ports.unreferenced.expect_announce().times(times).withf(|key, _| *key == new_image()).returning(|_, _| Ok(()));
}

fn bare(key: fn() -> ImageKey) -> Vec<Attachment> {
    vec![Attachment::bare(key())]
}

async fn set_hidden(ports: Ports, hidden: bool) -> Result<usize> {
    let posts = ports.build();
    let managed = posts.managed(&admin(), POST).await.unwrap();
    posts.set_hidden(managed, &hiding(hidden)).await
}

#[tokio::test]
async fn a_post_is_hidden_with_a_copy_of_its_image_whose_original_is_deleted() {
    for (has_changed, dropped) in [(true, old_image as fn() -> ImageKey), (false, new_image)] {
        let mut ports = with_post(Some(old_image()), false);
        expect_image_copied(&mut ports, 1);
        ports
            .posts
            .expect_set_hidden()
            .once()
            .withf(|id, change, entry| {
                let expected = PostHiding { hidden: true, before: bare(old_image), after: bare(new_image) };
                *id == POST && *change == expected && is_entry(entry, Action::PostHidden)
            })
            .returning(move |_, _, _| Ok(has_changed));
        ports.expect_image_deleted(dropped, 1);
        set_hidden(ports, true).await.unwrap();
    }
}

#[tokio::test]
async fn a_post_is_hidden_while_its_image_cannot_be_copied() {
    let mut ports = with_post(Some(old_image()), false);
    ports.images.expect_open().once().returning(|_, _, _| Err(Error::unavailable("no answer")));
    ports
        .posts
        .expect_set_hidden()
        .once()
        .withf(|_, change, entry| {
            let expected = PostHiding { hidden: true, before: bare(old_image), after: bare(old_image) };
            *change == expected && is_entry(entry, Action::PostHidden)
        })
        .returning(|_, _, _| Ok(true));
    assert_eq!(set_hidden(ports, true).await.unwrap(), 1);
}

#[tokio::test]
async fn an_image_that_cannot_be_put_on_record_leaves_its_post_shown() {
    let mut ports = with_post(Some(old_image()), false);
    let stored = || OpenImage { size: 0, range: Some(0..0), bytes: stream::empty().boxed() };
    ports.images.expect_open().returning(move |_, _, _| Ok(Some(stored())));
    ports.images.expect_new_key().returning(|_| Ok(new_image()));
    ports.unreferenced.expect_announce().once().returning(|_, _| Err(Error::unavailable("no connection")));
    assert!(matches!(set_hidden(ports, true).await, Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn a_post_is_shown_again_with_the_image_that_it_has() {
    let mut ports = with_post(Some(old_image()), true);
    ports
        .posts
        .expect_set_hidden()
        .once()
        .withf(|_, change, entry| {
            let expected = PostHiding { hidden: false, before: bare(old_image), after: bare(old_image) };
            *change == expected && is_entry(entry, Action::PostShown)
        })
        .returning(|_, _, _| Ok(true));
    set_hidden(ports, false).await.unwrap();
}

#[tokio::test]
async fn hiding_is_idempotent_and_a_missing_post_is_not_found() {
    for hidden in [true, false] {
        set_hidden(with_post(Some(old_image()), hidden), hidden).await.unwrap();
    }
    let mut ports = Ports::default();
    ports.posts.expect_find_access().returning(|_, _| Ok(None));
    assert!(matches!(ports.build().managed(&admin(), POST).await, Err(Error::NotFound(Resource::Post))));
}

#[tokio::test]
async fn a_post_whose_image_changes_meanwhile_is_hidden_in_the_next_attempt() {
    let mut ports = with_post(Some(old_image()), false);
    expect_image_copied(&mut ports, 2);
    let mut order = Sequence::new();
    ports.posts.expect_set_hidden().once().in_sequence(&mut order).returning(|_, _, _| Err(Error::Stale));
    ports.posts.expect_set_hidden().once().in_sequence(&mut order).returning(|_, _, _| Ok(true));
    ports.expect_image_deleted(new_image, 1);
    ports.expect_image_deleted(old_image, 1);
    set_hidden(ports, true).await.unwrap();
}

#[tokio::test]
async fn hiding_gives_up_after_a_number_of_attempts() {
    let mut ports = with_post(None, false);
    ports.posts.expect_set_hidden().times(3).returning(|_, _, _| Err(Error::Stale));
    assert!(matches!(set_hidden(ports, true).await, Err(Error::Stale)));
}
