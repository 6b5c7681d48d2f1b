mod check;
mod previews;
mod uploads;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::stream::BoxStream;
use mockall::Sequence;

use super::*;
use crate::clock::{MockClock, Timestamp};
use crate::error::{Error, ImageCollected, Resource, Result};
use crate::fixtures::clock;

fn key(n: u8) -> ImageKey {
    ImageKey::new([n; 16], ImageFormat::Png)
}

#[test]
fn only_well_formed_keys_parse() {
    let key = ImageKey::new([0xab; 16], ImageFormat::WebP);
    assert_eq!(key.as_str(), "abababababababababababababababab.webp");
    assert_eq!(ImageKey::parse(key.as_str()), Some(key));
    for bad in [
        "",
        ".png",
        "../../etc/passwd.png",
        "ABababababababababababababababab.png",
        "abababababababababababababababab.svg",
        "abababababababababababababababab.png.png",
        "ababababababababababababababab.png",
        "abababababababababababababababab",
    ] {
        assert_eq!(ImageKey::parse(bad), None, "{bad}");
    }
}

#[test]
fn file_names_extend_the_key_and_the_id_is_its_random_part() {
    let key = ImageKey::new([0xab; 16], ImageFormat::WebP);
    for (rendition, name, format) in [
        (Rendition::Original, "abababababababababababababababab.webp", ImageFormat::WebP),
        (Rendition::Thumbnail, "abababababababababababababababab.webp.thumb.jpg", ImageFormat::Jpeg),
    ] {
        assert_eq!(key.file_name(rendition), name);
        assert_eq!(ImageKey::parse_file_name(name), Some((key.clone(), rendition)));
        assert_eq!(key.format_of(rendition), format);
        assert_eq!(ImageKey::parse(name).is_some(), rendition == Rendition::Original, "{name}");
    }
    for bad in [".thumb.jpg", "abababababababababababababababab.webp.thumb.jpg.thumb.jpg"] {
        assert_eq!(ImageKey::parse_file_name(bad), None, "{bad}");
    }
    assert_eq!(key.id().uuid().as_bytes(), &[0xab; 16]);
}

#[test]
fn ranges_are_clamped_to_the_size_of_the_image() {
    assert_eq!(ByteRange::FromTo(0, 0).within(10), Some(0..1));
    assert_eq!(ByteRange::FromTo(5, u64::MAX).within(10), Some(5..10));
    assert_eq!(ByteRange::From(9).within(10), Some(9..10));
    assert_eq!(ByteRange::Last(3).within(10), Some(7..10));
    assert_eq!(ByteRange::Last(30).within(10), Some(0..10));
    for outside in [ByteRange::FromTo(10, 12), ByteRange::FromTo(3, 2), ByteRange::From(10), ByteRange::Last(0)] {
        assert_eq!(outside.within(10), None, "{outside:?}");
    }
}

/// Returns a sweep at the instant 10,000 with a minimum age of 1,000.
fn sweep(store: MockImageStore, unreferenced: MockUnreferencedImages) -> MediaSweep {
    MediaSweep::new(Arc::new(store), Arc::new(unreferenced), clock(Timestamp::from_unix_millis(10_000)), 1_000)
}

/// Returns a record that marks these batches for deletion, one after the other.
fn record_marking(batches: Vec<Vec<ImageKey>>) -> MockUnreferencedImages {
    record_marking_before(9_000, batches)
}

fn record_marking_before(cutoff: i64, batches: Vec<Vec<ImageKey>>) -> MockUnreferencedImages {
    let mut unreferenced = MockUnreferencedImages::new();
    let mut batches = batches.into_iter();
    unreferenced
        .expect_mark_for_deletion()
        .withf(move |before, now, limit| (before.unix_millis(), now.unix_millis(), *limit) == (cutoff, 10_000, 100))
        .returning(move |_, _, _| Ok(batches.next().expect("no further batch is asked for")));
    unreferenced
}

#[tokio::test]
async fn the_sweep_deletes_the_images_on_record_without_listing_the_store() {
    let mut order = Sequence::new();
    let mut store = MockImageStore::new();
    let mut unreferenced = record_marking(vec![vec![key(1)], vec![key(2)], vec![]]);
    for n in [1, 2] {
        store.expect_delete().once().in_sequence(&mut order).withf(move |k| *k == key(n)).returning(|_| Ok(()));
        unreferenced.expect_forget().once().in_sequence(&mut order).withf(move |k| k == [key(n)]).returning(|_| Ok(()));
    }
    assert_eq!(sweep(store, unreferenced).run().await.unwrap(), 2);
}

#[tokio::test]
async fn delete_marked_deletes_only_marked_images_regardless_of_age() {
    let mut store = MockImageStore::new();
    store.expect_delete().once().withf(|k| *k == key(1)).returning(|_| Ok(()));
    let mut unreferenced = record_marking_before(0, vec![vec![key(1)], vec![]]);
    unreferenced.expect_forget().once().returning(|_| Ok(()));
    assert_eq!(sweep(store, unreferenced).delete_marked().await.unwrap(), 1);
}

#[tokio::test]
async fn a_failed_deletion_stays_on_record_and_does_not_stop_the_sweep() {
    let mut store = MockImageStore::new();
    store.expect_delete().withf(|k| *k == key(1)).once().returning(|_| Err(Error::unavailable("locked")));
    store.expect_delete().times(2).returning(|_| Ok(()));
    let mut unreferenced = record_marking(vec![vec![key(1), key(2)], vec![key(3)], vec![]]);
    for n in [2, 3] {
        unreferenced.expect_forget().once().withf(move |k| k == [key(n)]).returning(|_| Ok(()));
    }
    let Err(Error::Unavailable(cause)) = sweep(store, unreferenced).run().await else {
        panic!("the failure was not returned")
    };
    assert_eq!(cause.to_string(), "locked");
}

#[tokio::test]
async fn an_unavailable_store_ends_the_sweep() {
    let mut store = MockImageStore::new();
    store.expect_delete().times(2).returning(|_| Err(Error::unavailable("no answer")));
    let unreferenced = record_marking(vec![vec![key(1), key(2)]]);
    assert!(matches!(sweep(store, unreferenced).run().await, Err(Error::Unavailable(_))));
}

const NOW: Timestamp = Timestamp::from_unix_millis(5_000);

fn images(store: MockImageStore, unreferenced: MockUnreferencedImages) -> Images {
    images_in(Arc::new(store), unreferenced)
}

fn images_in(store: Arc<dyn ImageStore>, unreferenced: MockUnreferencedImages) -> Images {
    let cleaner = Arc::new(MockImageCleaner::new());
    let ports = ImagePorts { cleaner, store, unreferenced: Arc::new(unreferenced) };
    Images::new(ports, clock(NOW))
}

fn clean() -> CleanImage {
    let preview = Preview { width: 3, height: 2, blurhash: "LEHV".to_owned() };
    let (bytes, thumbnail) = (Bytes::from_static(b"clean"), Bytes::from_static(b"small"));
    CleanImage { format: ImageFormat::Png, bytes, preview, thumbnail }
}

/// Expects both files of the clean image to be stored, one after the other.
fn expect_files_stored(store: &mut MockImageStore, order: &mut Sequence) {
    for (rendition, file) in [(Rendition::Original, "clean"), (Rendition::Thumbnail, "small")] {
        store
            .expect_put()
            .once()
            .in_sequence(order)
            .withf(move |k, of, bytes| (k, *of) == (&key(1), rendition) && bytes == file)
            .returning(|_, _, _| Ok(()));
    }
}

#[tokio::test]
async fn an_image_is_on_record_before_it_is_stored() {
    let (mut store, mut unreferenced, mut order) =
        (MockImageStore::new(), MockUnreferencedImages::new(), Sequence::new());
    store.expect_new_key().once().in_sequence(&mut order).returning(|format| Ok(ImageKey::new([1; 16], format)));
    unreferenced
        .expect_announce()
        .once()
        .in_sequence(&mut order)
        .withf(|k, at| (k, *at) == (&key(1), NOW))
        .returning(|_, _| Ok(()));
    expect_files_stored(&mut store, &mut order);
    let stored = Attachment { key: key(1), preview: Some(clean().preview), alt: None };
    assert_eq!(images(store, unreferenced).put(Some(clean())).await.unwrap(), Some(stored));
}

#[tokio::test]
async fn an_image_that_cannot_be_recorded_is_not_stored() {
    let (mut store, mut unreferenced) = (MockImageStore::new(), MockUnreferencedImages::new());
    store.expect_new_key().returning(|format| Ok(ImageKey::new([1; 16], format)));
    unreferenced.expect_announce().returning(|_, _| Err(Error::unavailable("no connection")));
    assert!(matches!(images(store, unreferenced).put(Some(clean())).await, Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn an_image_is_deleted_only_after_a_definite_rejection_of_its_row() {
    let (mut store, mut unreferenced) = (MockImageStore::new(), MockUnreferencedImages::new());
    for n in [1, 2] {
        store.expect_delete().withf(move |k| *k == key(n)).once().returning(|_| Ok(()));
        unreferenced.expect_forget().withf(move |k| k == [key(n)]).once().returning(|_| Ok(()));
    }
    let images = images(store, unreferenced);
    images.take_back(Some(key(1)), Error::NotFound(Resource::Post)).await;
    images.take_back(Some(key(2)), Error::unavailable(ImageCollected)).await;
    images.take_back(Some(key(3)), Error::unavailable("connection lost")).await;
    images.take_back(Some(key(4)), Error::internal("disk I/O error")).await;
}

/// A store that never answers a deletion.
#[derive(Default)]
struct HangingStore {
    deletions: AtomicUsize,
}

#[async_trait]
impl ImageStore for HangingStore {
    fn new_key(&self, _: ImageFormat) -> Result<ImageKey> {
        unreachable!()
    }

    async fn put(&self, _: &ImageKey, _: Rendition, _: Bytes) -> Result<()> {
        unreachable!()
    }

    async fn open(&self, _: &ImageKey, _: Rendition, _: Option<ByteRange>) -> Result<Option<OpenImage>> {
        unreachable!()
    }

    async fn delete(&self, _: &ImageKey) -> Result<()> {
        self.deletions.fetch_add(1, Ordering::Relaxed);
        pending().await
    }

    async fn list(&self) -> Result<BoxStream<'static, Result<ImageKey>>> {
        unreachable!()
    }

    async fn list_folder(&self, _: u8) -> Result<BoxStream<'static, Result<StoredImage>>> {
        unreachable!()
    }

    fn public_url(&self, _: &ImageKey, _: Rendition) -> Option<String> {
        None
    }
}

#[test]
fn images_are_deleted_concurrently() {
    let store = Arc::new(HangingStore::default());
    let images = images_in(Arc::clone(&store) as Arc<dyn ImageStore>, MockUnreferencedImages::new());
    assert!(images.delete_unreferenced([1, 2, 3, 4].map(key)).now_or_never().is_none());
    assert_eq!(store.deletions.load(Ordering::Relaxed), 4);
}

#[tokio::test]
async fn an_image_that_cannot_be_deleted_stays_on_record() {
    let mut store = MockImageStore::new();
    store.expect_delete().once().returning(|_| Err(Error::unavailable("no answer")));
    images(store, MockUnreferencedImages::new()).delete_unreferenced([key(1)]).await;
}
