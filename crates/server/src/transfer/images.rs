//! Images from a source into a target, each read back.

use agora_domain::{
    Result,
    media::{ImageKey, ImageStore},
};
use agora_media::ObjectImageStore;
use anyhow::{Context, ensure};
use bytes::{Bytes, BytesMut};
use futures_util::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};

use super::Progress;

/// How many images are on their way at once: each is whole in memory meanwhile.
pub(crate) const AT_ONCE: usize = 8;

/// What became of images.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Those written.
    pub(crate) written: u64,
    /// Those that the target had.
    pub(crate) present: u64,
    /// The bytes of both.
    pub(crate) bytes: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, arrival: &Arrival) {
        let (Arrival::Written(bytes) | Arrival::Present(bytes)) = arrival;
        self.bytes += bytes;
        match arrival {
            Arrival::Written(_) => self.written += 1,
            Arrival::Present(_) => self.present += 1,
        }
    }

    /// As a sentence for an operator, that begins with what was done.
    pub(crate) fn in_words(&self, done: &str) -> String {
        let Self { written, present, bytes } = self;
        let images = written + present;
        let megabytes = bytes.div_ceil(1_000_000);
        format!(
            "{done} {images} images ({megabytes} MB), {present} of which were there already. Each was read back and compared."
        )
    }
}

/// How an image came to be in the target, and its bytes.
pub(crate) enum Arrival {
    Written(u64),
    Present(u64),
}

/// Every image of a store.
pub(crate) async fn all(store: &ObjectImageStore) -> Result<BoxStream<'static, Result<ImageKey>>> {
    store.list().await
}

/// All bytes of an image; nothing when there is none of that key.
pub(crate) async fn read(store: &ObjectImageStore, key: &ImageKey) -> Result<Option<Bytes>> {
    let Some(image) = store.open(key, None).await? else { return Ok(None) };
    let bytes = image.bytes.try_fold(BytesMut::new(), async |mut all, part| {
        all.extend_from_slice(&part);
        Ok(all)
    });
    bytes.await.map(|all| Some(all.freeze()))
}

/// Puts an image where it is not yet, and makes sure that it is.
pub(crate) async fn put(store: &ObjectImageStore, key: &ImageKey, bytes: Bytes) -> anyhow::Result<Arrival> {
    let size = u64::try_from(bytes.len())?;
    if read(store, key).await?.is_some_and(|present| present == bytes) {
        return Ok(Arrival::Present(size));
    }
    store.put(key, bytes.clone()).await?;
    let arrived = read(store, key).await?;
    ensure!(
        arrived.is_some_and(|arrived| arrived == bytes),
        "the image {} did not arrive as it was sent",
        key.as_str()
    );
    Ok(Arrival::Written(size))
}

/// Copies every image. One that vanishes meanwhile is passed over.
pub(crate) async fn copy(
    from: &ObjectImageStore,
    to: &ObjectImageStore,
    progress: &mut Progress,
) -> anyhow::Result<Tally> {
    progress.phase("images", None);
    let arrivals = all(from).await?.map(async |key| {
        let key = key?;
        let context = || format!("image {}", key.as_str());
        match read(from, &key).await.with_context(context)? {
            Some(bytes) => put(to, &key, bytes).await.with_context(context).map(Some),
            None => Ok(None),
        }
    });
    let mut arrivals = std::pin::pin!(arrivals.buffer_unordered(AT_ONCE));
    let mut tally = Tally::default();
    while let Some(arrival) = arrivals.try_next().await? {
        if let Some(arrival) = arrival {
            tally.add(&arrival);
        }
        progress.advance(1);
    }
    Ok(tally)
}

/// Those of the keys that the store has no image of.
pub(crate) async fn missing(store: &ObjectImageStore, keys: Vec<ImageKey>) -> Result<Vec<ImageKey>> {
    let looked = stream::iter(keys).map(async |key| Ok(store.open(&key, None).await?.is_none().then_some(key)));
    looked.buffer_unordered(AT_ONCE).try_filter_map(async |key| Ok(key)).try_collect().await
}
