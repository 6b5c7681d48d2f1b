//! Makes previews and thumbnails of images that were stored without.

use std::net::Ipv4Addr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;

use super::{CleanImage, ImageKey, ImagePorts, ImageProblem, PreviewBacklog, Rendition};
use crate::error::Result;
use crate::limits::{ClientAddress, Requester};

/// Makes previews and thumbnails of the images of posts that were stored before there were any.
pub struct PreviewBackfill {
    backlog: Arc<dyn PreviewBacklog>,
    images: ImagePorts,
}

impl PreviewBackfill {
    /// The use case over these ports.
    pub fn new(backlog: Arc<dyn PreviewBacklog>, images: ImagePorts) -> Self {
        Self { backlog, images }
    }

    /// Makes those of one image; returns whether there was one without. An image that is not there, or that cannot be decoded any
    /// more, has none for good.
    ///
    /// # Errors
    /// Those of the ports; [`Error::Unavailable`](crate::Error::Unavailable) when too many images are being checked.
    pub async fn run(&self) -> Result<bool> {
        let Some((post, key)) = self.backlog.next().await? else { return Ok(false) };
        let preview = match self.clean(&key).await? {
            Some(image) => {
                self.images.store.put(&key, Rendition::Thumbnail, image.thumbnail).await?;
                Some(image.preview)
            }
            None => None,
        };
        if !self.backlog.store(post, &key, preview).await? {
            // The image is gone, and its thumbnail came too late to go with it.
            self.images.store.delete(&key).await?;
        }
        Ok(true)
    }

    async fn clean(&self, key: &ImageKey) -> Result<Option<CleanImage>> {
        let Some(image) = self.images.store.open(key, Rendition::Original, None).await? else { return Ok(None) };
        let bytes: Vec<Bytes> = image.bytes.try_collect().await?;
        let requester = Requester { account: None, address: ClientAddress::of(Ipv4Addr::LOCALHOST.into()) };
        match self.images.cleaner.clean(bytes.concat().into(), &requester).await {
            Ok(image) => Ok(Some(image)),
            Err(ImageProblem::Failed(error)) => Err(error),
            Err(ImageProblem::Unacceptable(_) | ImageProblem::TooLarge(_)) => Ok(None),
        }
    }
}
