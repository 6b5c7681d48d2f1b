//! Images: what the domain needs of them, the ports that check and keep them, the sweep, and the check of a store.
//!
//! An image is stored before the row that names it and deleted after the row that named it, so that no row ever names
//! a missing object. As long as no row names it, it is on record as [`UnreferencedImages`], from before it is stored until
//! it is deleted. What a crash leaves behind is therefore on record, and [`MediaSweep`] collects it: that and nothing
//! else, however many more objects the store holds.

mod check;
mod sweep;

use std::fmt::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;

pub use self::check::{MediaCheck, MediaReport, Usage};
pub use self::sweep::MediaSweep;
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, FieldErrors, FieldName, Resource, Result, Violation, ViolationKind};
use crate::id::UserId;
use crate::limits::Requester;

/// An accepted image format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageFormat {
    /// JPEG.
    Jpeg,
    /// PNG, animated ones included.
    Png,
    /// GIF, animated ones included.
    Gif,
    /// WebP, animated ones included.
    WebP,
}

impl ImageFormat {
    /// Returns the media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }

    /// Returns the ending of a key.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
            Self::Gif => "gif",
            Self::WebP => "webp",
        }
    }
}

/// The name of a stored image: 32 lower-case hexadecimal digits drawn at random, a dot and the format's ending.
///
/// It is all a reader needs to fetch the image, so it is never guessable and never derived from a file name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImageKey {
    text: String,
    format: ImageFormat,
}

impl ImageKey {
    /// The key made of 128 random bits.
    pub fn new(random: [u8; 16], format: ImageFormat) -> Self {
        let mut text = String::with_capacity(37);
        for byte in random {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        text.push('.');
        text.push_str(format.extension());
        Self { text, format }
    }

    /// Returns the key with this text; `None` when no key is spelled like that.
    pub fn parse(text: &str) -> Option<Self> {
        let (stem, ending) = text.split_once('.')?;
        let format = [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::Gif, ImageFormat::WebP]
            .into_iter()
            .find(|format| format.extension() == ending)?;
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        (stem.len() == 32 && stem.bytes().all(hex)).then(|| Self { text: text.to_owned(), format })
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the format of the image it names.
    pub const fn format(&self) -> ImageFormat {
        self.format
    }
}

/// An image that was decoded to check it and carries no metadata: what may be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanImage {
    /// The format its content has.
    pub format: ImageFormat,
    /// The file's bytes.
    pub bytes: Bytes,
}

/// Why an upload is not stored.
#[derive(Debug, thiserror::Error)]
pub enum ImageProblem {
    /// It is not an image of an accepted format, in words for the client.
    #[error("{0}")]
    Unacceptable(String),
    /// It is beyond a limit, in words for the client.
    #[error("{0}")]
    TooLarge(String),
    /// The check itself could not be carried out.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl ImageProblem {
    /// As the error of a use case in whose input `field` the image came.
    pub fn in_field(self, field: FieldName) -> Error {
        match self {
            Self::Unacceptable(message) => Error::field(field, Violation::new(ViolationKind::InvalidFormat, message)),
            Self::TooLarge(message) => Error::TooLarge(message),
            Self::Failed(error) => error,
        }
    }
}

/// Checks uploads and makes them fit to be stored.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ImageCleaner: Send + Sync {
    /// Decodes the upload, judging it by its content alone, and removes its metadata; its orientation stays in
    /// effect and an animation stays animated.
    ///
    /// MUST check the limit on pixels before decoding, and MUST NOT block the calling thread. What waits, or is worked on,
    /// takes up the requester's share of the queue until the work is done.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the queue, or the requester's share of it, is full.
    async fn clean(&self, upload: Bytes, requester: &Requester) -> Result<CleanImage, ImageProblem>;
}

/// Part of an image's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteRange {
    /// From the first to the last offset, both included; the last may lie beyond the end.
    FromTo(u64, u64),
    /// From an offset to the end.
    From(u64),
    /// So many bytes at the end.
    Last(u64),
}

impl ByteRange {
    /// Returns the offsets it stands for in an image of `size` bytes, the end excluded; `None` when it lies outside.
    pub fn within(self, size: u64) -> Option<std::ops::Range<u64>> {
        let range = match self {
            Self::FromTo(first, last) => first..last.saturating_add(1).min(size),
            Self::From(first) => first..size,
            Self::Last(count) => size.saturating_sub(count)..size,
        };
        (range.start < range.end).then_some(range)
    }
}

/// A stored image, opened for reading.
pub struct OpenImage {
    /// The size of the whole image in bytes.
    pub size: u64,
    /// Which of its bytes follow, the end excluded; `None` when the range asked for lies outside the image.
    pub range: Option<std::ops::Range<u64>>,
    /// Those bytes.
    pub bytes: BoxStream<'static, Result<Bytes>>,
}

/// An image as a store lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredImage {
    /// Names it.
    pub key: ImageKey,
    /// How many bytes it has.
    pub bytes: u64,
    /// When it was stored.
    pub modified: Timestamp,
}

/// Keeps images.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ImageStore: Send + Sync {
    /// Draws a fresh random key for an image of this format.
    ///
    /// # Errors
    /// [`Error::Internal`] when there is no randomness.
    fn new_key(&self, format: ImageFormat) -> Result<ImageKey>;

    /// Stores an image under a key, in place of what is there. It MUST be whole and durable when this returns.
    async fn put(&self, key: &ImageKey, bytes: Bytes) -> Result<()>;

    /// Opens an image, or part of it; `None` when there is none of that key.
    async fn open(&self, key: &ImageKey, range: Option<ByteRange>) -> Result<Option<OpenImage>>;

    /// Deletes an image; no error when there is none.
    async fn delete(&self, key: &ImageKey) -> Result<()>;

    /// Returns the keys of all images, in any order. Objects whose name is no key are passed over.
    async fn list(&self) -> Result<BoxStream<'static, Result<ImageKey>>>;

    /// Returns the images whose keys begin with this byte, in any order: a 256th of all. Objects whose name is no key
    /// are passed over.
    async fn list_folder(&self, folder: u8) -> Result<BoxStream<'static, Result<StoredImage>>>;

    /// Returns the address at which clients fetch an image from where it is kept; `None` when the service alone serves
    /// it. Whether there is such an image is not looked up.
    fn public_url(&self, key: &ImageKey) -> Option<String>;
}

/// Keeps on record the images that are stored, or about to be, and that no row names: not yet, or not any more.
///
/// It is of one database with the rows. Whatever writes a row that names an image MUST, in the same transaction, take
/// the image off the record, and fail with [`ImageCollected`](crate::error::ImageCollected) as the cause when it is not
/// on it or is condemned. Whatever ends that a row names an image MUST put it on the record in the same transaction.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait UnreferencedImages: Send + Sync {
    /// Records an image that is about to be stored. The record MUST be durable when this returns.
    async fn announce(&self, key: &ImageKey, at: Timestamp) -> Result<()>;

    /// Condemns up to `limit` of the images recorded before `cutoff`, those recorded first before the others, and
    /// returns them. No row may name them from then on, so that they can be deleted. They count as recorded at `now`:
    /// one that cannot be deleted comes again, after those that were not tried.
    async fn mark_for_deletion(&self, cutoff: Timestamp, now: Timestamp, limit: usize) -> Result<Vec<ImageKey>>;

    /// Returns those of the images that are on record, condemned or not, in any order.
    async fn recorded(&self, keys: &[ImageKey]) -> Result<Vec<ImageKey>>;

    /// Takes images off the record whose objects are deleted; no error when they are not on it.
    async fn forget(&self, keys: &[ImageKey]) -> Result<()>;
}

/// Tells which images rows name.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ImageReferences: Send + Sync {
    /// Returns the images that posts and profiles name and whose keys begin with this byte, each with whose it is, in
    /// any order.
    async fn named_in(&self, folder: u8) -> Result<Vec<(ImageKey, UserId)>>;

    /// Returns those of the images, a few hundred at most, that rows name, in any order.
    async fn named_of(&self, keys: &[ImageKey]) -> Result<Vec<ImageKey>>;
}

/// The ports of whatever stores images.
#[derive(Clone)]
pub struct ImagePorts {
    /// Checks them.
    pub cleaner: Arc<dyn ImageCleaner>,
    /// Keeps them.
    pub store: Arc<dyn ImageStore>,
    /// Knows those that no row names.
    pub unnamed: Arc<dyn UnreferencedImages>,
}

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

#[cfg(test)]
mod tests;
