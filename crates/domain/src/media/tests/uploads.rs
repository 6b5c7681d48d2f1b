//! Images that are uploaded to be attached to a post.

use futures_util::{StreamExt, stream};
use uuid::Uuid;

use super::*;
use crate::accounts::{Member, Roles};
use crate::error::{FieldErrors, FieldName};
use crate::fixtures::{clock, member};
use crate::id::UserId;
use crate::limits::{ClientAddress, Requester};

const OWNER: UserId = UserId::new(Uuid::from_u128(1));

fn owner() -> Member {
    member(OWNER, Roles::USER)
}

fn requester() -> Requester {
    Requester { account: Some(OWNER), address: ClientAddress::of(std::net::Ipv4Addr::new(192, 0, 2, 1).into()) }
}

fn media(cleaner: MockImageCleaner, store: MockImageStore, unreferenced: MockUnreferencedImages) -> Media {
    let ports = ImagePorts { cleaner: Arc::new(cleaner), store: Arc::new(store), unreferenced: Arc::new(unreferenced) };
    Media::new(ports, clock(NOW))
}

fn fields(image: Option<&'static str>, alt: &str) -> UploadFields {
    let image = image.map(|image| Bytes::from_static(image.as_bytes()));
    UploadFields { image, alt: AltText::parse(alt).unwrap(), errors: FieldErrors::default() }
}

#[tokio::test]
async fn an_upload_is_recorded_with_owner_and_description_before_it_is_stored() {
    let mut order = Sequence::new();
    let (mut cleaner, mut store) = (MockImageCleaner::new(), MockImageStore::new());
    let mut unreferenced = MockUnreferencedImages::new();
    cleaner
        .expect_clean()
        .once()
        .in_sequence(&mut order)
        .withf(|upload, by| (&**upload, *by) == (b"upload", requester()))
        .returning(|_, _| Ok(clean()));
    store.expect_new_key().once().in_sequence(&mut order).returning(|_| Ok(key(1)));
    let expected = Attachment { key: key(1), preview: Some(clean().preview), alt: AltText::parse("a cat").unwrap() };
    let recorded = expected.clone();
    unreferenced
        .expect_announce_upload()
        .once()
        .in_sequence(&mut order)
        .withf(move |owner, upload, at| (*owner, upload, *at) == (OWNER, &recorded, NOW))
        .returning(|_, _, _| Ok(()));
    expect_files_stored(&mut store, &mut order);
    let uploaded =
        media(cleaner, store, unreferenced).upload(&owner(), &requester(), fields(Some("upload"), " a cat ")).await;
    assert_eq!(uploaded.unwrap(), expected);
}

#[tokio::test]
async fn a_missing_or_invalid_image_is_rejected_and_not_stored() {
    let mut cleaner = MockImageCleaner::new();
    cleaner.expect_clean().returning(|_, _| Err(ImageProblem::Unacceptable("No image".to_owned())));
    let media = media(cleaner, MockImageStore::new(), MockUnreferencedImages::new());
    for (image, message) in [(None, "Image is required"), (Some("text"), "No image")] {
        let outcome = media.upload(&owner(), &requester(), fields(image, "")).await;
        let Err(Error::Invalid(errors)) = outcome else { panic!("{outcome:?}") };
        let errors: Vec<_> = errors.iter().map(|(field, violations)| (field, violations[0].to_string())).collect();
        assert_eq!(errors, [(FieldName::Image, message.to_owned())]);
    }
}

#[tokio::test]
async fn a_thumbnail_is_served_only_while_its_original_exists() {
    for is_there in [true, false] {
        let mut store = MockImageStore::new();
        let image = || OpenImage { size: 1, range: None, bytes: stream::empty().boxed() };
        store
            .expect_open()
            .returning(move |_, rendition, _| Ok((is_there || rendition == Rendition::Thumbnail).then(image)));
        let media = media(MockImageCleaner::new(), store, MockUnreferencedImages::new());
        assert_eq!(media.open(&key(1), Rendition::Thumbnail, None).await.is_ok(), is_there);
    }
}
