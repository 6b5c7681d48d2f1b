//! Checks uploads and removes their metadata.
//!
//! Every format is handled alike. The structure of the file is parsed and written again with only those parts that are on a list
//! of what rendering needs, so that anything unknown is left out. The result is then decoded in full, so that exactly what
//! was checked is stored. The thumbnail and the preview are made from the pixels as they are decoded.

mod downscale;
mod gif;
mod icc;
mod jpeg;
mod limits;
mod memory;
mod orientation;
mod pixels;
mod png;
#[cfg(test)]
mod tests;
mod vp8l;
mod webp;

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};

use agora_domain::limits::Requester;
use agora_domain::media::{CleanImage, ImageCleaner, ImageFormat, ImageProblem};
use agora_workers::{Capacity, Figures, Kind, Workers};
use async_trait::async_trait;
use bytes::Bytes;

pub use limits::ImageLimits;

type Result<T> = std::result::Result<T, ImageProblem>;

/// The image cleaner. It processes a bounded number of images at once on its own threads, within a bounded amount of
/// memory in total. Each account and each client address has a bounded share of the queue.
///
/// The memory is estimated from the header of an image, in bytes per pixel: 3 for a JPEG, 9 if it is progressive and all
/// its colours are at full resolution; none for a PNG; 1 for a GIF; 4.5 to 10.5 for a WebP. If an orientation has to be
/// applied, it is 4 for a JPEG and 2 to 9 for a PNG, each with twice the file in addition, and 12 for a WebP. Each pixel of the
/// thumbnail, which has 400 × 400 at most, takes 16 more.
pub struct Cleaner {
    limits: ImageLimits,
    workers: Workers,
}

impl Cleaner {
    /// The most images that may wait in the queue; further ones are rejected.
    const MAX_WAITING: usize = 64;

    /// The most images of one account that may be in progress or waiting.
    const MAX_PER_ACCOUNT: usize = 4;

    /// Creates a cleaner that processes up to `at_once` images in parallel, which take at most `memory` bytes in total.
    ///
    /// Up to 64 more images wait. Of all these, one account may have 4, and one client address a quarter, loopback addresses
    /// excepted. Beyond that, [`clean`](ImageCleaner::clean) fails with [`Error::Unavailable`]. An image that takes more than
    /// `memory` by itself is too large.
    ///
    /// [`Error::Unavailable`]: agora_domain::Error::Unavailable
    pub fn new(limits: ImageLimits, at_once: NonZeroUsize, memory: u64) -> Self {
        let kind = Kind { thread: "agora-image", items: "images", done: "checked" };
        let (waiting, per_account) = (Self::MAX_WAITING, Self::MAX_PER_ACCOUNT);
        let capacity = Capacity { parallel: at_once.get(), waiting, per_account, memory };
        Self { limits, workers: Workers::new(kind, capacity) }
    }

    /// Returns the figures of the queue and the threads.
    pub fn figures(&self) -> Figures {
        self.workers.figures()
    }

    /// Returns the bytes of memory that an upload takes, or an error if that is more than the cleaner may use.
    fn memory(&self, format: ImageFormat, upload: &[u8]) -> Result<u64> {
        let (needed, most) = (memory::estimate(format, upload, &self.limits)?, self.workers.most_memory());
        if needed <= most {
            return Ok(needed);
        }
        let (takes, most) = (needed.div_ceil(MEBIBYTE), most / MEBIBYTE);
        let why = format!("Image takes {takes} MiB of memory to be checked, and {most} MiB at most are given to one");
        Err(ImageProblem::TooLarge(why))
    }
}

const MEBIBYTE: u64 = 1024 * 1024;

#[async_trait]
impl ImageCleaner for Cleaner {
    async fn clean(&self, upload: Bytes, requester: &Requester) -> Result<CleanImage> {
        self.limits.check_bytes(upload.len())?;
        let format = format_of(&upload)?;
        let memory = self.memory(format, &upload)?;
        let limits = self.limits;
        let work = move || reject_on_panic(format, || clean(format, upload, &limits));
        self.workers.run(requester, memory, work).await?
    }
}

/// Returns the result of `work`. If a decoder panics, the image counts as undecodable.
fn reject_on_panic<T>(format: ImageFormat, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        tracing::warn!(?format, "an image decoder panicked");
        Err(undecodable())
    })
}

pub(crate) fn clean(format: ImageFormat, upload: Bytes, limits: &ImageLimits) -> Result<CleanImage> {
    let (bytes, downscale::ThumbnailAndPreview { preview, thumbnail }) = match format {
        ImageFormat::Jpeg => jpeg::clean(upload, limits),
        ImageFormat::Png => png::clean(&upload, limits),
        ImageFormat::Gif => gif::clean(&upload, limits),
        ImageFormat::WebP => webp::clean(&upload, limits),
    }?;
    Ok(CleanImage { format, bytes: bytes.into(), preview, thumbnail: thumbnail.into() })
}

/// Returns an empty buffer for the cleaned file of an upload of this size.
///
/// The buffer outlives the processing. For a large upload it has a capacity of more than 32 MiB, which glibc maps separately
/// and returns to the system as soon as it is dropped, whereas it would keep smaller allocations in its free lists. Capacity
/// that is not written to takes no memory.
fn output_buffer(bytes: usize) -> Vec<u8> {
    const LARGE: usize = 4 << 20;
    const MAPPED: usize = 33 << 20;
    Vec::with_capacity(if bytes > LARGE { bytes.max(MAPPED) } else { bytes })
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

/// Returns the problem of a file that is broken, truncated or of a kind that the decoder does not support.
fn undecodable() -> ImageProblem {
    ImageProblem::Unacceptable("Image cannot be decoded".to_owned())
}

/// The most chunks in a file. A list of this length takes a mebibyte or two, as much as is estimated for tables. Pictures have
/// hundreds, and long animations some thousands.
const MAX_CHUNKS: usize = 1 << 15;

/// Adds a chunk to those of a file, up to [`MAX_CHUNKS`].
fn push_chunk<T>(chunks: &mut Vec<T>, chunk: T) -> Result<()> {
    if chunks.len() == MAX_CHUNKS {
        return Err(undecodable());
    }
    chunks.push(chunk);
    Ok(())
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
