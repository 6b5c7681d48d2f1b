//! Compares what a store holds with what rows name.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};

use super::{ByteRange, ImageKey, ImageReferences, ImageStore, Rendition, StoredImage, UnreferencedImages};
use crate::clock::{Clock, Timestamp};
use crate::error::Result;
use crate::id::UserId;

/// Some images, and the bytes of all their files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// How many.
    pub images: u64,
    /// How many bytes they have together.
    pub bytes: u64,
}

impl Usage {
    fn add(&mut self, bytes: u64) {
        self.images += 1;
        self.bytes += bytes;
    }
}

/// What a store holds of an image.
struct Files {
    key: ImageKey,
    /// The bytes of all of them.
    bytes: u64,
    /// When the last one was stored.
    modified: Timestamp,
    has_original: bool,
}

impl Files {
    fn of(key: ImageKey) -> Self {
        Self { key, bytes: 0, modified: Timestamp::from_unix_millis(i64::MIN), has_original: false }
    }

    fn add(&mut self, object: &StoredImage) {
        self.bytes += object.bytes;
        self.modified = self.modified.max(object.modified);
        self.has_original |= object.rendition == Rendition::Original;
    }
}

/// What a comparison found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MediaReport {
    /// The images that rows name and that are there.
    pub named: Usage,
    /// Those of them that each user's posts and profile name.
    pub users: HashMap<UserId, Usage>,
    /// The images that no row names and that are on record: the sweep collects them.
    pub on_record: Usage,
    /// The images that nothing knows.
    pub unknown: Usage,
    /// Those of them that are old enough to be deleted.
    pub deletable: Usage,
    /// Those of them that were deleted.
    pub deleted: Usage,
    /// How many images rows name that are not there.
    pub lost: u64,
    /// The first of them, [`MediaCheck::MAX_LOST`] at most, and whose posts or profile name them.
    pub first_lost: Vec<(ImageKey, UserId)>,
}

/// Compares the objects of the store with the rows that name them, a 256th of them at a time, which bounds the memory.
pub struct MediaCheck {
    store: Arc<dyn ImageStore>,
    named: Arc<dyn ImageReferences>,
    unnamed: Arc<dyn UnreferencedImages>,
    oldest_in_flight: Timestamp,
}

impl MediaCheck {
    /// How many lost images are named.
    pub const MAX_LOST: usize = 10;

    /// How many images are asked about at once.
    const BATCH: usize = 500;

    /// How many answers of the store are waited for at once.
    const AT_ONCE: usize = 8;

    /// A comparison that takes every object younger than `min_age_millis` for one of an upload in flight.
    pub fn new(
        store: Arc<dyn ImageStore>,
        named: Arc<dyn ImageReferences>,
        unnamed: Arc<dyn UnreferencedImages>,
        clock: &dyn Clock,
        min_age_millis: i64,
    ) -> Self {
        Self { store, named, unnamed, oldest_in_flight: clock.now().plus_millis(-min_age_millis) }
    }

    /// Compares the images whose keys begin with a byte, and adds what it finds to a report. With `delete`, it deletes
    /// those that nothing knows: no row names them and none ever will, since only what is on record can come to be
    /// named. They must be old enough besides.
    ///
    /// # Errors
    /// The first failure of the store or the database.
    pub async fn folder(&self, folder: u8, delete: bool, report: &mut MediaReport) -> Result<()> {
        // The objects first: an image is stored before a row names it, and deleted after.
        let mut objects = self.store.list_folder(folder).await?;
        let mut unnamed: HashMap<ImageKey, Files> = HashMap::new();
        while let Some(object) = objects.try_next().await? {
            unnamed.entry(object.key.clone()).or_insert_with(|| Files::of(object.key.clone())).add(&object);
        }
        let named = self.named.named_in(folder).await?;
        let mut missing = Vec::new();
        for (key, owner) in named {
            match unnamed.remove(&key).filter(|files| files.has_original) {
                Some(files) => {
                    report.named.add(files.bytes);
                    report.users.entry(owner).or_default().add(files.bytes);
                }
                None => missing.push((key, owner)),
            }
        }
        let unnamed: Vec<Files> = unnamed.into_values().collect();
        for objects in unnamed.chunks(Self::BATCH) {
            self.judge(objects, delete, report).await?;
        }
        for named in missing.chunks(Self::BATCH) {
            let mut lost = self.lost(named).await?;
            report.lost += u64::try_from(lost.len()).unwrap_or(u64::MAX);
            lost.truncate(Self::MAX_LOST.saturating_sub(report.first_lost.len()));
            report.first_lost.extend(lost);
        }
        Ok(())
    }

    /// Tells what the objects are that no row named when it was looked, and deletes what may be.
    async fn judge(&self, objects: &[Files], delete: bool, report: &mut MediaReport) -> Result<()> {
        let keys: Vec<ImageKey> = objects.iter().map(|object| object.key.clone()).collect();
        // In this order: a row takes an image off the record when it comes to name it.
        let on_record: HashSet<ImageKey> = self.unnamed.recorded(&keys).await?.into_iter().collect();
        let named: HashSet<ImageKey> = self.named.named_of(&keys).await?.into_iter().collect();
        let mut deletable = Vec::new();
        for object in objects {
            if named.contains(&object.key) {
                // A row has come to name it since: the next check tells whose it is.
                report.named.add(object.bytes);
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
            let mut deleted = stream::iter(deletions).buffer_unordered(Self::AT_ONCE);
            while let Some(bytes) = deleted.try_next().await? {
                report.deleted.add(bytes);
            }
        }
        Ok(())
    }

    /// Returns those of the images that are not there although a row names them still.
    async fn lost(&self, named: &[(ImageKey, UserId)]) -> Result<Vec<(ImageKey, UserId)>> {
        let looked = named.iter().map(async |named| {
            let found = self.store.open(&named.0, Rendition::Original, Some(ByteRange::Last(0))).await?;
            Ok::<_, crate::Error>(found.is_none().then(|| named.clone()))
        });
        let looked: Vec<Option<_>> = stream::iter(looked).buffer_unordered(Self::AT_ONCE).try_collect().await?;
        let mut gone: Vec<(ImageKey, UserId)> = looked.into_iter().flatten().collect();
        if !gone.is_empty() {
            let keys: Vec<ImageKey> = gone.iter().map(|(key, _)| key.clone()).collect();
            let still: HashSet<ImageKey> = self.named.named_of(&keys).await?.into_iter().collect();
            gone.retain(|(key, _)| still.contains(key));
        }
        Ok(gone)
    }
}
