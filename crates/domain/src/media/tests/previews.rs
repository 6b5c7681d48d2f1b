//! Previews of images that were stored without.

use futures_util::{StreamExt, stream};
use uuid::Uuid;

use super::*;
use crate::id::PostId;

const POST: PostId = PostId::new(Uuid::from_u128(1));

/// What becomes of one image: whether it is there, what checking it gives, whether its post has it still.
async fn run(
    is_there: bool,
    checked: impl Fn() -> Result<CleanImage, ImageProblem> + Send + 'static,
    expected: Option<Preview>,
    has_it_still: bool,
) -> crate::Result<bool> {
    let (mut backlog, mut store, mut cleaner) =
        (MockPreviewBacklog::new(), MockImageStore::new(), MockImageCleaner::new());
    backlog.expect_next().once().returning(|| Ok(Some((POST, key(1)))));
    let bytes = || OpenImage { size: 3, range: Some(0..3), bytes: stream::iter([Ok("old".into())]).boxed() };
    store
        .expect_open()
        .withf(|k, of, range| (k, *of) == (&key(1), Rendition::Original) && range.is_none())
        .returning(move |_, _, _| Ok(is_there.then(bytes)));
    cleaner.expect_clean().withf(|bytes, by| bytes == "old" && by.account.is_none()).returning(move |_, _| checked());
    store
        .expect_put()
        .times(usize::from(expected.is_some()))
        .withf(|k, of, bytes| (k, *of) == (&key(1), Rendition::Thumbnail) && bytes == "small")
        .returning(|_, _, _| Ok(()));
    backlog
        .expect_store()
        .withf(move |post, k, preview| (*post, k, preview) == (POST, &key(1), &expected))
        .returning(move |_, _, _| Ok(has_it_still));
    store.expect_delete().times(usize::from(!has_it_still)).withf(|k| *k == key(1)).returning(|_| Ok(()));
    let ports = ImagePorts {
        cleaner: Arc::new(cleaner),
        store: Arc::new(store),
        unnamed: Arc::new(MockUnreferencedImages::new()),
    };
    PreviewBackfill::new(Arc::new(backlog), ports).run().await
}

#[tokio::test]
async fn an_image_gets_its_thumbnail_before_its_preview_is_shown() {
    assert!(run(true, || Ok(clean()), Some(clean().preview), true).await.unwrap());
}

#[tokio::test]
async fn what_is_not_there_or_cannot_be_decoded_has_none_for_good() {
    assert!(run(false, || Ok(clean()), None, true).await.unwrap());
    assert!(run(true, || Err(ImageProblem::Unacceptable("No image".to_owned())), None, true).await.unwrap());
    assert!(run(true, || Err(ImageProblem::TooLarge("Too large".to_owned())), None, true).await.unwrap());
}

#[tokio::test]
async fn what_was_removed_meanwhile_goes_with_its_thumbnail() {
    assert!(run(true, || Ok(clean()), Some(clean().preview), false).await.unwrap());
}

#[tokio::test]
async fn it_is_tried_again_when_too_many_images_are_being_checked() {
    let busy = || Err(ImageProblem::Failed(Error::unavailable("too many")));
    assert!(matches!(run(true, busy, None, true).await, Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn nothing_is_done_when_all_images_have_one() {
    let mut backlog = MockPreviewBacklog::new();
    backlog.expect_next().once().returning(|| Ok(None));
    let ports = ImagePorts {
        cleaner: Arc::new(MockImageCleaner::new()),
        store: Arc::new(MockImageStore::new()),
        unnamed: Arc::new(MockUnreferencedImages::new()),
    };
    assert!(!PreviewBackfill::new(Arc::new(backlog), ports).run().await.unwrap());
}
