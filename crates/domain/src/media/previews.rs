//! The backfill of previews and thumbnails for images that were stored without.

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;

use super::{CleanImage, ImageKey, ImagePorts, ImageProblem, Preview, PreviewBacklog, Rendition};
use crate::clock::Clock;
use crate::error::{Error, Resource, Result};
use crate::id::{PostId, UserId};
use crate::limits::{ClientAddress, Requester};

/// Makes previews and thumbnails of those images of posts and users that were stored before the service made any.
pub struct PreviewBackfill {
    backlog: Arc<dyn PreviewBacklog>,
    images: ImagePorts,
    clock: Arc<dyn Clock>,
}

/// The owner of an image, and the position in the backfill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownBy {
    /// A post.
    Post(PostId),
    /// A user's profile.
    User(UserId),
}

impl fmt::Display for ShownBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Post(post) => write!(f, "post {post}"),
            Self::User(user) => write!(f, "user {user}"),
        }
    }
}

/// An image that the backfill has processed.
#[derive(Debug)]
pub struct ProcessedImage {
    /// The owner of the image.
    pub by: ShownBy,
    /// `Ok` if the image is done. An image that is missing, or beyond the present limits, may succeed another time.
    pub outcome: Result<()>,
}

impl PreviewBackfill {
    /// Creates the use case over these ports.
    pub fn new(backlog: Arc<dyn PreviewBacklog>, images: ImagePorts, clock: Arc<dyn Clock>) -> Self {
        Self { backlog, images, clock }
    }

    /// Makes the preview and the thumbnail of the next image after that of `last`: first the images of posts, then the pictures
    /// of users, each newest first. Returns `None` when there are no more images without.
    ///
    /// An image that cannot be decoded is not tried again: one of a post stays without a preview, and the picture of a user is
    /// shown in its original size instead of a thumbnail.
    ///
    /// # Errors
    /// Those of the backlog.
    pub async fn run(&self, last: Option<ShownBy>) -> Result<Option<ProcessedImage>> {
        let (of_post, user) = match last {
            None => (self.backlog.next(None).await?, None),
            Some(ShownBy::Post(post)) => (self.backlog.next(Some(post)).await?, None),
            Some(ShownBy::User(user)) => (None, Some(user)),
        };
        if let Some((post, key)) = of_post {
            return Ok(Some(ProcessedImage { by: ShownBy::Post(post), outcome: self.backfill_post(post, &key).await }));
        }
        let Some((user, key)) = self.backlog.next_picture(user).await? else { return Ok(None) };
        Ok(Some(ProcessedImage { by: ShownBy::User(user), outcome: self.backfill_user(user, &key).await }))
    }

    async fn backfill_post(&self, post: PostId, key: &ImageKey) -> Result<()> {
        let preview = self.make_preview(key).await?;
        self.backlog.store(post, key, preview, self.clock.now()).await
    }

    async fn backfill_user(&self, user: UserId, key: &ImageKey) -> Result<()> {
        let small = self.make_preview(key).await?.map_or(Rendition::Original, |_| Rendition::Thumbnail);
        self.backlog.store_small(user, key, small, self.clock.now()).await
    }

    /// Stores the thumbnail of an image and returns its preview; `None` if it cannot have any.
    async fn make_preview(&self, key: &ImageKey) -> Result<Option<Preview>> {
        match self.clean(key).await {
            Ok(image) => {
                self.images.store.put(key, Rendition::Thumbnail, image.thumbnail).await?;
                Ok(Some(image.preview))
            }
            Err(ImageProblem::Unacceptable(_)) => Ok(None),
            Err(ImageProblem::TooLarge(message)) => Err(Error::TooLarge(message)),
            Err(ImageProblem::Failed(error)) => Err(error),
        }
    }

    async fn clean(&self, key: &ImageKey) -> Result<CleanImage, ImageProblem> {
        let image = self.images.store.open(key, Rendition::Original, None).await?;
        let image = image.ok_or(Error::NotFound(Resource::Image))?;
        let bytes: Vec<Bytes> = image.bytes.try_collect().await?;
        let requester = Requester { account: None, address: ClientAddress::of(Ipv4Addr::LOCALHOST.into()) };
        self.images.cleaner.clean(bytes.concat().into(), &requester).await
    }
}
