//! The ports that check and store images.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;

use super::{
    Attachment, ByteRange, CleanImage, ImageFormat, ImageKey, ImageProblem, OpenImage, Preview, Rendition, StoredImage,
};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::{MediaId, PostId, UserId};
use crate::limits::Requester;

/// Checks uploaded images and removes their metadata.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ImageCleaner: Send + Sync {
    /// Decodes the upload, whose format is detected from the content alone, and removes its metadata. The orientation stays in
    /// effect, and an animation stays animated. The preview and the thumbnail are made from the same pixels.
    ///
    /// MUST check the limit on pixels before decoding, and MUST NOT block the calling thread. An upload counts against the
    /// requester's share of the queue while it waits and until it is processed.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable) when the queue, or the requester's share of it, is full.
    async fn clean(&self, upload: Bytes, requester: &Requester) -> Result<CleanImage, ImageProblem>;
}

/// Stores images.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ImageStore: Send + Sync {
    /// Generates a new random key for an image of this format.
    ///
    /// # Errors
    /// [`Error::Internal`](crate::Error::Internal) when the source of randomness fails.
    fn new_key(&self, format: ImageFormat) -> Result<ImageKey>;

    /// Stores a file of an image under its key, replacing any that is there. It MUST be complete and durable when this returns.
    async fn put(&self, key: &ImageKey, rendition: Rendition, bytes: Bytes) -> Result<()>;

    /// Opens a file of an image, or part of it; `None` when there is none.
    async fn open(&self, key: &ImageKey, rendition: Rendition, range: Option<ByteRange>) -> Result<Option<OpenImage>>;

    /// Deletes an image with all its files; no error when there is none.
    async fn delete(&self, key: &ImageKey) -> Result<()>;

    /// Returns the keys of all images whose original exists, in any order. Objects whose name is not a valid key are skipped.
    async fn list(&self) -> Result<BoxStream<'static, Result<ImageKey>>>;

    /// Returns the files of images whose keys begin with this byte, in any order: a 256th of all. Objects whose name is not that
    /// of such a file are skipped.
    async fn list_folder(&self, folder: u8) -> Result<BoxStream<'static, Result<StoredImage>>>;

    /// Returns the URL at which clients fetch a file of an image directly from the store; `None` if only the service serves it.
    /// Does not check whether the file exists.
    fn public_url(&self, key: &ImageKey, rendition: Rendition) -> Option<String>;
}

/// The record of images that are stored, or about to be, and that no row references yet or any more.
///
/// The record is in the same database as the rows. A change that adds a reference to an image MUST, in the same transaction,
/// take the image off the record, and fail with [`ImageCollected`](crate::error::ImageCollected) as the cause if the image is
/// not on it or is marked for deletion. A change that removes a reference MUST put the image on the record in the same
/// transaction, marked for deletion.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait UnreferencedImages: Send + Sync {
    /// Records an image that is about to be stored. The record MUST be durable when this returns. An image that is on record
    /// already stays as it is.
    async fn announce(&self, key: &ImageKey, at: Timestamp) -> Result<()>;

    /// Does the same as [`announce`](Self::announce) for an image that `owner` may attach to a post, and records its preview and
    /// alternative text.
    async fn announce_upload(&self, owner: UserId, upload: &Attachment, at: Timestamp) -> Result<()>;

    /// Returns the uploads of an owner that have one of these ids and are on record, not marked for deletion, in any order.
    async fn find_uploads(&self, owner: UserId, ids: &[MediaId]) -> Result<Vec<Attachment>>;

    /// Marks for deletion, and returns, up to `limit` images that were recorded before `cutoff`, or that were already marked
    /// before `now`, the earliest recorded first.
    ///
    /// From then on no row may reference them, so that they can be deleted. They count as recorded at `now`: an image that cannot
    /// be deleted is returned again, after those not tried yet.
    async fn mark_for_deletion(&self, cutoff: Timestamp, now: Timestamp, limit: usize) -> Result<Vec<ImageKey>>;

    /// Returns which of the images are on record, marked for deletion or not, in any order.
    async fn recorded(&self, keys: &[ImageKey]) -> Result<Vec<ImageKey>>;

    /// Takes images whose objects are deleted off the record; no error when they are not on it.
    async fn forget(&self, keys: &[ImageKey]) -> Result<()>;
}

/// Tells which images are referenced by rows.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ImageReferences: Send + Sync {
    /// Returns the images that posts and profiles reference and whose keys begin with this byte, each with its owner, in any
    /// order.
    async fn referenced_in(&self, folder: u8) -> Result<Vec<(ImageKey, UserId)>>;

    /// Returns which of the images, a few hundred at most, are referenced by rows, in any order.
    async fn referenced_of(&self, keys: &[ImageKey]) -> Result<Vec<ImageKey>>;
}

/// The images that have no preview or thumbnail yet.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait PreviewBacklog: Send + Sync {
    /// Returns the newest post with such an image, older than `before` if it is given, and the image.
    async fn next(&self, before: Option<PostId>) -> Result<Option<(PostId, ImageKey)>>;

    /// Stores the preview of a post's image, or that it can have none, unless the post has other images by now. The version of
    /// the post does not change. If no row references the image any more, it MUST be on record in [`UnreferencedImages`]
    /// afterwards, since its thumbnail may have been stored after its files were deleted.
    async fn store(&self, post: PostId, key: &ImageKey, preview: Option<Preview>, at: Timestamp) -> Result<()>;

    /// Returns the newest user, older than `before` if it is given, for whose picture it is not stored yet which rendition is
    /// shown at small sizes, and the picture.
    async fn next_picture(&self, before: Option<UserId>) -> Result<Option<(UserId, ImageKey)>>;

    /// Stores which rendition of a user's picture is shown at small sizes, unless the user has another picture by now. If no row
    /// references the image any more, it MUST be on record afterwards, as with [`store`](Self::store).
    async fn store_small(&self, user: UserId, key: &ImageKey, small: Rendition, at: Timestamp) -> Result<()>;
}

/// The ports of the use cases that store images.
#[derive(Clone)]
pub struct ImagePorts {
    /// Checks images and removes their metadata.
    pub cleaner: Arc<dyn ImageCleaner>,
    /// Stores their files.
    pub store: Arc<dyn ImageStore>,
    /// Records those that no row references.
    pub unreferenced: Arc<dyn UnreferencedImages>,
}
