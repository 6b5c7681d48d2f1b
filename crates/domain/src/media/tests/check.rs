//! What a comparison of store and rows finds, and what it deletes.

use std::collections::HashMap;

use futures_util::{StreamExt, stream};
use uuid::Uuid;

use super::*;
use crate::id::UserId;

const ADA: UserId = UserId::new(Uuid::from_u128(1));
const BEN: UserId = UserId::new(Uuid::from_u128(2));

/// The beginning of every key.
const FOLDER: u8 = 7;

fn key(n: u8) -> ImageKey {
    let mut bits = [n; 16];
    bits[0] = FOLDER;
    ImageKey::new(bits, ImageFormat::Png)
}

/// Returns the image of a number, of as many bytes, stored at an instant.
fn stored(n: u8, modified: i64) -> StoredImage {
    let (rendition, modified) = (Rendition::Original, Timestamp::from_unix_millis(modified));
    StoredImage { key: key(n), rendition, bytes: n.into(), modified }
}

fn usage(images: u64, bytes: u64) -> Usage {
    Usage { images, bytes }
}

/// What is where.
#[derive(Clone, Default)]
struct Scenario {
    /// What is listed in the store.
    listed: Vec<StoredImage>,
    /// What rows name when the listing is over.
    named: Vec<(ImageKey, UserId)>,
    /// What they name at a second look.
    named_later: Vec<ImageKey>,
    on_record: Vec<ImageKey>,
    /// What the store has at a second look.
    found_later: Vec<ImageKey>,
    /// What is deleted.
    deleted: Vec<ImageKey>,
}

impl Scenario {
    /// Returns a comparison at 10,000, by which what is stored since 9,000 may be of an upload in flight.
    async fn check(self, delete: bool) -> MediaReport {
        let (mut store, mut named, mut unnamed) =
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
        named.expect_named_in().once().withf(|folder| *folder == FOLDER).returning(move |_| Ok(first.clone()));
        let of = |among: Vec<ImageKey>| {
            move |keys: &[ImageKey]| Ok(keys.iter().filter(|key| among.contains(key)).cloned().collect())
        };
        named.expect_named_of().returning(of(named_later));
        unnamed.expect_recorded().returning(of(on_record));
        let clock = clock(Timestamp::from_unix_millis(10_000));
        let check = MediaCheck::new(Arc::new(store), Arc::new(named), Arc::new(unnamed), &*clock, 1_000);
        let mut report = MediaReport::default();
        check.folder(FOLDER, delete, &mut report).await.unwrap();
        report
    }
}

#[tokio::test]
async fn images_are_counted_with_whose_they_are() {
    let place = Scenario {
        listed: vec![stored(1, 0), stored(2, 0), stored(4, 0), stored(8, 9_999)],
        named: vec![(key(1), ADA), (key(4), BEN), (key(8), ADA), (key(2), ADA)],
        ..Scenario::default()
    };
    let report = place.check(true).await;
    let users = HashMap::from([(ADA, usage(3, 11)), (BEN, usage(1, 4))]);
    assert_eq!(report, MediaReport { named: usage(4, 15), users, ..MediaReport::default() });
}

#[tokio::test]
async fn only_what_nothing_knows_and_is_old_is_deleted_and_only_when_asked_for() {
    let place = Scenario {
        listed: vec![stored(1, 0), stored(2, 8_999), stored(4, 9_000), stored(8, 0), stored(16, 0), stored(32, 0)],
        named: vec![(key(1), ADA)],
        // A row came to name it after the rows were read.
        named_later: vec![key(8)],
        on_record: vec![key(16)],
        ..Scenario::default()
    };
    let expected = MediaReport {
        named: usage(2, 9),
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
async fn an_image_is_lost_when_it_is_not_there_at_a_second_look_and_named_still() {
    let place = Scenario {
        named: vec![(key(1), ADA), (key(2), ADA), (key(3), ADA)],
        // The first came after the listing, the second is no longer named.
        found_later: vec![key(1)],
        named_later: vec![key(1), key(3)],
        ..Scenario::default()
    };
    let expected = MediaReport { lost: 1, first_lost: vec![(key(3), ADA)], ..MediaReport::default() };
    assert_eq!(place.check(true).await, expected);
}

#[tokio::test]
async fn the_first_of_many_lost_images_are_named() {
    let keys: Vec<ImageKey> = (0..20).map(key).collect();
    let named = keys.iter().map(|key| (key.clone(), ADA)).collect();
    let report = Scenario { named, named_later: keys, ..Scenario::default() }.check(false).await;
    assert_eq!((report.lost, report.first_lost.len()), (20, MediaCheck::MAX_LOST));
}

#[tokio::test]
async fn a_thumbnail_counts_with_its_image_and_goes_with_it() {
    let thumbnail = |n, modified| StoredImage { rendition: Rendition::Thumbnail, ..stored(n, modified) };
    let place = Scenario {
        listed: vec![
            thumbnail(1, 0),
            stored(1, 0),
            // Nothing knows these: of the second, a file is new; of the third, there is nothing else.
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
        named: usage(1, 2),
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
