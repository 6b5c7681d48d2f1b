//! The check of a store: compares its objects with the images that rows reference.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};

use super::{ByteRange, ImageKey, ImageReferences, ImageStore, Rendition, StoredImage, UnreferencedImages};
use crate::clock::{Clock, Timestamp};
use crate::error::Result;
use crate::id::UserId;

/// The number of images of a kind and the total size of their files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// The number of images.
    pub images: u64,
    /// The total size of their files in bytes.
    pub bytes: u64,
}

impl Usage {
    fn add(&mut self, bytes: u64) {
        self.images += 1;
        self.bytes += bytes;
    }
}

/// The files of one image in the store.
struct StoredFiles {
    key: ImageKey,
    /// The total size in bytes.
    bytes: u64,
    /// When the newest of them was stored.
    modified: Timestamp,
    has_original: bool,
}

impl StoredFiles {
    fn of(key: ImageKey) -> Self {
        Self { key, bytes: 0, modified: Timestamp::from_unix_millis(i64::MIN), has_original: false }
    }

    fn add(&mut self, object: &StoredImage) {
        self.bytes += object.bytes;
        self.modified = self.modified.max(object.modified);
        self.has_original |= object.rendition == Rendition::Original;
    }
}

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MediaReport {
    /// The images that rows reference and that the store has.
    pub referenced: Usage,
    /// The same for each user's posts and profile.
    pub users: HashMap<UserId, Usage>,
    /// The images that no row references and that are on record: the sweep deletes them.
    pub on_record: Usage,
    /// The images that are neither referenced nor on record.
    pub unknown: Usage,
    /// The unknown images that are old enough to be deleted.
    pub deletable: Usage,
    /// The unknown images that were deleted.
    pub deleted: Usage,
    /// The number of images that rows reference and that the store does not have.
    pub lost: u64,
    /// The first of the lost images, [`MediaCheck::MAX_LOST`] at most, each with the user whose posts or profile reference it.
    pub first_lost: Vec<(ImageKey, UserId)>,
}

/// Compares the objects of the store with the rows that reference them, a 256th of them at a time to bound the memory.
pub struct MediaCheck {
    store: Arc<dyn ImageStore>,
    references: Arc<dyn ImageReferences>,
    unreferenced: Arc<dyn UnreferencedImages>,
    oldest_in_flight: Timestamp,
}

impl MediaCheck {
    /// The most lost images that a report lists.
    pub const MAX_LOST: usize = 10;

    /// The most images in one query of the database.
    const QUERY_BATCH: usize = 500;

    /// The most concurrent calls of the store.
    const MAX_STORE_CALLS: usize = 8;

    /// Creates a check that spares every object younger than `min_age_millis`, which may belong to an upload in flight.
    pub fn new(
        store: Arc<dyn ImageStore>,
        references: Arc<dyn ImageReferences>,
        unreferenced: Arc<dyn UnreferencedImages>,
        clock: &dyn Clock,
        min_age_millis: i64,
    ) -> Self {
        Self { store, references, unreferenced, oldest_in_flight: clock.now().plus_millis(-min_age_millis) }
    }

    /// Checks the images whose keys begin with a byte, and adds the results to `report`.
    ///
    /// With `delete`, it deletes the unknown images that are old enough: no row references them, and none ever will, since a row
    /// can only come to reference an image that is on record.
    ///
    /// # Errors
    /// The first failure of the store or the database.
    pub async fn folder(&self, folder: u8, delete: bool, report: &mut MediaReport) -> Result<()> {
        // The objects are read first: an image is stored before a row references it, and deleted after.
        let mut objects = self.store.list_folder(folder).await?;
        let mut unreferenced: HashMap<ImageKey, StoredFiles> = HashMap::new();
        while let Some(object) = objects.try_next().await? {
            unreferenced.entry(object.key.clone()).or_insert_with(|| StoredFiles::of(object.key.clone())).add(&object);
        }
        let referenced = self.references.referenced_in(folder).await?;
        let mut missing = Vec::new();
        for (key, owner) in referenced {
            match unreferenced.remove(&key).filter(|files| files.has_original) {
                Some(files) => {
                    report.referenced.add(files.bytes);
                    report.users.entry(owner).or_default().add(files.bytes);
                }
                None => missing.push((key, owner)),
            }
        }
        let unreferenced: Vec<StoredFiles> = unreferenced.into_values().collect();
        for objects in unreferenced.chunks(Self::QUERY_BATCH) {
            self.classify(objects, delete, report).await?;
        }
        for images in missing.chunks(Self::QUERY_BATCH) {
            let mut lost = self.find_lost(images).await?;
            report.lost += u64::try_from(lost.len()).unwrap_or(u64::MAX);
            lost.truncate(Self::MAX_LOST.saturating_sub(report.first_lost.len()));
            report.first_lost.extend(lost);
        }
        Ok(())
    }

    /// Classifies objects that no row referenced when the references were read, and with `delete` deletes those that may be.
    async fn classify(&self, objects: &[StoredFiles], delete: bool, report: &mut MediaReport) -> Result<()> {
        let keys: Vec<ImageKey> = objects.iter().map(|object| object.key.clone()).collect();
        // The record is read first: an image leaves it in the transaction that adds a reference, so it is found in one of them.
        let on_record: HashSet<ImageKey> = self.unreferenced.recorded(&keys).await?.into_iter().collect();
        let referenced: HashSet<ImageKey> = self.references.referenced_of(&keys).await?.into_iter().collect();
        let mut deletable = Vec::new();
        for object in objects {
            if referenced.contains(&object.key) {
                // A row has come to reference it since. The next check finds out its owner.
                report.referenced.add(object.bytes);
            } else if on_record.contains(&object.key) {
                report.on_record.add(object.bytes);
            } else {
                report.unknown.add(object.bytes);
                if object.modified < self.oldest_in_flight {
                    report.deletable.add(object.bytes);
                    deletable.push(object);
                }
            }
        }
        if delete {
            let deletions =
                deletable.into_iter().map(async |object| self.store.delete(&object.key).await.map(|()| object.bytes));
            let mut deleted = stream::iter(deletions).buffer_unordered(Self::MAX_STORE_CALLS);
            while let Some(bytes) = deleted.try_next().await? {
                report.deleted.add(bytes);
            }
        }
        Ok(())
    }

    /// Returns which of the images the store does not have although rows still reference them.
    async fn find_lost(&self, images: &[(ImageKey, UserId)]) -> Result<Vec<(ImageKey, UserId)>> {
        let lookups = images.iter().map(async |image| {
            let found = self.store.open(&image.0, Rendition::Original, Some(ByteRange::Last(0))).await?;
            Ok::<_, crate::Error>(found.is_none().then(|| image.clone()))
        });
        let absent: Vec<Option<_>> =
            stream::iter(lookups).buffer_unordered(Self::MAX_STORE_CALLS).try_collect().await?;
        let mut gone: Vec<(ImageKey, UserId)> = absent.into_iter().flatten().collect();
        if !gone.is_empty() {
            let keys: Vec<ImageKey> = gone.iter().map(|(key, _)| key.clone()).collect();
            let referenced: HashSet<ImageKey> = self.references.referenced_of(&keys).await?.into_iter().collect();
            gone.retain(|(key, _)| referenced.contains(key));
        }
        Ok(gone)
    }
}
