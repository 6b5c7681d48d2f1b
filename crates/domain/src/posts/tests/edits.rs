//! Editing and deleting posts.

use super::*;
use crate::media::ImageProblem;
use crate::version::Versions;

/// The post after an edit: its text, its image and the image it no longer has; `None` if the edit is rejected.
type Outcome = Option<(&'static str, Option<ImageKey>, Option<ImageKey>)>;

/// A post's text and image, the change of the image, the new text, and the outcome.
type Row = ((&'static str, Option<ImageKey>), AttachmentsEdit, Option<&'static str>, Outcome);

#[test]
fn an_edit_keeps_replaces_and_removes_text_and_image() {
    use AttachmentsEdit::{Keep, Set};
    let bare = |key| AttachmentsEdit::replace(Attachment::bare(key));
    let (old, new) = (|| Some(old_image()), || Some(new_image()));
    let (replace, remove) = (|| bare(new_image()), || Set(MediaIds::default(), Vec::new()));
    let table: [Row; 24] = [
        (("old", None), Keep, None, Some(("old", None, None))),
        (("old", None), Keep, Some("new"), Some(("new", None, None))),
        (("old", None), Keep, Some(" "), None),
        (("old", None), remove(), None, Some(("old", None, None))),
        (("old", None), remove(), Some("new"), Some(("new", None, None))),
        (("old", None), remove(), Some(""), None),
        (("old", None), replace(), None, Some(("old", new(), None))),
        (("old", None), replace(), Some("new"), Some(("new", new(), None))),
        (("old", None), replace(), Some(""), Some(("", new(), None))),
        (("old", old()), Keep, None, Some(("old", old(), None))),
        (("old", old()), Keep, Some("new"), Some(("new", old(), None))),
        (("old", old()), Keep, Some(" "), Some(("", old(), None))),
        (("old", old()), remove(), None, Some(("old", None, old()))),
        (("old", old()), remove(), Some("new"), Some(("new", None, old()))),
        (("old", old()), remove(), Some(""), None),
        (("old", old()), replace(), None, Some(("old", new(), old()))),
        (("old", old()), replace(), Some("new"), Some(("new", new(), old()))),
        (("old", old()), replace(), Some(""), Some(("", new(), old()))),
        (("", old()), Keep, None, Some(("", old(), None))),
        (("", old()), Keep, Some("new"), Some(("new", old(), None))),
        (("", old()), remove(), None, None),
        (("", old()), remove(), Some("new"), Some(("new", None, old()))),
        (("", old()), replace(), None, Some(("", new(), old()))),
        (("", new()), replace(), None, Some(("", new(), None))),
    ];
    for ((content, image), image_edit, given, expected) in table {
        let before = post(content, image);
        let edit =
            PostEdit { text: given.map(text), entities: entities(""), attachments: image_edit, ..PostEdit::default() };
        let case = format!("{before:?}, {edit:?}");
        match (before.clone().apply(&edit, NOW), expected) {
            (Ok((after, replaced)), Some((content, image, no_longer_named))) => {
                let attachments: Vec<Attachment> = image.map(Attachment::bare).into_iter().collect();
                let is_changed = content != before.text.as_str() || attachments != before.attachments;
                let updated_at = if is_changed { NOW } else { BEFORE };
                assert_eq!(after, Post { text: text(content), attachments, updated_at, ..before }, "{case}");
                assert!(replaced.iter().eq(&no_longer_named), "{case}");
            }
            (Err(Error::Invalid(errors)), None) => {
                assert_eq!(listed(&errors), [(FieldName::Text, "Text or an image is required".to_owned())], "{case}");
            }
            (other, _) => panic!("{case}: {other:?}"),
        }
    }
}

#[test]
fn an_edit_that_changes_nothing_leaves_the_time_of_the_last_change() {
    for edit in [
        PostEdit::default(),
        PostEdit { text: Some(text("old")), ..PostEdit::default() },
        PostEdit { visibility: Some(Visibility::Public), ..PostEdit::default() },
        PostEdit { attachments: AttachmentsEdit::replace(Attachment::bare(old_image())), ..PostEdit::default() },
    ] {
        let before = post("old", Some(old_image()));
        assert_eq!(before.clone().apply(&edit, NOW).unwrap(), (before, Vec::new()), "{edit:?}");
    }
}

#[test]
fn an_edit_changes_the_visibility_alone() {
    let edit = PostEdit { visibility: Some(Visibility::Private), ..PostEdit::default() };
    let before = post("old", Some(old_image()));
    let after = Post { visibility: Visibility::Private, updated_at: NOW, ..before.clone() };
    assert_eq!(before.apply(&edit, NOW).unwrap(), (after, Vec::new()));
}

#[test]
fn entities_change_only_with_the_text() {
    let before = Post { entities: entities("0 4 #old"), ..post("#old", None) };
    let edit =
        |given: &str| PostEdit { text: Some(text(given)), entities: entities("0 4 #new"), ..PostEdit::default() };
    let (after, _) = before.clone().apply(&edit("#new"), NOW).unwrap();
    assert_eq!((after.text, after.entities, after.updated_at), (text("#new"), entities("0 4 #new"), NOW));
    // The entities stay even if the extraction would give others by now.
    assert_eq!(before.clone().apply(&edit("#old"), NOW).unwrap(), (before.clone(), Vec::new()));
    let hidden = PostEdit { visibility: Some(Visibility::Private), ..PostEdit::default() };
    assert_eq!(before.apply(&hidden, NOW).unwrap().0.entities, entities("0 4 #old"));
}

#[tokio::test]
async fn entities_of_a_new_text_are_extracted_and_mentions_looked_up() {
    for (given, looked_up, expected) in [
        (None, 0, None),
        (Some("new"), 0, entities("")),
        (Some("#New"), 0, entities("0 4 #new")),
        (Some("@Other"), 1, entities(&format!("0 6 @{OTHER}"))),
    ] {
        let mut ports = Ports::default();
        let known = |_: &[String], _: UserId| Ok([("other".to_owned(), OTHER)].into());
        ports
            .accounts
            .expect_find_ids()
            .times(looked_up)
            .withf(|keys, author| keys == ["other"] && *author == AUTHOR)
            .returning(known);
        ports.posts.expect_edit().once().withf(move |_, _, edit, _| edit.entities == expected).returning(
            |_, _, _, _| Ok(EditedPost { view: view(post("as stored", None)), replaced_images: Vec::new() }),
        );
        let (posts, own) = ports.owning().await;
        posts.update(own, &requester(), fields(given), Versions::Any).await.unwrap();
    }
}

#[tokio::test]
async fn the_author_alone_may_edit_and_delete() {
    for (who, caller, standing, allowed) in [
        ("author", author(), Standing::Stranger, true),
        ("author who is ADMIN", member(AUTHOR, ADMIN), Standing::Stranger, true),
        ("ADMIN", member(OTHER, Roles::ADMIN_AND_USER), Standing::Stranger, false),
        ("blocked ADMIN", member(OTHER, ADMIN), Standing::Blocked, false),
        ("follower", member(OTHER, Roles::USER), Standing::Follower, false),
        ("a blocked member", member(OTHER, Roles::USER), Standing::Blocked, false),
    ] {
        let mut ports = Ports::default();
        ports.find_access(caller.id(), Visibility::Private, standing);
        ports
            .posts
            .expect_delete()
            .times(usize::from(allowed))
            .withf(|id, at| (*id, *at) == (POST, NOW))
            .returning(|_, _| Ok(post("old", None)));
        let posts = ports.build();
        for result in [posts.own(&caller, POST).await.map(drop), posts.delete(&caller, POST).await] {
            match result {
                Ok(()) => assert!(allowed, "{who}"),
                Err(Error::NotFound(Resource::Post)) => assert_eq!(who, "a blocked member"),
                Err(error) => assert!(!allowed && matches!(error, Error::Forbidden(_)), "{who}: {error:?}"),
            }
        }
    }
}

#[test]
fn an_edit_of_another_version_is_stale_and_a_valid_edit_makes_a_later_version() {
    let stored = post("stored", None);
    let edit = |versions| PostEdit { text: Some(text("new")), versions, ..PostEdit::default() };
    let (one, other) = (stored.updated_at, stored.updated_at.plus_millis(1));
    let stale = stored.clone().apply(&edit(Versions::OneOf(vec![other])), NOW);
    assert!(matches!(stale, Err(Error::Stale)));
    let nothing = PostEdit { versions: Versions::OneOf(vec![other]), ..PostEdit::default() };
    assert!(matches!(stored.clone().apply(&nothing, NOW), Err(Error::Stale)), "though it changes nothing");
    let (edited, _) = stored.apply(&edit(Versions::OneOf(vec![other, one])), one).unwrap();
    assert_eq!(edited.updated_at, other, "at the instant of the version before");
}

#[tokio::test]
async fn fields_are_converted_to_an_edit() {
    let remove = |fields| PostFields { remove_image: true, ..fields };
    let visible = |visibility| PostFields { visibility: Some(visibility), ..PostFields::default() };
    let replace = || AttachmentsEdit::replace(attached());
    let worded = |given| PostEdit { text: Some(text(given)), entities: entities(""), ..PostEdit::default() };
    for (fields, expected) in [
        (fields(None), PostEdit::default()),
        (fields(Some(" new ")), worded("new")),
        (fields(Some(" ")), worded("")),
        (visible(Visibility::Followers), PostEdit { visibility: Some(Visibility::Followers), ..PostEdit::default() }),
        (remove(fields(None)), PostEdit { attachments: AttachmentsEdit::REMOVE, ..PostEdit::default() }),
        (with_upload(None), PostEdit { attachments: replace(), ..PostEdit::default() }),
        // The new image takes precedence over the removal.
        (remove(with_upload(Some("new"))), PostEdit { attachments: replace(), ..worded("new") }),
    ] {
        let mut ports = if fields.image.is_some() { Ports::storing_image() } else { Ports::default() };
        let wanted = expected.clone();
        ports
            .posts
            .expect_edit()
            .once()
            .withf(move |id, viewer, edit, at| (*id, viewer.id, *at) == (POST, AUTHOR, NOW) && *edit == wanted)
            .returning(|_, _, _, _| {
                Ok(EditedPost { view: view(post("as stored", None)), replaced_images: Vec::new() })
            });
        let (posts, own) = ports.owning().await;
        assert_eq!(
            posts.update(own, &requester(), fields, Versions::Any).await.unwrap(),
            view(post("as stored", None)),
            "{expected:?}"
        );
    }
}

#[tokio::test]
async fn every_invalid_field_of_an_edit_is_reported_at_once_and_nothing_stored() {
    let mut ports = Ports::default();
    ports.cleaner.expect_clean().returning(|_, _| Err(ImageProblem::Unacceptable("No image".to_owned())));
    let (posts, own) = ports.owning().await;
    let mut errors = FieldErrors::default();
    errors.add(FieldName::Text, Violation::new(ViolationKind::TooLong, "Text is too long"));
    let fields = PostFields { errors, ..with_upload(None) };
    assert_eq!(
        invalid_names(posts.update(own, &requester(), fields, Versions::Any).await),
        [FieldName::Text, FieldName::Image]
    );
}

#[tokio::test]
async fn a_new_image_is_stored_before_and_the_old_one_deleted_after_the_edit() {
    // An image that cannot be deleted is left to the sweep: the edit stands.
    for deletion_fails in [false, true] {
        let mut ports = Ports::default();
        let mut order = Sequence::new();
        ports.cleaner.expect_clean().once().in_sequence(&mut order).returning(|_, _| Ok(clean()));
        ports.expect_image_stored(&mut order);
        ports.posts.expect_edit().once().in_sequence(&mut order).returning(|_, _, _, _| {
            let view = view(post("old", Some(new_image())));
            Ok(EditedPost { view, replaced_images: vec![old_image()] })
        });
        ports
            .images
            .expect_delete()
            .once()
            .in_sequence(&mut order)
            .withf(|key| *key == old_image())
            .returning(move |_| if deletion_fails { Err(Error::unavailable("no answer")) } else { Ok(()) });
        ports
            .unreferenced
            .expect_forget()
            .times(usize::from(!deletion_fails))
            .in_sequence(&mut order)
            .withf(|keys| keys == [old_image()])
            .returning(|_| Ok(()));
        let (posts, own) = ports.owning().await;
        assert_eq!(
            posts.update(own, &requester(), with_upload(None), Versions::Any).await.unwrap().post.attachments,
            [Attachment::bare(new_image())]
        );
    }
}

#[tokio::test]
async fn a_new_image_is_deleted_only_after_a_definite_rejection_of_the_edit() {
    for (failure, deleted) in WRITE_FAILURES {
        let mut ports = Ports::storing_image();
        ports.posts.expect_edit().once().returning(move |_, _, _, _| Err(failure()));
        ports.expect_image_deleted(new_image, deleted);
        let (posts, own) = ports.owning().await;
        let error = posts.update(own, &requester(), with_upload(None), Versions::Any).await.unwrap_err();
        assert_eq!(error.to_string(), failure().to_string());
    }
}

#[tokio::test]
async fn a_post_deleted_meanwhile_is_not_found_and_the_new_image_is_deleted() {
    let mut ports = Ports::storing_image();
    ports.posts.expect_edit().once().returning(|_, _, _, _| Err(Error::NotFound(Resource::Post)));
    ports.posts.expect_delete().once().returning(|_, _| Err(Error::NotFound(Resource::Post)));
    ports.expect_image_deleted(new_image, 1);
    let (posts, own) = ports.owning().await;
    let edited = posts.update(own, &requester(), with_upload(None), Versions::Any).await;
    assert!(matches!(edited, Err(Error::NotFound(Resource::Post))));
    assert!(matches!(posts.delete(&author(), POST).await, Err(Error::NotFound(Resource::Post))));
}

#[tokio::test]
async fn the_image_is_deleted_after_its_post() {
    for image in [None, Some(old_image())] {
        let mut ports = Ports::default();
        let mut order = Sequence::new();
        let deleted = post("old", image.clone());
        ports.posts.expect_delete().once().in_sequence(&mut order).return_once(|_, _| Ok(deleted));
        ports
            .images
            .expect_delete()
            .times(usize::from(image.is_some()))
            .in_sequence(&mut order)
            .withf(|key| *key == old_image())
            .returning(|_| Ok(()));
        ports
            .unreferenced
            .expect_forget()
            .times(usize::from(image.is_some()))
            .in_sequence(&mut order)
            .withf(|keys| keys == [old_image()])
            .returning(|_| Ok(()));
        let (posts, _) = ports.owning().await;
        posts.delete(&author(), POST).await.unwrap();
    }
}

#[tokio::test]
async fn the_image_stays_if_its_post_cannot_be_deleted() {
    let mut ports = Ports::default();
    ports.posts.expect_delete().once().returning(|_, _| Err(Error::unavailable("no connection")));
    let (posts, _) = ports.owning().await;
    assert!(matches!(posts.delete(&author(), POST).await, Err(Error::Unavailable(_))));
}
