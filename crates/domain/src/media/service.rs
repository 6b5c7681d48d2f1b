//! Uploading and reading images, and what other use cases do with them.

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

/// An image and what it shows, as a client sent them.
#[derive(Debug, Clone, Default)]
pub struct UploadFields {
    /// The file.
    pub image: Option<Bytes>,
    /// What it shows.
    pub alt: Option<AltText>,
    /// What is invalid among them.
    pub errors: FieldErrors,
}

/// The images of the service.
pub struct Media {
    images: Images,
}

impl Media {
    /// The use cases over these ports.
    pub fn new(images: ImagePorts, clock: Arc<dyn Clock>) -> Self {
        Self { images: Images::new(images, clock) }
    }

    /// Stores an image that its owner may attach to one post. When no post has it for an hour, it is deleted.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the image or the alt text; [`Error::TooLarge`] for the image; [`Error::Unavailable`] when too
    /// many images of the requester, or of all, are being checked.
    pub async fn upload(&self, owner: &Member, requester: &Requester, fields: UploadFields) -> Result<Attachment> {
        let UploadFields { image, alt, mut errors } = fields;
        if image.is_none() {
            errors.add(FieldName::Image, Violation::new(ViolationKind::Required, "Image is required"));
        }
        let image = self.images.clean(requester, FieldName::Image, image, &mut errors).await?;
        errors.into_result()?;
        // A request without an image was refused above.
        let image = image.ok_or(Error::NotFound(Resource::Image))?;
        self.images.put_upload(owner.id(), image, alt).await
    }

    /// Opens a file of an image, or part of it. Whoever knows the key may read it. A thumbnail is there as long as its image is:
    /// whoever deletes that may know of no thumbnails.
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

    /// Returns the address at which clients fetch a file of an image without the service, if there is one.
    pub fn public_url(&self, key: &ImageKey, rendition: Rendition) -> Option<String> {
        self.images.ports.store.public_url(key, rendition)
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
    pub(crate) async fn put(&self, image: Option<CleanImage>) -> Result<Option<Attachment>> {
        let Some(image) = image else { return Ok(None) };
        let attachment = Attachment::of(self.ports.store.new_key(image.format)?, &image, None);
        self.ports.unnamed.announce(&attachment.key, self.clock.now()).await?;
        self.put_files(&attachment.key, image.bytes, Some(image.thumbnail)).await?;
        Ok(Some(attachment))
    }

    /// Stores an image in the same way that its owner may attach to a post.
    async fn put_upload(&self, owner: UserId, image: CleanImage, alt: Option<AltText>) -> Result<Attachment> {
        let attachment = Attachment::of(self.ports.store.new_key(image.format)?, &image, alt);
        self.ports.unnamed.announce_upload(owner, &attachment, self.clock.now()).await?;
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

    /// Returns the uploads of an owner that are named and that no post has.
    pub(crate) async fn find_uploads(&self, owner: UserId, ids: &MediaIds) -> Result<Vec<Attachment>> {
        if ids.as_slice().is_empty() {
            return Ok(Vec::new());
        }
        self.ports.unnamed.find_uploads(owner, ids.as_slice()).await
    }

    /// Stores the files of images under other keys as well, which are on record before. An image that is not there, or that the store
    /// cannot read or store now, stays as it is.
    pub(crate) async fn copy(&self, attachments: &[Attachment]) -> Result<Vec<Attachment>> {
        // Of a store that does not answer, all of them are waited for no longer than one.
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
        self.ports.unnamed.announce(&copy.key, self.clock.now()).await?;
        Ok(if_available(self.put_files(&copy.key, original, thumbnail).await)?.map(|()| copy))
    }

    async fn read(&self, key: &ImageKey, rendition: Rendition) -> Result<Option<Bytes>> {
        let Some(image) = self.ports.store.open(key, rendition, None).await? else { return Ok(None) };
        let bytes: Vec<Bytes> = image.bytes.try_collect().await?;
        Ok(Some(bytes.concat().into()))
    }

    /// Takes back stored images after the row that was to name them failed with `error`. Only after a sure rejection:
    /// where the row may exist all the same, they are left as they are, on record if there is no row.
    pub(crate) async fn take_back(&self, keys: impl Keys, error: Error) -> Error {
        if error.is_rejection() {
            self.drop_unnamed(keys).await;
        }
        error
    }

    /// Deletes images that no row names, and then the record of them. A failure leaves both to the sweep.
    pub(crate) async fn drop_unnamed(&self, keys: impl Keys) {
        let dropped = keys.into_iter().map(async |key| {
            if self.ports.store.delete(&key).await.is_ok() {
                let _ = self.ports.unnamed.forget(&[key]).await;
            }
        });
        // Of a store that does not answer, all of them are waited for no longer than one.
        join_all(dropped).await;
    }
}

/// Returns what the store did; nothing where it is out of reach.
fn if_available<T>(outcome: Result<T>) -> Result<Option<T>> {
    match outcome {
        Err(Error::Unavailable(_)) => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// Some images, or one, or none.
pub(crate) trait Keys: IntoIterator<Item = ImageKey, IntoIter: Send> + Send {}

impl<T: IntoIterator<Item = ImageKey, IntoIter: Send> + Send> Keys for T {}
