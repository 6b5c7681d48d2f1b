//! Previews of images that were stored without.

use futures_util::{StreamExt, stream};
use uuid::Uuid;

use super::*;
use crate::fixtures::clock;
use crate::id::{PostId, UserId};

const NEWER: PostId = PostId::new(Uuid::from_u128(2));
const POST: PostId = PostId::new(Uuid::from_u128(1));
const USER: UserId = UserId::new(Uuid::from_u128(3));

type Checked = Result<CleanImage, ImageProblem>;

/// Processes a post's image that the store has or not, and of which the check returns `checked`. Expects `stored` to be stored
/// as its preview, or nothing.
async fn process_post_image(is_there: bool, checked: fn() -> Checked, stored: Option<Option<Preview>>) -> Result<()> {
    let (mut backlog, mut store, mut cleaner) =
        (MockPreviewBacklog::new(), MockImageStore::new(), MockImageCleaner::new());
    let mut order = Sequence::new();
    backlog.expect_next().once().withf(|before| *before == Some(NEWER)).returning(|_| Ok(Some((POST, key(1)))));
    let bytes = || OpenImage { size: 3, range: Some(0..3), bytes: stream::iter([Ok("old".into())]).boxed() };
    store
        .expect_open()
        .withf(|k, of, range| (k, *of) == (&key(1), Rendition::Original) && range.is_none())
        .returning(move |_, _, _| Ok(is_there.then(bytes)));
    cleaner.expect_clean().withf(|bytes, by| bytes == "old" && by.account.is_none()).returning(move |_, _| checked());
    store
        .expect_put()
        .times(usize::from(stored.as_ref().is_some_and(Option::is_some)))
        .in_sequence(&mut order)
        .withf(|k, of, bytes| (k, *of) == (&key(1), Rendition::Thumbnail) && bytes == "small")
        .returning(|_, _, _| Ok(()));
    backlog
        .expect_store()
        .times(usize::from(stored.is_some()))
        .in_sequence(&mut order)
        .withf(move |post, k, preview, at| (*post, k, Some(preview), *at) == (POST, &key(1), stored.as_ref(), NOW))
        .returning(|_, _, _, _| Ok(()));
    let ports = ImagePorts {
        cleaner: Arc::new(cleaner),
        store: Arc::new(store),
        unreferenced: Arc::new(MockUnreferencedImages::new()),
    };
    let backfill = PreviewBackfill::new(Arc::new(backlog), ports, clock(NOW));
    let processed = backfill.run(Some(ShownBy::Post(NEWER))).await.unwrap().unwrap();
    assert_eq!(processed.by, ShownBy::Post(POST));
    processed.outcome
}

#[tokio::test]
async fn the_thumbnail_is_stored_before_the_preview() {
    process_post_image(true, || Ok(clean()), Some(Some(clean().preview))).await.unwrap();
}

#[tokio::test]
async fn an_undecodable_image_is_recorded_as_having_no_preview() {
    process_post_image(true, || Err(ImageProblem::Unacceptable("No image".to_owned())), Some(None)).await.unwrap();
}

#[tokio::test]
async fn a_missing_or_currently_uncheckable_image_is_skipped() {
    let gone = process_post_image(false, || Ok(clean()), None).await;
    assert!(matches!(gone, Err(Error::NotFound(Resource::Image))));
    let large = process_post_image(true, || Err(ImageProblem::TooLarge("Too large".to_owned())), None).await;
    assert!(matches!(large, Err(Error::TooLarge(_))));
    let busy = process_post_image(true, || Err(ImageProblem::Failed(Error::unavailable("too many"))), None).await;
    assert!(matches!(busy, Err(Error::Unavailable(_))));
}

/// Processes the picture of a user, of which the check returns `checked`, when no post's image is left. Expects `small` to be
/// stored as its small rendition, or nothing.
async fn process_picture(last: Option<ShownBy>, checked: fn() -> Checked, small: Option<Rendition>) -> Result<()> {
    let (mut backlog, mut store, mut cleaner) =
        (MockPreviewBacklog::new(), MockImageStore::new(), MockImageCleaner::new());
    let before = match last {
        Some(ShownBy::User(user)) => Some(user),
        _ => None,
    };
    backlog.expect_next().times(usize::from(before.is_none())).returning(|_| Ok(None));
    backlog.expect_next_picture().once().withf(move |it| *it == before).returning(|_| Ok(Some((USER, key(1)))));
    let bytes = || OpenImage { size: 3, range: Some(0..3), bytes: stream::iter([Ok("old".into())]).boxed() };
    store.expect_open().once().returning(move |_, _, _| Ok(Some(bytes())));
    cleaner.expect_clean().once().returning(move |_, _| checked());
    let mut order = Sequence::new();
    store
        .expect_put()
        .times(usize::from(small == Some(Rendition::Thumbnail)))
        .in_sequence(&mut order)
        .withf(|k, of, bytes| (k, *of) == (&key(1), Rendition::Thumbnail) && bytes == "small")
        .returning(|_, _, _| Ok(()));
    backlog
        .expect_store_small()
        .times(usize::from(small.is_some()))
        .in_sequence(&mut order)
        .withf(move |user, k, it, at| (*user, k, Some(*it), *at) == (USER, &key(1), small, NOW))
        .returning(|_, _, _, _| Ok(()));
    let unreferenced = Arc::new(MockUnreferencedImages::new());
    let ports = ImagePorts { cleaner: Arc::new(cleaner), store: Arc::new(store), unreferenced };
    let processed = PreviewBackfill::new(Arc::new(backlog), ports, clock(NOW)).run(last).await.unwrap().unwrap();
    assert_eq!(processed.by, ShownBy::User(USER));
    processed.outcome
}

#[tokio::test]
async fn pictures_of_users_follow_the_images_of_posts() {
    for last in [None, Some(ShownBy::Post(POST)), Some(ShownBy::User(UserId::new(Uuid::from_u128(9))))] {
        process_picture(last, || Ok(clean()), Some(Rendition::Thumbnail)).await.unwrap();
    }
}

#[tokio::test]
async fn an_undecodable_picture_is_shown_as_the_original() {
    let unacceptable = || Err(ImageProblem::Unacceptable("No image".to_owned()));
    process_picture(None, unacceptable, Some(Rendition::Original)).await.unwrap();
    let large = process_picture(None, || Err(ImageProblem::TooLarge("Too large".to_owned())), None).await;
    assert!(matches!(large, Err(Error::TooLarge(_))));
}

#[tokio::test]
async fn the_backfill_ends_when_no_image_lacks_a_preview() {
    let mut backlog = MockPreviewBacklog::new();
    backlog.expect_next().once().returning(|_| Ok(None));
    backlog.expect_next_picture().once().returning(|_| Ok(None));
    let ports = ImagePorts {
        cleaner: Arc::new(MockImageCleaner::new()),
        store: Arc::new(MockImageStore::new()),
        unreferenced: Arc::new(MockUnreferencedImages::new()),
    };
    let previews = PreviewBackfill::new(Arc::new(backlog), ports, Arc::new(MockClock::new()));
    assert!(previews.run(None).await.unwrap().is_none());
}
