//! Makes previews and thumbnails of images that were stored without.

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

/// Makes previews and thumbnails of the images of posts and users that were stored before there were any.
pub struct PreviewBackfill {
    backlog: Arc<dyn PreviewBacklog>,
    images: ImagePorts,
    clock: Arc<dyn Clock>,
}

/// What shows an image.
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

/// An image that was looked at.
#[derive(Debug)]
pub struct Looked {
    /// What shows it.
    pub by: ShownBy,
    /// Whether it needs no further look. One that is not there, or too large for the limits of now, may be another time.
    pub outcome: Result<()>,
}

impl PreviewBackfill {
    /// The use case over these ports.
    pub fn new(backlog: Arc<dyn PreviewBacklog>, images: ImagePorts, clock: Arc<dyn Clock>) -> Self {
        Self { backlog, images, clock }
    }

    /// Makes those of the image that comes after the one of `last`: those of posts come first, then those of users, the newest
    /// before the others; `None` when there is none without. A post's image that cannot be decoded has none for good, and the picture
    /// of a user stands for its own thumbnail.
    ///
    /// # Errors
    /// Those of the backlog.
    pub async fn run(&self, last: Option<ShownBy>) -> Result<Option<Looked>> {
        let (of_post, user) = match last {
            None => (self.backlog.next(None).await?, None),
            Some(ShownBy::Post(post)) => (self.backlog.next(Some(post)).await?, None),
            Some(ShownBy::User(user)) => (None, Some(user)),
        };
        if let Some((post, key)) = of_post {
            return Ok(Some(Looked { by: ShownBy::Post(post), outcome: self.preview(post, &key).await }));
        }
        let Some((user, key)) = self.backlog.next_picture(user).await? else { return Ok(None) };
        Ok(Some(Looked { by: ShownBy::User(user), outcome: self.shrink(user, &key).await }))
    }

    async fn preview(&self, post: PostId, key: &ImageKey) -> Result<()> {
        let preview = self.make(key).await?;
        self.backlog.store(post, key, preview, self.clock.now()).await
    }

    async fn shrink(&self, user: UserId, key: &ImageKey) -> Result<()> {
        let small = self.make(key).await?.map_or(Rendition::Original, |_| Rendition::Thumbnail);
        self.backlog.store_small(user, key, small, self.clock.now()).await
    }

    /// Makes the thumbnail of an image, and its preview; `None` when it can have none.
    async fn make(&self, key: &ImageKey) -> Result<Option<Preview>> {
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
