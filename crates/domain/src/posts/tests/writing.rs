//! Publishing posts.

use super::*;
use crate::idempotency::{Attempt, Outcome};
use crate::media::ImageProblem;
use crate::notices::{NotificationKind, Subject};

/// Stores the post, which tells nobody but those it mentions.
fn publishing(stored: Post) -> Ports {
    let mentioned = stored.entities.as_ref().map(Entities::mentions).unwrap_or_default();
    let mut ports = Ports::default();
    ports
        .posts
        .expect_create()
        .once()
        .withf(move |post, notices, _| {
            let told = notices.iter().map(|notice| (notice.recipient, notice.kind, notice.subject));
            let told_of_it = mentioned.iter().map(|id| (*id, NotificationKind::Mention, Subject::Post(POST)));
            *post == stored && told.eq(told_of_it)
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
async fn what_a_post_names_is_stored_with_it() {
    for (content, looked_up, expected) in [
        ("#Rust https://a.example", 0, names("0 5 #rust\n6 23 https://a.example")),
        ("hi @OTHER, @nobody", 1, names(&format!("3 9 @{OTHER}"))),
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
async fn nothing_is_stored_when_it_cannot_be_worked_out_what_the_post_names() {
    let mut ports = Ports::default();
    ports.cleaner.expect_clean().returning(|_, _| Ok(clean()));
    ports.accounts.expect_find_ids().once().returning(|_, _| Err(Error::unavailable("no connection")));
    let refused = ports.build().create(&author(), &requester(), with_upload(Some("@other")), Attempt::Unnamed).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn a_post_that_was_published_before_is_shown_as_it_is_now_and_not_stored_again() {
    let again = Attempt::Again(Outcome::PostCreated(POST));
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
async fn an_empty_post_is_refused_and_nothing_stored() {
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
async fn a_post_is_public_unless_it_says_otherwise() {
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
fn a_visibility_has_a_name() {
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
async fn an_image_alone_is_a_post_with_empty_text() {
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
        // What is invalid already is reported as well, and once.
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
        // An image was sent: that it is bad is said once, not also that there is none.
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
async fn an_image_beyond_a_limit_or_that_could_not_be_checked_is_told_as_such() {
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
async fn the_image_is_on_record_and_stored_before_the_row_that_names_it() {
    let mut ports = Ports::default();
    let mut order = Sequence::new();
    ports.cleaner.expect_clean().once().in_sequence(&mut order).returning(|_, _| Ok(clean()));
    ports.store_image(&mut order);
    ports.posts.expect_create().once().in_sequence(&mut order).returning(|post, _, _| Ok(view(post.clone())));
    ports.build().create(&author(), &requester(), with_upload(None), Attempt::Unnamed).await.unwrap();
}

#[tokio::test]
async fn there_is_no_post_without_its_image() {
    let mut ports = Ports::default();
    ports.cleaner.expect_clean().returning(|_, _| Ok(clean()));
    ports.images.expect_new_key().returning(|_| Ok(new_image()));
    ports.unnamed.expect_announce().once().returning(|_, _| Ok(()));
    ports.images.expect_put().once().returning(|_, _, _| Err(Error::unavailable("no answer")));
    let refused = ports.build().create(&author(), &requester(), with_upload(Some("hello")), Attempt::Unnamed).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn the_image_is_taken_back_only_when_the_row_was_surely_refused() {
    for (refusal, taken_back) in REFUSALS {
        let mut ports = Ports::storing_image();
        ports.posts.expect_create().once().returning(move |_, _, _| Err(refusal()));
        ports.drop_image(new_image, taken_back);
        let refused =
            ports.build().create(&author(), &requester(), with_upload(None), Attempt::Unnamed).await.unwrap_err();
        assert_eq!(refused.to_string(), refusal().to_string());
    }
}
