//! What the check of a store reports, and what it deletes.

use std::collections::HashMap;

use futures_util::{StreamExt, stream};
use uuid::Uuid;

use super::*;
use crate::id::UserId;

const ADA: UserId = UserId::new(Uuid::from_u128(1));
const BEN: UserId = UserId::new(Uuid::from_u128(2));

/// The first byte of every key.
const FOLDER: u8 = 7;

fn key(n: u8) -> ImageKey {
    let mut bits = [n; 16];
    bits[0] = FOLDER;
    ImageKey::new(bits, ImageFormat::Png)
}

/// Returns image number `n`, of `n` bytes, stored at the instant `modified`.
fn stored(n: u8, modified: i64) -> StoredImage {
    let (rendition, modified) = (Rendition::Original, Timestamp::from_unix_millis(modified));
    StoredImage { key: key(n), rendition, bytes: n.into(), modified }
}

fn usage(images: u64, bytes: u64) -> Usage {
    Usage { images, bytes }
}

/// The state of the store and the database during a check.
#[derive(Clone, Default)]
struct Scenario {
    /// The files that the store lists.
    listed: Vec<StoredImage>,
    /// The images that rows reference after the listing.
    named: Vec<(ImageKey, UserId)>,
    /// The images that rows reference when they are read again.
    named_later: Vec<ImageKey>,
    on_record: Vec<ImageKey>,
    /// The images that the store has when they are looked up again.
    found_later: Vec<ImageKey>,
    /// The images that are expected to be deleted.
    deleted: Vec<ImageKey>,
}

impl Scenario {
    /// Runs a check at the instant 10,000, for which images stored since 9,000 may belong to uploads in flight.
    async fn check(self, delete: bool) -> MediaReport {
        let (mut store, mut named, mut unreferenced) =
            (MockImageStore::new(), MockImageReferences::new(), MockUnreferencedImages::new());
        let Self { listed, named: first, named_later, on_record, found_later, deleted } = self;
        store
            .expect_list_folder()
            .once()
            .withf(|folder| *folder == FOLDER)
            .returning(move |_| Ok(stream::iter(listed.clone()).map(Ok).boxed()));
        store.expect_open().returning(move |key, rendition, range| {
            assert_eq!((rendition, range), (Rendition::Original, Some(ByteRange::Last(0))), "no image is read");
            let image = || OpenImage { size: 1, range: None, bytes: stream::empty().boxed() };
            Ok(found_later.contains(key).then(image))
        });
        store.expect_delete().times(deleted.len()).returning(move |key| {
            assert!(deleted.contains(key), "{key:?} is deleted");
            Ok(())
        });
        named.expect_referenced_in().once().withf(|folder| *folder == FOLDER).returning(move |_| Ok(first.clone()));
        let of = |among: Vec<ImageKey>| {
            move |keys: &[ImageKey]| Ok(keys.iter().filter(|key| among.contains(key)).cloned().collect())
        };
        named.expect_referenced_of().returning(of(named_later));
        unreferenced.expect_recorded().returning(of(on_record));
        let clock = clock(Timestamp::from_unix_millis(10_000));
        let check = MediaCheck::new(Arc::new(store), Arc::new(named), Arc::new(unreferenced), &*clock, 1_000);
        let mut report = MediaReport::default();
        check.folder(FOLDER, delete, &mut report).await.unwrap();
        report
    }
}

#[tokio::test]
async fn images_are_counted_in_total_and_by_owner() {
    let place = Scenario {
        listed: vec![stored(1, 0), stored(2, 0), stored(4, 0), stored(8, 9_999)],
        named: vec![(key(1), ADA), (key(4), BEN), (key(8), ADA), (key(2), ADA)],
        ..Scenario::default()
    };
    let report = place.check(true).await;
    let users = HashMap::from([(ADA, usage(3, 11)), (BEN, usage(1, 4))]);
    assert_eq!(report, MediaReport { referenced: usage(4, 15), users, ..MediaReport::default() });
}

#[tokio::test]
async fn only_old_unknown_images_are_deleted_and_only_on_request() {
    let place = Scenario {
        listed: vec![stored(1, 0), stored(2, 8_999), stored(4, 9_000), stored(8, 0), stored(16, 0), stored(32, 0)],
        named: vec![(key(1), ADA)],
        // A row came to reference it after the rows were read.
        named_later: vec![key(8)],
        on_record: vec![key(16)],
        ..Scenario::default()
    };
    let expected = MediaReport {
        referenced: usage(2, 9),
        users: HashMap::from([(ADA, usage(1, 1))]),
        on_record: usage(1, 16),
        unknown: usage(3, 38),
        deletable: usage(2, 34),
        ..MediaReport::default()
    };
    assert_eq!(place.clone().check(false).await, expected);
    let deleting = Scenario { deleted: vec![key(2), key(32)], ..place };
    assert_eq!(deleting.check(true).await, MediaReport { deleted: usage(2, 34), ..expected });
}

#[tokio::test]
async fn an_image_is_lost_if_it_is_still_missing_and_still_referenced_on_a_second_check() {
    let place = Scenario {
        named: vec![(key(1), ADA), (key(2), ADA), (key(3), ADA)],
        // The first was stored after the listing, the second is no longer referenced.
        found_later: vec![key(1)],
        named_later: vec![key(1), key(3)],
        ..Scenario::default()
    };
    let expected = MediaReport { lost: 1, first_lost: vec![(key(3), ADA)], ..MediaReport::default() };
    assert_eq!(place.check(true).await, expected);
}

#[tokio::test]
async fn the_report_lists_only_the_first_lost_images() {
    let keys: Vec<ImageKey> = (0..20).map(key).collect();
    let named = keys.iter().map(|key| (key.clone(), ADA)).collect();
    let report = Scenario { named, named_later: keys, ..Scenario::default() }.check(false).await;
    assert_eq!((report.lost, report.first_lost.len()), (20, MediaCheck::MAX_LOST));
}

#[tokio::test]
async fn a_thumbnail_is_counted_and_deleted_with_its_image() {
    let thumbnail = |n, modified| StoredImage { rendition: Rendition::Thumbnail, ..stored(n, modified) };
    let place = Scenario {
        listed: vec![
            thumbnail(1, 0),
            stored(1, 0),
            // These are unknown. The second has a new file, the third only a thumbnail.
            stored(2, 0),
            thumbnail(2, 0),
            stored(4, 0),
            thumbnail(4, 9_999),
            thumbnail(8, 0),
            // The image itself is lost.
            thumbnail(16, 0),
        ],
        named: vec![(key(1), ADA), (key(16), BEN)],
        named_later: vec![key(16)],
        deleted: vec![key(2), key(8)],
        ..Scenario::default()
    };
    let expected = MediaReport {
        referenced: usage(1, 2),
        users: HashMap::from([(ADA, usage(1, 2))]),
        unknown: usage(3, 20),
        deletable: usage(2, 12),
        deleted: usage(2, 12),
        lost: 1,
        first_lost: vec![(key(16), BEN)],
        ..MediaReport::default()
    };
    assert_eq!(place.check(true).await, expected);
}
