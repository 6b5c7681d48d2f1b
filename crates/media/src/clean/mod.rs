//! Checks uploads and makes them fit to be stored.
//!
//! Every format is handled alike: its file structure is read and written anew with a list of the parts that are needed
//! to render the image, so that anything unknown is left out; the result is then decoded in full. What is stored
//! is thus exactly what was checked.

mod gif;
mod jpeg;
mod limits;
mod orientation;
mod png;
#[cfg(test)]
mod tests;
mod webp;

use std::{num::NonZeroUsize, sync::Arc};

use agora_domain::{
    error::Error,
    media::{CleanImage, ImageCleaner, ImageFormat, ImageProblem},
};
use async_trait::async_trait;
use bytes::Bytes;
use tokio::{
    sync::Semaphore,
    task::{self, JoinHandle},
};

pub use limits::ImageLimits;

type Result<T> = std::result::Result<T, ImageProblem>;

/// The image cleaner. It works on the runtime's blocking threads, on a bounded number of images at once.
///
/// An image takes about 12 bytes of memory per pixel while it is worked on; up to 24 when it has 16 bits per colour
/// and has to be turned.
pub struct Cleaner {
    limits: ImageLimits,
    /// One permit per image being worked on.
    slots: Arc<Semaphore>,
    /// One permit per image being worked on or waiting for it.
    line: Arc<Semaphore>,
}

impl Cleaner {
    /// How many images may wait for a slot; one more is refused.
    const WAITING: usize = 64;

    /// A cleaner that works on `at_once` images at the same time. Up to 64 more wait for their turn; beyond that
    /// [`clean`](ImageCleaner::clean) fails with [`Error::Unavailable`].
    pub fn new(limits: ImageLimits, at_once: NonZeroUsize) -> Self {
        let slots = at_once.get().min(Semaphore::MAX_PERMITS - Self::WAITING);
        Self { limits, slots: Arc::new(Semaphore::new(slots)), line: Arc::new(Semaphore::new(slots + Self::WAITING)) }
    }
}

#[async_trait]
impl ImageCleaner for Cleaner {
    async fn clean(&self, upload: Bytes) -> Result<CleanImage> {
        self.limits.check_bytes(upload.len())?;
        let format = format_of(&upload)?;
        let place = Arc::clone(&self.line)
            .try_acquire_owned()
            .map_err(|_| Error::unavailable("too many images are waiting to be checked"))?;
        let slot = Arc::clone(&self.slots).acquire_owned().await.map_err(Error::unavailable)?;
        let limits = self.limits;
        let work = task::spawn_blocking(move || {
            // Held by the work, not by the request: a request that is given up does not end it.
            let _held = (slot, place);
            clean(format, &upload, &limits)
        });
        outcome(work, format).await
    }
}

async fn outcome(work: JoinHandle<Result<CleanImage>>, format: ImageFormat) -> Result<CleanImage> {
    match work.await {
        Ok(cleaned) => cleaned,
        Err(error) if error.is_panic() => {
            tracing::warn!(?format, %error, "an image made its decoder panic");
            Err(undecodable())
        }
        Err(error) => Err(Error::unavailable(error).into()),
    }
}

pub(crate) fn clean(format: ImageFormat, upload: &[u8], limits: &ImageLimits) -> Result<CleanImage> {
    let bytes = match format {
        ImageFormat::Jpeg => jpeg::clean(upload, limits),
        ImageFormat::Png => png::clean(upload, limits),
        ImageFormat::Gif => gif::clean(upload, limits),
        ImageFormat::WebP => webp::clean(upload, limits),
    }?;
    Ok(CleanImage { format, bytes: bytes.into() })
}

pub(crate) fn format_of(upload: &[u8]) -> Result<ImageFormat> {
    match upload {
        [0xff, 0xd8, 0xff, ..] => Ok(ImageFormat::Jpeg),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Ok(ImageFormat::Png),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Ok(ImageFormat::Gif),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Ok(ImageFormat::WebP),
        _ => Err(ImageProblem::Unacceptable("Image must be a JPEG, PNG, GIF or WebP file".to_owned())),
    }
}

/// The problem of a file that is broken, cut off or of a kind that the decoder does not know.
fn undecodable() -> ImageProblem {
    ImageProblem::Unacceptable("Image cannot be decoded".to_owned())
}

/// Takes the first `count` bytes off `rest`.
fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(count).ok_or_else(undecodable)?;
    *rest = left;
    Ok(taken)
}

/// Takes the first `N` bytes off `rest`.
fn take_array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let (taken, left) = rest.split_first_chunk().ok_or_else(undecodable)?;
    *rest = left;
    Ok(*taken)
}
