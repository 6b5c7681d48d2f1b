//! The use cases of images, and the helper with which other use cases store and delete them.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use futures_util::future::{join_all, try_join_all};

use super::{AltText, Attachment, ByteRange, CleanImage, ImageKey, ImagePorts, MediaIds, OpenImage, Rendition};
use crate::accounts::Member;
use crate::clock::Clock;
use crate::error::{Error, FieldErrors, FieldName, Resource, Result, Violation, ViolationKind};
use crate::id::UserId;
use crate::limits::Requester;

/// The fields of an upload as a client sent them.
#[derive(Debug, Clone, Default)]
pub struct UploadFields {
    /// The image file.
    pub image: Option<Bytes>,
    /// Its description.
    pub alt: Option<AltText>,
    /// The violations found while parsing the fields.
    pub errors: FieldErrors,
}

/// The use cases of uploading and reading images.
pub struct Media {
    images: Images,
}

impl Media {
    /// Creates the use cases over these ports.
    pub fn new(images: ImagePorts, clock: Arc<dyn Clock>) -> Self {
        Self { images: Images::new(images, clock) }
    }

    /// Stores an image that its owner may attach to one post. It is deleted if it is not attached within an hour.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the image or the alt text; [`Error::TooLarge`] for the image; [`Error::Unavailable`] when too
    /// many images of the requester, or in total, are being checked.
    pub async fn upload(&self, owner: &Member, requester: &Requester, fields: UploadFields) -> Result<Attachment> {
        let UploadFields { image, alt, mut errors } = fields;
        if image.is_none() {
            errors.add(FieldName::Image, Violation::new(ViolationKind::Required, "Image is required"));
        }
        let image = self.images.clean(requester, FieldName::Image, image, &mut errors).await?;
        errors.into_result()?;
        // A request without an image was rejected above.
        let image = image.ok_or(Error::NotFound(Resource::Image))?;
        self.images.put_upload(owner.id(), image, alt).await
    }

    /// Opens a file of an image, or part of it, for anybody who knows the key. A thumbnail is served only while its original
    /// exists, since something that knows of no thumbnails may have deleted the original alone.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none of that key.
    pub async fn open(&self, key: &ImageKey, rendition: Rendition, range: Option<ByteRange>) -> Result<OpenImage> {
        let store = &self.images.ports.store;
        let is_there = rendition == Rendition::Original
            || store.open(key, Rendition::Original, Some(ByteRange::Last(0))).await?.is_some();
        let opened = if is_there { store.open(key, rendition, range).await? } else { None };
        opened.ok_or(Error::NotFound(Resource::Image))
    }

    /// Returns the URL at which clients fetch a file of an image without going through the service, if there is one.
    pub fn public_url(&self, key: &ImageKey, rendition: Rendition) -> Option<String> {
        self.images.ports.store.public_url(key, rendition)
    }
}

/// Checks, stores and deletes the images of other use cases.
#[derive(Clone)]
pub(crate) struct Images {
    ports: ImagePorts,
    clock: Arc<dyn Clock>,
}

impl Images {
    pub(crate) fn new(ports: ImagePorts, clock: Arc<dyn Clock>) -> Self {
        Self { ports, clock }
    }

    /// Checks the upload that came as the input `field`, if any. If it is invalid, adds the violation to `errors`.
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

    /// Puts an image, if any, on record and then stores it. If the store fails, the record is left for the sweep, since the image
    /// may have been stored all the same.
    pub(crate) async fn put(&self, image: Option<CleanImage>) -> Result<Option<Attachment>> {
        let Some(image) = image else { return Ok(None) };
        let attachment = Attachment::of(self.ports.store.new_key(image.format)?, &image, None);
        self.ports.unreferenced.announce(&attachment.key, self.clock.now()).await?;
        self.put_files(&attachment.key, image.bytes, Some(image.thumbnail)).await?;
        Ok(Some(attachment))
    }

    /// Stores an image in the same way as an upload that its owner may attach to a post.
    async fn put_upload(&self, owner: UserId, image: CleanImage, alt: Option<AltText>) -> Result<Attachment> {
        let attachment = Attachment::of(self.ports.store.new_key(image.format)?, &image, alt);
        self.ports.unreferenced.announce_upload(owner, &attachment, self.clock.now()).await?;
        self.put_files(&attachment.key, image.bytes, Some(image.thumbnail)).await?;
        Ok(attachment)
    }

    async fn put_files(&self, key: &ImageKey, original: Bytes, thumbnail: Option<Bytes>) -> Result<()> {
        self.ports.store.put(key, Rendition::Original, original).await?;
        if let Some(thumbnail) = thumbnail {
            self.ports.store.put(key, Rendition::Thumbnail, thumbnail).await?;
        }
        Ok(())
    }

    /// Returns the uploads of an owner with these ids that no post has yet.
    pub(crate) async fn find_uploads(&self, owner: UserId, ids: &MediaIds) -> Result<Vec<Attachment>> {
        if ids.as_slice().is_empty() {
            return Ok(Vec::new());
        }
        self.ports.unreferenced.find_uploads(owner, ids.as_slice()).await
    }

    /// Copies the files of images to new keys, which are put on record first, and returns the copies. An image that is missing,
    /// or that the store cannot read or write now, is returned under its old key.
    pub(crate) async fn copy(&self, attachments: &[Attachment]) -> Result<Vec<Attachment>> {
        // All at once: a store that does not answer delays all of them by a single timeout.
        try_join_all(
            attachments
                .iter()
                .map(async |attachment| Ok(self.copy_one(attachment).await?.unwrap_or_else(|| attachment.clone()))),
        )
        .await
    }

    async fn copy_one(&self, attachment: &Attachment) -> Result<Option<Attachment>> {
        let key = &attachment.key;
        let Some(Some(original)) = if_available(self.read(key, Rendition::Original).await)? else { return Ok(None) };
        let Some(thumbnail) = if_available(self.read(key, Rendition::Thumbnail).await)? else { return Ok(None) };
        let copy = Attachment { key: self.ports.store.new_key(key.format())?, ..attachment.clone() };
        self.ports.unreferenced.announce(&copy.key, self.clock.now()).await?;
        Ok(if_available(self.put_files(&copy.key, original, thumbnail).await)?.map(|()| copy))
    }

    async fn read(&self, key: &ImageKey, rendition: Rendition) -> Result<Option<Bytes>> {
        let Some(image) = self.ports.store.open(key, rendition, None).await? else { return Ok(None) };
        let bytes: Vec<Bytes> = image.bytes.try_collect().await?;
        Ok(Some(bytes.concat().into()))
    }

    /// Deletes stored images after writing the row that was to reference them failed with `error`, which it returns. It does so
    /// only if `error` means that the row was certainly not written. Otherwise the images are left alone; if there is no row,
    /// they are on record.
    pub(crate) async fn take_back(&self, keys: impl Keys, error: Error) -> Error {
        if error.is_rejection() {
            self.delete_unreferenced(keys).await;
        }
        error
    }

    /// Deletes images that no row references, and then their record. Returns whether the store has deleted all of them. After a
    /// failure, both are left to the sweep.
    pub(crate) async fn delete_unreferenced(&self, keys: impl Keys) -> bool {
        let dropped = keys.into_iter().map(async |key| {
            let is_deleted = self.ports.store.delete(&key).await.is_ok();
            if is_deleted {
                let _ = self.ports.unreferenced.forget(&[key]).await;
            }
            is_deleted
        });
        // All at once: a store that does not answer delays all of them by a single timeout.
        join_all(dropped).await.into_iter().all(|is_deleted| is_deleted)
    }
}

/// Converts the error of an unavailable store into `None`.
fn if_available<T>(outcome: Result<T>) -> Result<Option<T>> {
    match outcome {
        Err(Error::Unavailable(_)) => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// Any number of image keys, such as a `Vec` or an `Option`.
pub(crate) trait Keys: IntoIterator<Item = ImageKey, IntoIter: Send> + Send {}

impl<T: IntoIterator<Item = ImageKey, IntoIter: Send> + Send> Keys for T {}
