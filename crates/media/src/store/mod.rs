//! The image store over object storage.

#[cfg(test)]
mod tests;

use std::{ops::Range, sync::Arc};

use agora_domain::{
    clock::Timestamp,
    error::{Error, Result},
    media::{ByteRange, CleanImage, ImageKey, ImageStore, OpenImage},
};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{
    StreamExt, TryStreamExt, future,
    stream::{self, BoxStream},
};
use object_store::{GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutPayload, path::Path};

/// Keeps each image as one object.
///
/// The image of key `ab….jpg` is the object `ab/ab….jpg`: on 256 folders even millions of images are spread so
/// that each of them can still be listed by hand. Only these folders are ever looked into, and in them only objects
/// that are named like a key, so that others may lie next to them.
///
/// To keep the images under a prefix, pass an [`object_store::prefix::PrefixStore`].
pub struct ObjectImageStore {
    objects: Arc<dyn ObjectStore>,
}

impl ObjectImageStore {
    /// The images in `objects`, which MUST have an object whole and durable when it acknowledges it.
    pub fn new(objects: Arc<dyn ObjectStore>) -> Self {
        Self { objects }
    }

    /// Stores an image under the key that it has elsewhere, in place of what is there. It is whole and durable when this
    /// returns.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the store fails.
    pub async fn put_as(&self, key: &ImageKey, bytes: Bytes) -> Result<()> {
        self.objects.put(&path_of(key), bytes.into()).await.map_err(Error::unavailable)?;
        Ok(())
    }

    /// Reads part of an object, or all of it. `None` when there is none of that key.
    async fn read(&self, key: &ImageKey, range: Option<Range<u64>>) -> Result<Option<OpenImage>> {
        let options = GetOptions { range: range.map(Into::into), ..GetOptions::default() };
        let Some(found) = found(self.objects.get_opts(&path_of(key), options).await)? else { return Ok(None) };
        Ok(Some(OpenImage {
            size: found.meta.size,
            range: Some(found.range.clone()),
            bytes: found.into_stream().map_err(Error::unavailable).boxed(),
        }))
    }
}

#[async_trait]
impl ImageStore for ObjectImageStore {
    async fn put(&self, image: CleanImage) -> Result<ImageKey> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(Error::internal)?;
        let key = ImageKey::new(random, image.format);
        let payload = PutPayload::from(image.bytes);
        self.objects.put_opts(&path_of(&key), payload, PutMode::Create.into()).await.map_err(Error::unavailable)?;
        Ok(key)
    }

    async fn open(&self, key: &ImageKey, range: Option<ByteRange>) -> Result<Option<OpenImage>> {
        let Some(range) = range else { return self.read(key, None).await };
        let Some(meta) = found(self.objects.head(&path_of(key)).await)? else { return Ok(None) };
        match range.within(meta.size) {
            Some(range) => self.read(key, Some(range)).await,
            None => {
                Ok(Some(OpenImage { size: meta.size, range: None, bytes: stream::empty::<Result<Bytes>>().boxed() }))
            }
        }
    }

    async fn delete(&self, key: &ImageKey) -> Result<()> {
        found(self.objects.delete(&path_of(key)).await)?;
        Ok(())
    }

    async fn stored_before(&self, cutoff: Timestamp) -> Result<BoxStream<'static, Result<ImageKey>>> {
        let objects = Arc::clone(&self.objects);
        let folders = stream::iter(0..=u8::MAX).map(|folder| Path::from(format!("{folder:02x}")));
        let listed = folders.flat_map(move |folder| objects.list(Some(&folder)));
        let old = listed.try_filter_map(move |meta| {
            let old = meta.last_modified.timestamp_millis() < cutoff.unix_millis();
            future::ok(key_of(&meta).filter(|_| old))
        });
        Ok(old.map_err(Error::unavailable).boxed())
    }
}

fn path_of(key: &ImageKey) -> Path {
    let name = key.as_str();
    let folder: String = name.chars().take(2).collect();
    Path::from_iter([&folder, name])
}

/// The key of the image that an object is; `None` for anything else.
fn key_of(meta: &ObjectMeta) -> Option<ImageKey> {
    let key = ImageKey::parse(meta.location.filename()?)?;
    (path_of(&key) == meta.location).then_some(key)
}

/// What was found; `None` when there is no such object.
fn found<T>(outcome: object_store::Result<T>) -> Result<Option<T>> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(Error::unavailable(error)),
    }
}
