//! Posts with several images.

use super::*;
use crate::id::MediaId;
use crate::idempotency::Attempt;
use crate::version::Versions;

fn image(n: u8) -> Attachment {
    let alt = AltText::parse(&format!("picture {n}")).unwrap();
    let preview = Some(Preview { width: n.into(), height: 1, blurhash: "LEHV".to_owned() });
    Attachment { key: ImageKey::new([n; 16], ImageFormat::Png), preview, alt }
}

fn images(numbers: &[u8]) -> Vec<Attachment> {
    numbers.iter().copied().map(image).collect()
}

fn ids(numbers: &[u8]) -> MediaIds {
    MediaIds::parse(images(numbers).iter().map(Attachment::id).collect()).unwrap()
}

fn with_media(text: Option<&str>, numbers: &[u8]) -> PostFields {
    PostFields { media: Some(ids(numbers)), ..fields(text) }
}

/// Returns ports that find the requested ones among these uploads of the author.
fn with_uploads(numbers: &'static [u8]) -> Ports {
    let mut ports = Ports::default();
    ports.unreferenced.expect_find_uploads().returning(|owner, asked| {
        assert_eq!(owner, AUTHOR);
        Ok(images(numbers).into_iter().rev().filter(|image| asked.contains(&image.id())).collect())
    });
    ports
}

#[test]
fn media_ids_are_unique_and_at_most_four() {
    let parse = |numbers: &[u8]| {
        let ids: Vec<MediaId> = images(numbers).iter().map(Attachment::id).collect();
        MediaIds::parse(ids).map(|ids| ids.as_slice().len()).map_err(|violation| violation.to_string())
    };
    assert_eq!(parse(&[]), Ok(0));
    assert_eq!(parse(&[1, 2, 3, 4]), Ok(4));
    assert_eq!(parse(&[1, 2, 3, 4, 5]), Err("Media must have at most 4 entries".to_owned()));
    assert_eq!(parse(&[1, 2, 1]), Err("Media must name each image once".to_owned()));
}

#[test]
fn alt_text_is_trimmed_has_1500_characters_at_most_and_is_not_blank() {
    let longest = "ö".repeat(1500);
    assert_eq!(AltText::parse(&format!(" {longest}\n")).unwrap().unwrap().as_str(), longest);
    assert_eq!(AltText::parse(" \n"), Ok(None));
    assert_eq!(
        AltText::parse(&format!("{longest}x")).unwrap_err().to_string(),
        "Alt text must be at most 1500 characters"
    );
}

#[tokio::test]
async fn a_post_has_its_uploads_in_the_given_order() {
    for text in [None, Some("with text")] {
        let mut ports = with_uploads(&[1, 2, 3]);
        ports
            .posts
            .expect_create()
            .once()
            .withf(|post, _, _| post.attachments == images(&[3, 1]))
            .returning(|post, _, _| Ok(view(post.clone())));
        let created = ports.build().create(&author(), &requester(), with_media(text, &[3, 1]), Attempt::Unnamed).await;
        assert_eq!(created.unwrap().post.attachments, images(&[3, 1]));
    }
}

#[tokio::test]
async fn a_post_with_anything_but_an_upload_of_its_author_is_rejected() {
    let message = "Media must name images that you uploaded within the last hour and that no post has".to_owned();
    let created = with_uploads(&[1]).build();
    let created = created.create(&author(), &requester(), with_media(Some("hi"), &[1, 2]), Attempt::Unnamed).await;
    assert_eq!(invalid(created), [(FieldName::Media, message)]);
}

#[tokio::test]
async fn uploads_are_kept_when_a_post_is_rejected() {
    for (refusal, _) in WRITE_FAILURES {
        let mut ports = with_uploads(&[1]);
        ports.posts.expect_create().once().returning(move |_, _, _| Err(refusal()));
        let refused = ports.build().create(&author(), &requester(), with_media(None, &[1]), Attempt::Unnamed).await;
        assert_eq!(refused.unwrap_err().to_string(), refusal().to_string());
    }
}

#[tokio::test]
async fn a_file_takes_precedence_over_uploads() {
    let mut ports = Ports::storing_image();
    ports
        .posts
        .expect_create()
        .once()
        .withf(|post, _, _| post.attachments == [attached()])
        .returning(|post, _, _| Ok(view(post.clone())));
    let fields = PostFields { media: Some(ids(&[1])), ..with_upload(None) };
    ports.build().create(&author(), &requester(), fields, Attempt::Unnamed).await.unwrap();
}

#[tokio::test]
async fn an_edit_gets_its_uploads_and_images_take_precedence_over_their_removal() {
    for remove_image in [false, true] {
        let mut ports = with_uploads(&[2]);
        ports
            .posts
            .expect_edit()
            .once()
            .withf(|_, _, edit, _| edit.attachments == AttachmentsEdit::Set(ids(&[1, 2]), images(&[2])))
            .returning(|_, _, _, _| Ok(EditedPost { view: view(post("old", None)), replaced_images: Vec::new() }));
        let (posts, own) = ports.owning().await;
        let fields = PostFields { remove_image, ..with_media(None, &[1, 2]) };
        posts.update(own, &requester(), fields, Versions::Any).await.unwrap();
    }
}

#[test]
fn an_edit_orders_keeps_adds_and_removes_images() {
    let before = Post { attachments: images(&[1, 2, 3]), ..post("", None) };
    for (named, uploads, expected, dropped) in [
        (&[3, 1, 2][..], &[][..], Some(&[3, 1, 2][..]), &[][..]),
        (&[1, 4], &[4, 5], Some(&[1, 4]), &[2, 3]),
        (&[4], &[4], Some(&[4]), &[1, 2, 3]),
        (&[1, 4], &[5], None, &[]),
    ] {
        let edit = PostEdit { attachments: AttachmentsEdit::Set(ids(named), images(uploads)), ..PostEdit::default() };
        match (before.clone().apply(&edit, NOW), expected) {
            (Ok((after, replaced)), Some(expected)) => {
                assert_eq!((after.attachments, after.updated_at), (images(expected), NOW));
                let dropped: Vec<ImageKey> = images(dropped).into_iter().map(|image| image.key).collect();
                assert_eq!(replaced, dropped);
            }
            (Err(Error::Invalid(errors)), None) => assert!(errors.contains(FieldName::Media)),
            (other, _) => panic!("{named:?}: {other:?}"),
        }
    }
}
