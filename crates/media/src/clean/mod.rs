//! Checks uploads and makes them fit to be stored.
//!
//! Every format is handled alike: its file structure is read and written anew with a list of the parts that are needed
//! to render the image, so that anything unknown is left out; the result is then decoded in full. What is stored
//! is thus exactly what was checked. The thumbnail and the preview are made of the pixels as they are decoded.

mod gif;
mod icc;
mod jpeg;
mod limits;
mod memory;
mod orientation;
mod pixels;
mod png;
mod shrink;
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

/// The image cleaner. It works on threads of its own, on a bounded number of images at once, which together take a
/// bounded amount of memory. Each account and each client address has a bounded share of the queue.
///
/// The memory is reckoned from an image's header: 3 bytes for each pixel of a JPEG, 9 when it is progressive and all its
/// colours are at full resolution; none of a PNG; one of a GIF; 4.5 to 10.5 of a WebP. With an orientation to be applied,
/// it is 4 of a JPEG, 2 to 9 of a PNG, and twice the file of either, and 12 of a WebP. Each pixel of the thumbnail, which has
/// 400 × 400 at most, takes 16 more.
pub struct Cleaner {
    limits: ImageLimits,
    workers: Workers,
}

impl Cleaner {
    /// How many images may wait for their turn; one more is refused.
    const WAITING: usize = 64;

    /// How many images of one account may be worked on or wait at once.
    const PER_ACCOUNT: usize = 4;

    /// A cleaner that works on `at_once` images at the same time, which take `memory` bytes together at most. Up to 64
    /// more wait for their turn. Of all these, 4 may be of one account, and a quarter of one client address other than
    /// this machine's; beyond that [`clean`](ImageCleaner::clean) fails with [`Error::Unavailable`]. An image that takes
    /// more memory by itself is too large.
    ///
    /// [`Error::Unavailable`]: agora_domain::Error::Unavailable
    pub fn new(limits: ImageLimits, at_once: NonZeroUsize, memory: u64) -> Self {
        let kind = Kind { thread: "agora-image", items: "images", done: "checked" };
        let (waiting, per_account) = (Self::WAITING, Self::PER_ACCOUNT);
        let capacity = Capacity { parallel: at_once.get(), waiting, per_account, memory };
        Self { limits, workers: Workers::new(kind, capacity) }
    }

    /// Returns how busy it is.
    pub fn figures(&self) -> Figures {
        self.workers.figures()
    }

    /// Returns how many bytes of memory an upload takes, which are not more than there are.
    fn memory(&self, format: ImageFormat, upload: &[u8]) -> Result<u64> {
        let (needed, most) = (memory::needed(format, upload, &self.limits)?, self.workers.most_memory());
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
        let work = move || without_panic(format, || clean(format, upload, &limits));
        self.workers.run(requester, memory, work).await?
    }
}

/// Returns what the work gives. A decoder that panics has met an image that cannot be decoded.
fn without_panic<T>(format: ImageFormat, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        tracing::warn!(?format, "an image made its decoder panic");
        Err(undecodable())
    })
}

pub(crate) fn clean(format: ImageFormat, upload: Bytes, limits: &ImageLimits) -> Result<CleanImage> {
    let (bytes, shrink::Shrunk { preview, thumbnail }) = match format {
        ImageFormat::Jpeg => jpeg::clean(upload, limits),
        ImageFormat::Png => png::clean(&upload, limits),
        ImageFormat::Gif => gif::clean(&upload, limits),
        ImageFormat::WebP => webp::clean(&upload, limits),
    }?;
    Ok(CleanImage { format, bytes: bytes.into(), preview, thumbnail: thumbnail.into() })
}

/// Returns an empty buffer for what is made of an upload of so many bytes, and outlives the work on it. That of a large one has room for more
/// than 32 MiB, which glibc takes from the system by themselves and gives back as soon as they are dropped, where what has less
/// stays among its free memory. What is not written to takes no memory.
fn buffer(bytes: usize) -> Vec<u8> {
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

/// Returns the problem of a file that is broken, cut off or of a kind that the decoder does not know.
fn undecodable() -> ImageProblem {
    ImageProblem::Unacceptable("Image cannot be decoded".to_owned())
}

/// The most chunks of a file: a list of them takes a mebibyte or two, as much as is reckoned for tables. Pictures have hundreds, and long
/// animations some thousands.
const MAX_CHUNKS: usize = 1 << 15;

/// Adds a chunk to those of a file.
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
