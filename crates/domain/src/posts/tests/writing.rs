//! Publishing posts.

use super::*;
use crate::idempotency::{Attempt, Outcome};
use crate::media::ImageProblem;
use crate::notices::{NotificationKind, Subject};

/// Returns ports that expect this post to be stored, with notices only to those whom it mentions.
fn publishing(stored: Post) -> Ports {
    let mentioned = stored.entities.as_ref().map(Entities::mentions).unwrap_or_default();
    let mut ports = Ports::default();
    ports
        .posts
        .expect_create()
        .once()
        .withf(move |post, notices, _| {
            let actual = notices.iter().map(|notice| (notice.recipient, notice.kind, notice.subject));
            let expected = mentioned.iter().map(|id| (*id, NotificationKind::Mention, Subject::Post(POST)));
            *post == stored && actual.eq(expected)
        })
        .returning(|post, _, _| Ok(view(post.clone())));
    ports
}

fn published(content: &str) -> Post {
    Post { created_at: NOW, updated_at: NOW, ..post(content, None) }
}

#[tokio::test]
async fn a_post_is_stored_trimmed_and_returned_as_its_author_sees_it() {
    let created = publishing(published("hello\n there"))
        .build()
        .create(&author(), &requester(), fields(Some("  hello\n there ")), Attempt::Unnamed)
        .await;
    assert_eq!(created.unwrap(), view(published("hello\n there")));
}

#[tokio::test]
async fn the_entities_of_a_post_are_stored_with_it() {
    for (content, looked_up, expected) in [
        ("#Rust https://a.example", 0, entities("0 5 #rust\n6 23 https://a.example")),
        ("hi @OTHER, @nobody", 1, entities(&format!("3 9 @{OTHER}"))),
    ] {
        let mut ports = publishing(Post { entities: expected, ..published(content) });
        let known = |_: &[String], _: UserId| Ok([("other".to_owned(), OTHER)].into());
        ports
            .accounts
            .expect_find_ids()
            .times(looked_up)
            .withf(|keys, author| keys == ["nobody", "other"] && *author == AUTHOR)
            .returning(known);
        ports.build().create(&author(), &requester(), fields(Some(content)), Attempt::Unnamed).await.unwrap();
    }
}

#[tokio::test]
async fn nothing_is_stored_if_mentions_cannot_be_looked_up() {
    let mut ports = Ports::default();
    ports.cleaner.expect_clean().returning(|_, _| Ok(clean()));
    ports.accounts.expect_find_ids().once().returning(|_, _| Err(Error::unavailable("no connection")));
    let refused = ports.build().create(&author(), &requester(), with_upload(Some("@other")), Attempt::Unnamed).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn a_repeated_publication_returns_the_present_post_and_stores_nothing() {
    let again = Attempt::Replay(Outcome::PostCreated(POST));
    let mut ports = Ports::default();
    ports
        .posts
        .expect_find()
        .once()
        .withf(|id, viewer| (*id, viewer.id) == (POST, AUTHOR))
        .returning(|_, _| Ok(Some(FoundPost { view: view(published("edited since")), standing: Standing::Stranger })));
    let shown = ports.build().create(&author(), &requester(), with_upload(Some("hello")), again).await;
    assert_eq!(shown.unwrap(), view(published("edited since")));

    let mut ports = Ports::default();
    ports.posts.expect_find().returning(|_, _| Ok(None));
    let deleted = ports.build().create(&author(), &requester(), fields(Some("hello")), again).await;
    assert!(matches!(deleted, Err(Error::NotFound(Resource::Post))), "{deleted:?}");
}

#[tokio::test]
async fn an_empty_post_is_rejected_and_not_stored() {
    for empty in [None, Some(""), Some(" \n\t")] {
        let refused = Ports::default().build().create(&author(), &requester(), fields(empty), Attempt::Unnamed).await;
        assert_eq!(invalid(refused), [(FieldName::Text, "Text or an image is required".to_owned())], "{empty:?}");
    }
}

#[tokio::test]
async fn text_is_at_most_5000_characters() {
    let longest = "😀".repeat(5000);
    let created = publishing(published(&longest))
        .build()
        .create(&author(), &requester(), fields(Some(&longest)), Attempt::Unnamed)
        .await;
    assert_eq!(created.unwrap().post.text.as_str(), longest);
    for (content, message) in [
        (format!("{longest}x"), "Text must be at most 5000 characters"),
        ("a\0b".to_owned(), "Text must not contain a NUL character"),
    ] {
        assert_eq!(PostText::parse(&content).unwrap_err().to_string(), message);
    }
}

#[tokio::test]
async fn a_post_without_a_visibility_is_public() {
    for given in [None, Some(Visibility::Public), Some(Visibility::Followers), Some(Visibility::Private)] {
        let stored = Post { visibility: given.unwrap_or(Visibility::Public), ..published("hello") };
        let fields = PostFields { visibility: given, ..fields(Some("hello")) };
        assert!(
            publishing(stored).build().create(&author(), &requester(), fields, Attempt::Unnamed).await.is_ok(),
            "{given:?}"
        );
    }
}

#[test]
fn visibilities_parse_from_their_names() {
    for visibility in Visibility::ALL {
        assert_eq!(visibility.as_str().parse(), Ok(visibility));
    }
    for name in ["secret", "private", "PUBLIC,PRIVATE", "0", "", " PUBLIC "] {
        let violation = name.parse::<Visibility>().unwrap_err();
        assert_eq!(
            violation,
            Violation::new(ViolationKind::NotAllowed, "Visibility must be PUBLIC, FOLLOWERS or PRIVATE")
        );
    }
}

#[tokio::test]
async fn an_image_without_text_makes_a_post() {
    for blank in [None, Some(""), Some("  ")] {
        let mut ports = Ports::storing_image();
        let stored = Post { attachments: vec![attached()], ..published("") };
        let expected = view(stored.clone());
        ports
            .posts
            .expect_create()
            .once()
            .withf(move |post, notices, _| *post == stored && notices.is_empty())
            .returning(|post, _, _| Ok(view(post.clone())));
        assert_eq!(
            ports.build().create(&author(), &requester(), with_upload(blank), Attempt::Unnamed).await.unwrap(),
            expected,
            "{blank:?}"
        );
    }
}

#[tokio::test]
async fn every_invalid_field_is_reported_at_once_and_nothing_stored() {
    let errors = |field| {
        let mut errors = FieldErrors::default();
        errors.add(field, Violation::new(ViolationKind::WrongType, "It must be a string"));
        errors
    };
    for (fields, expected) in [
        // Violations found while parsing are reported as well, each field once.
        (PostFields { errors: errors(FieldName::Text), ..fields(None) }, vec![FieldName::Text]),
        (PostFields { errors: errors(FieldName::Text), ..with_upload(None) }, vec![FieldName::Text, FieldName::Image]),
        (
            PostFields { errors: errors(FieldName::Visibility), ..fields(Some(" ")) },
            vec![FieldName::Text, FieldName::Visibility],
        ),
        (
            PostFields { errors: errors(FieldName::Visibility), ..with_upload(None) },
            vec![FieldName::Visibility, FieldName::Image],
        ),
        // A bad image is reported once, and not also as a missing one.
        (with_upload(None), vec![FieldName::Image]),
    ] {
        let mut ports = Ports::default();
        ports.cleaner.expect_clean().returning(|_, _| Err(ImageProblem::Unacceptable("No image".to_owned())));
        assert_eq!(
            invalid_names(ports.build().create(&author(), &requester(), fields, Attempt::Unnamed).await),
            expected
        );
    }
}

#[tokio::test]
async fn too_large_and_unchecked_images_are_reported_as_such() {
    for too_large in [true, false] {
        let mut ports = Ports::default();
        ports.cleaner.expect_clean().returning(move |_, _| {
            Err(match too_large {
                true => ImageProblem::TooLarge("Too many pixels".to_owned()),
                false => ImageProblem::Failed(Error::unavailable("busy")),
            })
        });
        let refused = ports
            .build()
            .create(&author(), &requester(), with_upload(Some("hello")), Attempt::Unnamed)
            .await
            .unwrap_err();
        assert!(if too_large {
            matches!(refused, Error::TooLarge(_))
        } else {
            matches!(refused, Error::Unavailable(_))
        });
    }
}

#[tokio::test]
async fn the_image_is_recorded_and_stored_before_the_row_that_references_it() {
    let mut ports = Ports::default();
    let mut order = Sequence::new();
    ports.cleaner.expect_clean().once().in_sequence(&mut order).returning(|_, _| Ok(clean()));
    ports.expect_image_stored(&mut order);
    ports.posts.expect_create().once().in_sequence(&mut order).returning(|post, _, _| Ok(view(post.clone())));
    ports.build().create(&author(), &requester(), with_upload(None), Attempt::Unnamed).await.unwrap();
}

#[tokio::test]
async fn a_post_is_not_stored_if_its_image_cannot_be() {
    let mut ports = Ports::default();
    ports.cleaner.expect_clean().returning(|_, _| Ok(clean()));
    ports.images.expect_new_key().returning(|_| Ok(new_image()));
    ports.unreferenced.expect_announce().once().returning(|_, _| Ok(()));
    ports.images.expect_put().once().returning(|_, _, _| Err(Error::unavailable("no answer")));
    let error = ports.build().create(&author(), &requester(), with_upload(Some("hello")), Attempt::Unnamed).await;
    assert!(matches!(error, Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn the_image_is_deleted_only_after_a_definite_rejection_of_the_row() {
    for (failure, deleted) in WRITE_FAILURES {
        let mut ports = Ports::storing_image();
        ports.posts.expect_create().once().returning(move |_, _, _| Err(failure()));
        ports.expect_image_deleted(new_image, deleted);
        let error =
            ports.build().create(&author(), &requester(), with_upload(None), Attempt::Unnamed).await.unwrap_err();
        assert_eq!(error.to_string(), failure().to_string());
    }
}
