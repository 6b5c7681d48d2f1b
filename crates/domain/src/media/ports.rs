//! What checks and keeps images.

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

/// Checks uploads and makes them fit to be stored.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ImageCleaner: Send + Sync {
    /// Decodes the upload, judging it by its content alone, and removes its metadata; its orientation stays in
    /// effect and an animation stays animated. Makes its preview and its thumbnail from the same pixels.
    ///
    /// MUST check the limit on pixels before decoding, and MUST NOT block the calling thread. What waits, or is worked on,
    /// takes up the requester's share of the queue until the work is done.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable) when the queue, or the requester's share of it, is full.
    async fn clean(&self, upload: Bytes, requester: &Requester) -> Result<CleanImage, ImageProblem>;
}

/// Keeps images.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait ImageStore: Send + Sync {
    /// Draws a fresh random key for an image of this format.
    ///
    /// # Errors
    /// [`Error::Internal`](crate::Error::Internal) when there is no randomness.
    fn new_key(&self, format: ImageFormat) -> Result<ImageKey>;

    /// Stores a file of an image under its key, in place of what is there. It MUST be whole and durable when this returns.
    async fn put(&self, key: &ImageKey, rendition: Rendition, bytes: Bytes) -> Result<()>;

    /// Opens a file of an image, or part of it; `None` when there is none.
    async fn open(&self, key: &ImageKey, rendition: Rendition, range: Option<ByteRange>) -> Result<Option<OpenImage>>;

    /// Deletes an image with all its files; no error when there is none.
    async fn delete(&self, key: &ImageKey) -> Result<()>;

    /// Returns the keys of all images whose original is there, in any order. Objects whose name is no key are passed over.
    async fn list(&self) -> Result<BoxStream<'static, Result<ImageKey>>>;

    /// Returns the files of images whose keys begin with this byte, in any order: a 256th of all. Objects whose name is that
    /// of no such file are passed over.
    async fn list_folder(&self, folder: u8) -> Result<BoxStream<'static, Result<StoredImage>>>;

    /// Returns the address at which clients fetch a file of an image from where it is kept; `None` when the service alone serves
    /// it. Whether there is such a file is not looked up.
    fn public_url(&self, key: &ImageKey, rendition: Rendition) -> Option<String>;
}

/// Keeps on record the images that are stored, or about to be, and that no row names: not yet, or not any more.
///
/// It is of one database with the rows. Whatever writes a row that names an image MUST, in the same transaction, take
/// the image off the record, and fail with [`ImageCollected`](crate::error::ImageCollected) as the cause when it is not
/// on it or is marked for deletion. Whatever ends that a row names an image MUST put it on the record in the same transaction,
/// marked for deletion.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait UnreferencedImages: Send + Sync {
    /// Records an image that is about to be stored. The record MUST be durable when this returns. One that is on record stays as it was.
    async fn announce(&self, key: &ImageKey, at: Timestamp) -> Result<()>;

    /// Does the same for an image that its owner may attach to a post, with what is known of it.
    async fn announce_upload(&self, owner: UserId, upload: &Attachment, at: Timestamp) -> Result<()>;

    /// Returns those of the uploads of an owner that have one of these ids and are on record, not marked for deletion, in any
    /// order.
    async fn find_uploads(&self, owner: UserId, ids: &[MediaId]) -> Result<Vec<Attachment>>;

    /// Marks for deletion up to `limit` of the images recorded before `cutoff`, or marked before `now` already, those recorded first
    /// before the others, and returns them. No row may name them from then on, so that they can be deleted. They count as recorded at `now`:
    /// one that cannot be deleted comes again, after those that were not tried.
    async fn mark_for_deletion(&self, cutoff: Timestamp, now: Timestamp, limit: usize) -> Result<Vec<ImageKey>>;

    /// Returns those of the images that are on record, marked for deletion or not, in any order.
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

/// Knows the images that have no preview or thumbnail yet.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait PreviewBacklog: Send + Sync {
    /// Returns the one of the newest post, or of the newest before one, and whose it is.
    async fn next(&self, before: Option<PostId>) -> Result<Option<(PostId, ImageKey)>>;

    /// Stores the preview of a post's image, or that it can have none, unless the post has other images meanwhile. The post stays
    /// of the version that it is. An image that no row names MUST be on record as [`UnreferencedImages`] after that: its
    /// thumbnail may have come after its files were deleted.
    async fn store(&self, post: PostId, key: &ImageKey, preview: Option<Preview>, at: Timestamp) -> Result<()>;

    /// Returns the picture of the newest user, or of the newest before one, of which it is not known what is shown where it is
    /// small.
    async fn next_picture(&self, before: Option<UserId>) -> Result<Option<(UserId, ImageKey)>>;

    /// Stores what is shown where a user's picture is small, unless the user has another picture meanwhile. An image that no row
    /// names MUST be on record after that, as after [`store`](Self::store).
    async fn store_small(&self, user: UserId, key: &ImageKey, small: Rendition, at: Timestamp) -> Result<()>;
}

/// The ports of whatever stores images.
#[derive(Clone)]
pub struct ImagePorts {
    /// Checks them.
    pub cleaner: Arc<dyn ImageCleaner>,
    /// Keeps them.
    pub store: Arc<dyn ImageStore>,
    /// Knows those that no row refers to.
    pub unnamed: Arc<dyn UnreferencedImages>,
}
