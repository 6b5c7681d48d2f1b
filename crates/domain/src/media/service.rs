//! Reading images, and what other use cases do with them.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;

use super::{ByteRange, CleanImage, ImageKey, ImagePorts, ImageStore, OpenImage};
use crate::clock::Clock;
use crate::error::{Error, FieldErrors, FieldName, Resource, Result};
use crate::limits::Requester;

/// The images of the service, for reading.
pub struct Media {
    store: Arc<dyn ImageStore>,
}

impl Media {
    /// The images in `store`.
    pub fn new(store: Arc<dyn ImageStore>) -> Self {
        Self { store }
    }

    /// Opens an image, or part of it. Whoever knows the key may read it.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none of that key.
    pub async fn open(&self, key: &ImageKey, range: Option<ByteRange>) -> Result<OpenImage> {
        self.store.open(key, range).await?.ok_or(Error::NotFound(Resource::Image))
    }

    /// Returns the address at which clients fetch an image without the service, if there is one.
    pub fn public_url(&self, key: &ImageKey) -> Option<String> {
        self.store.public_url(key)
    }
}

/// What a use case does with images: clean and store one, take one back, drop one.
#[derive(Clone)]
pub(crate) struct Images {
    ports: ImagePorts,
    clock: Arc<dyn Clock>,
}

impl Images {
    pub(crate) fn new(ports: ImagePorts, clock: Arc<dyn Clock>) -> Self {
        Self { ports, clock }
    }

    /// Checks the upload that came as the input `field`, if any. Invalid ones are recorded in `errors`.
    pub(crate) async fn clean(
        &self,
        requester: &Requester,
        field: FieldName,
        upload: Option<Bytes>,
        errors: &mut FieldErrors,
    ) -> Result<Option<CleanImage>> {
        let Some(upload) = upload else { return Ok(None) };
        let cleaned = self.ports.cleaner.clean(upload, requester).await;
        errors.absorb(cleaned.map_err(|problem| problem.in_field(field)))
    }

    /// Stores an image, if any, that is on record before. When the store fails, it stays there for the sweep: the image
    /// may have arrived all the same.
    pub(crate) async fn put(&self, image: Option<CleanImage>) -> Result<Option<ImageKey>> {
        let Some(image) = image else { return Ok(None) };
        let key = self.ports.store.new_key(image.format)?;
        self.ports.unnamed.announce(&key, self.clock.now()).await?;
        self.ports.store.put(&key, image.bytes).await?;
        Ok(Some(key))
    }

    /// Stores an image under another key as well, which is on record before; nothing when there is none.
    pub(crate) async fn copy(&self, key: &ImageKey) -> Result<Option<ImageKey>> {
        let Some(image) = self.ports.store.open(key, None).await? else { return Ok(None) };
        let bytes: Vec<Bytes> = image.bytes.try_collect().await?;
        self.put(Some(CleanImage { format: key.format(), bytes: bytes.concat().into() })).await
    }

    /// Takes back a stored image after the row that was to name it failed with `error`. Only after a sure rejection:
    /// where the row may exist all the same, the image is left as it is, on record if there is no row.
    pub(crate) async fn take_back(&self, key: Option<ImageKey>, error: Error) -> Error {
        if error.is_rejection() {
            self.drop_unnamed(key).await;
        }
        error
    }

    /// Deletes an image that no row names, and then the record of it. A failure leaves both to the sweep.
    pub(crate) async fn drop_unnamed(&self, key: Option<ImageKey>) {
        if let Some(key) = key
            && self.ports.store.delete(&key).await.is_ok()
        {
            let _ = self.ports.unnamed.forget(&[key]).await;
        }
    }
}
