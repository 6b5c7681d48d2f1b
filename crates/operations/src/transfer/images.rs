//! Moves images from a source to a target, and reads each back.

use std::sync::Arc;

use agora_database::Snapshot;
use agora_domain::Result;
use agora_domain::media::{ByteRange, ImageKey, ImageStore, OpenImage, Rendition};
use agora_media::ObjectImageStore;
use anyhow::{Context, bail, ensure};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use indicatif::DecimalBytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::AbortOnDropHandle;

use super::rows;
use crate::context::OperatorContext;
use crate::progress::Progress;

/// How many images are read or written concurrently.
pub(crate) const CONCURRENCY: usize = 8;

/// The most bytes of an image: the largest limit that can be configured.
pub(crate) const MAX_BYTES: u64 = 1 << 30;

/// The names of the stores in messages to the operator.
pub(crate) const SOURCE: &str = "the source image store";
pub(crate) const TARGET: &str = "the target image store";

/// Counts of images that were moved.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Images that were written.
    pub(crate) written: u64,
    /// Images that the target had already.
    pub(crate) present: u64,
    /// The bytes of both, thumbnails included.
    pub(crate) bytes: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.written += other.written;
        self.present += other.present;
        self.bytes += other.bytes;
    }

    /// Returns a sentence for the operator that begins with `done`, such as "Copied".
    pub(crate) fn in_words(&self, done: &str) -> String {
        let Self { written, present, bytes } = self;
        let images = written + present;
        let size = DecimalBytes(*bytes);
        format!("{done} {images} images ({size}), {present} of which already existed. Each was read back and compared.")
    }
}

/// The most memory for images that are being moved, in KiB. A larger image takes all of it.
const MEMORY: u32 = 32 * 1024;

/// Returns a semaphore with a permit for each KiB of [`MEMORY`].
pub(crate) fn memory() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(MEMORY as usize))
}

/// Waits until memory for that many bytes is free.
pub(crate) async fn acquire_memory(memory: &Arc<Semaphore>, bytes: u64) -> anyhow::Result<OwnedSemaphorePermit> {
    Ok(Arc::clone(memory).acquire_many_owned(kib(bytes)).await?)
}

/// Returns the permits for that many bytes: one for each KiB, at least one and at most all.
fn kib(bytes: u64) -> u32 {
    u32::try_from(bytes >> 10).unwrap_or(u32::MAX).clamp(1, MEMORY)
}

/// The bytes of a rendition of an image, and the permit for their memory.
pub(crate) type ImageFile = (Bytes, OwnedSemaphorePermit);

/// Reads a rendition of an image; returns `None` if it does not exist.
pub(crate) async fn read(
    store: &ObjectImageStore,
    key: &ImageKey,
    rendition: Rendition,
    memory: &Arc<Semaphore>,
) -> anyhow::Result<Option<ImageFile>> {
    let Some(mut image) = store.open(key, rendition, None).await.operator_context(SOURCE)? else { return Ok(None) };
    ensure!(image.size <= MAX_BYTES, "{SOURCE}: {} is too large for an image", key.as_str());
    let permit = match Arc::clone(memory).try_acquire_many_owned(kib(image.size)) {
        Ok(permit) => permit,
        Err(_) => {
            // The server would time out a response that is not read while this waits: it is requested again afterwards.
            let size = image.size;
            drop(image);
            let permit = acquire_memory(memory, size).await?;
            let Some(again) = store.open(key, rendition, None).await.operator_context(SOURCE)? else { return Ok(None) };
            ensure!(again.size == size, "{SOURCE}: {} has changed", key.as_str());
            image = again;
            permit
        }
    };
    let mut all = BytesMut::with_capacity(usize::try_from(image.size)?);
    while let Some(part) = image.bytes.try_next().await.operator_context(SOURCE)? {
        let longer = all.len() + part.len();
        ensure!(u64::try_from(longer)? <= image.size, "{SOURCE}: {} is longer than announced", key.as_str());
        all.extend_from_slice(&part);
    }
    Ok(Some((all.freeze(), permit)))
}

/// Reads a rendition of each image and yields them in the order in which they complete, with `None` for one that does not exist.
/// Each is read by a spawned task, so that a slow consumer of the stream does not run into timeouts of the store.
pub(crate) fn read_each(
    store: &ObjectImageStore,
    keys: Vec<ImageKey>,
    rendition: Rendition,
    memory: &Arc<Semaphore>,
) -> impl Stream<Item = anyhow::Result<(ImageKey, Option<ImageFile>)>> {
    let reads = stream::iter(keys).map(move |key| {
        let (store, memory) = (store.clone(), Arc::clone(memory));
        let reading = tokio::spawn(async move {
            let file = read(&store, &key, rendition, &memory).await?;
            Ok((key, file))
        });
        let reading = AbortOnDropHandle::new(reading);
        async move { reading.await? }
    });
    reads.buffer_unordered(CONCURRENCY)
}

/// Returns whether a stored image consists of exactly these bytes.
async fn is_equal(image: Option<OpenImage>, expected: &[u8]) -> Result<bool> {
    let Some(mut image) = image.filter(|image| usize::try_from(image.size) == Ok(expected.len())) else {
        return Ok(false);
    };
    let mut left = expected;
    while let Some(part) = image.bytes.try_next().await? {
        match left.split_at_checked(part.len()) {
            Some((first, rest)) if first == part => left = rest,
            _ => return Ok(false),
        }
    }
    Ok(left.is_empty())
}

/// Writes a rendition of an image unless the store has it already, and reads it back to verify it. The tally counts an image with
/// its original, not with its thumbnail.
pub(crate) async fn put(
    store: &ObjectImageStore,
    key: &ImageKey,
    rendition: Rendition,
    bytes: Bytes,
) -> anyhow::Result<Tally> {
    let tally = Tally { bytes: u64::try_from(bytes.len())?, ..Tally::default() };
    let one = u64::from(rendition == Rendition::Original);
    let found = async || {
        let image = store.open(key, rendition, None).await.operator_context(TARGET)?;
        is_equal(image, &bytes).await.operator_context(TARGET)
    };
    if found().await? {
        return Ok(Tally { present: one, ..tally });
    }
    store.put(key, rendition, bytes.clone()).await.operator_context(TARGET)?;
    ensure!(found().await?, "{TARGET}: {} is not what was written", key.file_name(rendition));
    Ok(Tally { written: one, ..tally })
}

/// Copies the renditions of an image that exist.
async fn copy_one(
    from: &ObjectImageStore,
    to: &ObjectImageStore,
    key: &ImageKey,
    memory: &Arc<Semaphore>,
) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    for rendition in Rendition::ALL {
        let Some((bytes, _room)) = read(from, key, rendition, memory).await? else { break };
        tally.add(&put(to, key, rendition, bytes).await?);
    }
    Ok(tally)
}

/// Copies every image. One that is deleted meanwhile is skipped.
pub(crate) async fn copy(
    from: &ObjectImageStore,
    to: &ObjectImageStore,
    progress: &mut Progress,
) -> anyhow::Result<Tally> {
    progress.phase("images", None);
    let memory = &memory();
    let copies = from
        .list()
        .await
        .operator_context(SOURCE)?
        .map(async |key| copy_one(from, to, &key.operator_context(SOURCE)?, memory).await);
    let mut copies = std::pin::pin!(copies.buffer_unordered(CONCURRENCY));
    let mut tally = Tally::default();
    while let Some(copied) = copies.try_next().await? {
        tally.add(&copied);
        progress.advance(1)?;
    }
    Ok(tally)
}

/// Returns the keys of images that the store lacks. It opens each image but reads none of its bytes.
pub(crate) async fn missing(store: &ObjectImageStore, keys: Vec<ImageKey>) -> Result<Vec<ImageKey>> {
    let lookups = stream::iter(keys).map(async |key| {
        let found = store.open(&key, Rendition::Original, Some(ByteRange::Last(0))).await?;
        Ok(found.is_none().then_some(key))
    });
    lookups.buffer_unordered(CONCURRENCY).try_filter_map(async |key| Ok(key)).try_collect().await
}

/// Returns the images that the rows of a target reference and its store lacks.
pub(crate) async fn lost(
    rows: &mut Snapshot,
    store: &ObjectImageStore,
    progress: &mut Progress,
) -> anyhow::Result<Vec<ImageKey>> {
    progress.phase("check images", None);
    let mut lost = Vec::new();
    let mut named = std::pin::pin!(rows.images());
    while let Some(keys) = named.try_next().await.operator_context(rows::TARGET)? {
        let checked = u64::try_from(keys.len())?;
        lost.extend(missing(store, keys).await.operator_context(TARGET)?);
        progress.advance(checked)?;
    }
    Ok(lost)
}

/// Returns a warning about missing images, or fails with it unless they are allowed; `None` if there are none.
pub(crate) fn report_missing(lost: &[ImageKey], allowed: bool) -> anyhow::Result<Option<String>> {
    if lost.is_empty() {
        return Ok(None);
    }
    let names: Vec<&str> = lost.iter().take(10).map(ImageKey::as_str).collect();
    let more = if lost.len() > names.len() { ", ..." } else { "" };
    let text = format!("{} referenced images are missing: {}{more}", lost.len(), names.join(", "));
    if !allowed {
        bail!("{text}\nIs this the right store? --allow-missing-images continues without them.");
    }
    Ok(Some(format!("Warning: {text}")))
}

/// Fails if the target has images that the source lacks. Those of an interrupted copy are in both.
pub(crate) async fn refuse_others(from: &ObjectImageStore, to: &ObjectImageStore) -> anyhow::Result<()> {
    let present = to.list().await.operator_context(TARGET)?.try_chunks(1_000).map_err(|error| error.1);
    let mut present = std::pin::pin!(present);
    while let Some(keys) = present.try_next().await.operator_context(TARGET)? {
        let others = missing(from, keys).await.operator_context(SOURCE)?;
        ensure!(others.is_empty(), "{TARGET} has images that the source lacks; --replace keeps them");
    }
    Ok(())
}

/// Fails if the source has no image: most likely it is the wrong store.
pub(crate) async fn refuse_empty(store: &ObjectImageStore) -> anyhow::Result<()> {
    let first = store.list().await.operator_context(SOURCE)?.next().await.context("the source image store is empty")?;
    first.operator_context(SOURCE).map(drop)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use agora_domain::media::ImageFormat;
    use object_store::memory::InMemory;
    use object_store::throttle::{ThrottleConfig, ThrottledStore};
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_slow_consumer_of_the_stream_receives_every_image() {
        let slow = || ThrottleConfig { wait_get_per_byte: Duration::from_millis(100), ..ThrottleConfig::default() };
        // Each part arrives in two steps, as over a network, and those of some images later than those of others.
        let objects = ThrottledStore::new(ThrottledStore::new(InMemory::new(), slow()), slow());
        let store = ObjectImageStore::new(Arc::new(objects));
        let mut keys: Vec<_> = (0..20).map(|n| ImageKey::new([n; 16], ImageFormat::Png)).collect();
        for (n, key) in keys.iter().enumerate() {
            store.put(key, Rendition::Original, vec![0; n + 1].into()).await.unwrap();
        }
        keys.push(ImageKey::new([20; 16], ImageFormat::Png));
        let memory = memory();
        let mut read = std::pin::pin!(read_each(&store, keys, Rendition::Original, &memory));
        let (mut there, mut missing) = (0, 0);
        while let Some((_, file)) = read.try_next().await.unwrap() {
            if file.is_some() {
                there += 1
            } else {
                missing += 1
            }
            sleep(Duration::from_secs(60)).await;
        }
        assert_eq!((there, missing), (20, 1));
    }
}
