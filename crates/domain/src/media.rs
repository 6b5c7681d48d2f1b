//! Images: what the domain needs of them, the ports that check and keep them, and the sweep.
//!
//! An image is stored before the row that names it and deleted after the row that named it, so that no row ever names
//! a missing object. What a crash leaves behind is an object without a row; [`MediaSweep`] collects those.

use std::{collections::HashSet, fmt::Write as _, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream::BoxStream};

use crate::{
    clock::{Clock, Timestamp},
    error::{Error, FieldErrors, Resource, Result},
};

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
    /// The media type, as in `Content-Type`.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }

    /// The ending of a key.
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

    /// The key with this text; `None` when no key is spelled like that.
    pub fn parse(text: &str) -> Option<Self> {
        let (stem, ending) = text.split_once('.')?;
        let format = [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::Gif, ImageFormat::WebP]
            .into_iter()
            .find(|format| format.extension() == ending)?;
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        (stem.len() == 32 && stem.bytes().all(hex)).then(|| Self { text: text.to_owned(), format })
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The format of the image it names.
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
    /// As the error of a request in whose field `field` the image came.
    pub fn in_field(self, field: &'static str) -> Error {
        match self {
            Self::Unacceptable(message) => Error::field(field, message),
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
    /// MUST check the limit on pixels before decoding, and MUST NOT block the calling thread.
    async fn clean(&self, upload: Bytes) -> Result<CleanImage, ImageProblem>;
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
    /// The offsets it stands for in an image of `size` bytes, the end excluded; `None` when it lies outside.
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

/// Keeps images.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ImageStore: Send + Sync {
    /// Stores an image under a fresh random key. The image MUST be whole and durable when this returns.
    async fn put(&self, image: CleanImage) -> Result<ImageKey>;

    /// Opens an image, or part of it; `None` when there is none of that key.
    async fn open(&self, key: &ImageKey, range: Option<ByteRange>) -> Result<Option<OpenImage>>;

    /// Deletes an image; no error when there is none.
    async fn delete(&self, key: &ImageKey) -> Result<()>;

    /// The keys of the images stored before `cutoff`, in any order. Objects whose name is no key are passed over.
    async fn stored_before(&self, cutoff: Timestamp) -> Result<BoxStream<'static, Result<ImageKey>>>;

    /// The address at which clients fetch an image from where it is kept; `None` when the service alone serves it.
    /// Whether there is such an image is not looked up.
    fn public_url(&self, key: &ImageKey) -> Option<String>;
}

/// Knows which images are named by a row.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ImageReferences: Send + Sync {
    /// Those of the keys that some post or profile names.
    async fn referenced(&self, keys: &[ImageKey]) -> Result<HashSet<ImageKey>>;
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

    /// The address at which clients fetch an image without the service, if there is one.
    pub fn public_url(&self, key: &ImageKey) -> Option<String> {
        self.store.public_url(key)
    }
}

/// Collects the images that no row names: what crashes and lost acknowledgements left behind.
pub struct MediaSweep {
    store: Arc<dyn ImageStore>,
    references: Arc<dyn ImageReferences>,
    clock: Arc<dyn Clock>,
    min_age_millis: i64,
}

impl MediaSweep {
    /// How many keys are looked up at once.
    const BATCH: usize = 500;

    /// A sweep that leaves alone every image younger than `min_age_millis`, which MUST be longer than an upload may
    /// stay in flight: its image is stored some time before its row.
    pub fn new(
        store: Arc<dyn ImageStore>,
        references: Arc<dyn ImageReferences>,
        clock: Arc<dyn Clock>,
        min_age_millis: i64,
    ) -> Self {
        Self { store, references, clock, min_age_millis }
    }

    /// Deletes every image that is old enough and named by no row; returns how many.
    ///
    /// # Errors
    /// The first failure of the store or the database. An image that cannot be deleted does not keep the others.
    pub async fn run(&self) -> Result<usize> {
        let cutoff = self.clock.now().plus_millis(-self.min_age_millis);
        let mut batches = self.store.stored_before(cutoff).await?.try_chunks(Self::BATCH);
        let mut deleted = 0;
        let mut failure = None;
        while let Some(batch) = batches.next().await {
            let keys = batch.map_err(|interrupted| interrupted.1)?;
            let referenced = self.references.referenced(&keys).await?;
            for key in keys.iter().filter(|key| !referenced.contains(key)) {
                match self.store.delete(key).await {
                    Ok(()) => deleted += 1,
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
        }
        failure.map_or(Ok(deleted), Err)
    }
}

/// What a use case does with images: clean and store one, take one back, drop one.
#[derive(Clone)]
pub(crate) struct Images {
    pub(crate) cleaner: Arc<dyn ImageCleaner>,
    pub(crate) store: Arc<dyn ImageStore>,
}

impl Images {
    /// Checks the upload that came in the field `field`, if any. Invalid ones are recorded in `errors`.
    pub(crate) async fn clean(
        &self,
        field: &'static str,
        upload: Option<Bytes>,
        errors: &mut FieldErrors,
    ) -> Result<Option<CleanImage>> {
        let Some(upload) = upload else { return Ok(None) };
        let cleaned = self.cleaner.clean(upload).await;
        errors.absorb(cleaned.map_err(|problem| problem.in_field(field)))
    }

    /// Stores an image, if any.
    pub(crate) async fn put(&self, image: Option<CleanImage>) -> Result<Option<ImageKey>> {
        match image {
            Some(image) => self.store.put(image).await.map(Some),
            None => Ok(None),
        }
    }

    /// Takes back a stored image after the row that was to name it failed with `error`. Only after a sure rejection:
    /// where the row may exist all the same, the image is left to the sweep.
    pub(crate) async fn take_back(&self, key: Option<ImageKey>, error: Error) -> Error {
        if error.is_rejection() {
            self.drop_unnamed(key).await;
        }
        error
    }

    /// Deletes an image that no row names any more. A failure leaves it to the sweep.
    pub(crate) async fn drop_unnamed(&self, key: Option<ImageKey>) {
        if let Some(key) = key {
            let _ = self.store.delete(&key).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;
    use crate::clock::MockClock;

    fn key(n: u8) -> ImageKey {
        ImageKey::new([n; 16], ImageFormat::Png)
    }

    #[test]
    fn a_key_parses_back_and_nothing_else_does() {
        let key = ImageKey::new([0xab; 16], ImageFormat::WebP);
        assert_eq!(key.as_str(), "abababababababababababababababab.webp");
        assert_eq!(ImageKey::parse(key.as_str()), Some(key));
        for bad in [
            "",
            ".png",
            "../../etc/passwd.png",
            "ABababababababababababababababab.png",
            "abababababababababababababababab.svg",
            "abababababababababababababababab.png.png",
            "ababababababababababababababab.png",
            "abababababababababababababababab",
        ] {
            assert_eq!(ImageKey::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn ranges_are_cut_to_the_image() {
        assert_eq!(ByteRange::FromTo(0, 0).within(10), Some(0..1));
        assert_eq!(ByteRange::FromTo(5, u64::MAX).within(10), Some(5..10));
        assert_eq!(ByteRange::From(9).within(10), Some(9..10));
        assert_eq!(ByteRange::Last(3).within(10), Some(7..10));
        assert_eq!(ByteRange::Last(30).within(10), Some(0..10));
        for outside in [ByteRange::FromTo(10, 12), ByteRange::FromTo(3, 2), ByteRange::From(10), ByteRange::Last(0)] {
            assert_eq!(outside.within(10), None, "{outside:?}");
        }
    }

    #[tokio::test]
    async fn the_sweep_deletes_old_images_without_a_row_only() {
        let mut clock = MockClock::new();
        clock.expect_now().return_const(Timestamp::from_unix_millis(10_000));
        let mut references = MockImageReferences::new();
        references.expect_referenced().returning(|keys| Ok(keys.iter().filter(|k| **k == key(1)).cloned().collect()));
        let mut store = MockImageStore::new();
        store
            .expect_stored_before()
            .withf(|cutoff| *cutoff == Timestamp::from_unix_millis(9_000))
            .returning(|_| Ok(stream::iter([Ok(key(1)), Ok(key(2))]).boxed()));
        store.expect_delete().withf(|k| *k == key(2)).once().returning(|_| Ok(()));
        let sweep = MediaSweep::new(Arc::new(store), Arc::new(references), Arc::new(clock), 1_000);
        assert_eq!(sweep.run().await.unwrap(), 1);
    }

    #[tokio::test]
    async fn an_image_is_taken_back_only_when_its_row_was_surely_refused() {
        let mut store = MockImageStore::new();
        store.expect_delete().withf(|k| *k == key(1)).once().returning(|_| Ok(()));
        let images = Images { cleaner: Arc::new(MockImageCleaner::new()), store: Arc::new(store) };
        images.take_back(Some(key(1)), Error::NotFound(Resource::Post)).await;
        images.take_back(Some(key(2)), Error::unavailable("connection lost")).await;
        images.take_back(Some(key(3)), Error::internal("disk I/O error")).await;
    }
}
