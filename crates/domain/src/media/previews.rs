//! Makes previews and thumbnails of images that were stored without.

use std::net::Ipv4Addr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;

use super::{CleanImage, ImageKey, ImagePorts, ImageProblem, PreviewBacklog, Rendition};
use crate::clock::Clock;
use crate::error::{Error, Resource, Result};
use crate::id::PostId;
use crate::limits::{ClientAddress, Requester};

/// Makes previews and thumbnails of the images of posts that were stored before there were any.
pub struct PreviewBackfill {
    backlog: Arc<dyn PreviewBacklog>,
    images: ImagePorts,
    clock: Arc<dyn Clock>,
}

/// An image that was looked at.
#[derive(Debug)]
pub struct Looked {
    /// Whose it is: the next one is that of a post before.
    pub post: PostId,
    /// Whether it needs no further look. One that is not there, or too large for the limits of now, may be another time.
    pub outcome: Result<()>,
}

impl PreviewBackfill {
    /// The use case over these ports.
    pub fn new(backlog: Arc<dyn PreviewBacklog>, images: ImagePorts, clock: Arc<dyn Clock>) -> Self {
        Self { backlog, images, clock }
    }

    /// Makes those of one image, of the newest post or of the newest before one; `None` when there is none without. An image that
    /// cannot be decoded has none for good.
    ///
    /// # Errors
    /// Those of the backlog.
    pub async fn run(&self, before: Option<PostId>) -> Result<Option<Looked>> {
        let Some((post, key)) = self.backlog.next(before).await? else { return Ok(None) };
        Ok(Some(Looked { post, outcome: self.make(post, &key).await }))
    }

    async fn make(&self, post: PostId, key: &ImageKey) -> Result<()> {
        let preview = match self.clean(key).await {
            Ok(image) => {
                self.images.store.put(key, Rendition::Thumbnail, image.thumbnail).await?;
                Some(image.preview)
            }
            Err(ImageProblem::Unacceptable(_)) => None,
            Err(ImageProblem::TooLarge(message)) => return Err(Error::TooLarge(message)),
            Err(ImageProblem::Failed(error)) => return Err(error),
        };
        self.backlog.store(post, key, preview, self.clock.now()).await
    }

    async fn clean(&self, key: &ImageKey) -> Result<CleanImage, ImageProblem> {
        let image = self.images.store.open(key, Rendition::Original, None).await?;
        let image = image.ok_or(Error::NotFound(Resource::Image))?;
        let bytes: Vec<Bytes> = image.bytes.try_collect().await?;
        let requester = Requester { account: None, address: ClientAddress::of(Ipv4Addr::LOCALHOST.into()) };
        self.images.cleaner.clean(bytes.concat().into(), &requester).await
    }
}
