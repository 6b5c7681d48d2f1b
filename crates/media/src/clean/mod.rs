//! Checks uploads and makes them fit to be stored.
//!
//! Every format is handled alike: its file structure is read and written anew with a list of the parts that are needed
//! to render the image, so that anything unknown is left out; the result is then decoded in full. What is stored
//! is thus exactly what was checked.

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
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use agora_domain::error::Error;
use agora_domain::limits::{QueueShares, Requester};
use agora_domain::media::{CleanImage, ImageCleaner, ImageFormat, ImageProblem};
use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{Semaphore, oneshot};

pub use limits::ImageLimits;

type Result<T> = std::result::Result<T, ImageProblem>;

/// The image cleaner. It works on threads of its own, on a bounded number of images at once, which together take a
/// bounded amount of memory. Each account and each client address has a bounded share of the queue.
///
/// The memory is reckoned from an image's header: 3 bytes for each pixel of a JPEG, 9 when it is progressive and all its
/// colours are at full resolution; none of a PNG; one of a GIF; 4.5 to 10.5 of a WebP. With an orientation to be applied,
/// it is 4 of a JPEG and twice its file, up to 16 of a PNG, whose pixels are in memory as often as its file, and 12 of a
/// WebP.
pub struct Cleaner {
    limits: ImageLimits,
    /// One permit per image being worked on.
    slots: Arc<Semaphore>,
    /// One permit per image being worked on or waiting for it.
    queue: Arc<Semaphore>,
    /// How many of those each account and each client address has.
    shares: QueueShares,
    /// One permit per KiB that the images being worked on take.
    memory: Arc<Semaphore>,
    /// All of those.
    kibibytes: u32,
    at_once: usize,
    refused: AtomicU64,
}

/// How busy a [`Cleaner`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CleanerFigures {
    /// Images that are being worked on, or wait for memory.
    pub running: usize,
    /// Images that wait for their turn.
    pub waiting: usize,
    /// The bytes that those that are being worked on take, as they are reckoned.
    pub memory: u64,
    /// The most that they may take.
    pub most_memory: u64,
    /// Images that were refused since the start, because too many waited, or too many of one account or address.
    pub refused: u64,
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
    pub fn new(limits: ImageLimits, at_once: NonZeroUsize, memory: u64) -> Self {
        let slots = at_once.get().min(Semaphore::MAX_PERMITS - Self::WAITING);
        let kibibytes = u32::try_from(memory / KIBIBYTE).unwrap_or(u32::MAX);
        Self {
            limits,
            slots: Arc::new(Semaphore::new(slots)),
            queue: Arc::new(Semaphore::new(slots + Self::WAITING)),
            shares: QueueShares::new(Self::PER_ACCOUNT, (slots + Self::WAITING) / 4),
            memory: Arc::new(Semaphore::new(kibibytes as usize)),
            kibibytes,
            at_once: slots,
            refused: AtomicU64::new(0),
        }
    }

    /// Returns how busy it is.
    pub fn figures(&self) -> CleanerFigures {
        let running = self.at_once.saturating_sub(self.slots.available_permits());
        let admitted = (self.at_once + Self::WAITING).saturating_sub(self.queue.available_permits());
        let most = u64::from(self.kibibytes);
        let free = u64::try_from(self.memory.available_permits()).unwrap_or(u64::MAX);
        CleanerFigures {
            running,
            waiting: admitted.saturating_sub(running),
            memory: most.saturating_sub(free) * KIBIBYTE,
            most_memory: most * KIBIBYTE,
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    /// Returns the error of an image for which there is no place in the queue.
    fn refuse(&self, why: &'static str) -> Error {
        self.refused.fetch_add(1, Ordering::Relaxed);
        Error::unavailable(why)
    }

    /// Returns how many KiB an upload takes, which are not more than there are.
    fn kibibytes(&self, format: ImageFormat, upload: &[u8]) -> Result<u32> {
        let needed = memory::needed(format, upload, &self.limits)?.div_ceil(KIBIBYTE);
        u32::try_from(needed).ok().filter(|needed| *needed <= self.kibibytes).ok_or_else(|| {
            let (takes, most) = (needed.div_ceil(1024), self.kibibytes / 1024);
            let why =
                format!("Image takes {takes} MiB of memory to be checked, and {most} MiB at most are given to one");
            ImageProblem::TooLarge(why)
        })
    }
}

const KIBIBYTE: u64 = 1024;

#[async_trait]
impl ImageCleaner for Cleaner {
    async fn clean(&self, upload: Bytes, requester: &Requester) -> Result<CleanImage> {
        self.limits.check_bytes(upload.len())?;
        let format = format_of(&upload)?;
        let needed = self.kibibytes(format, &upload)?;
        let share = self.shares.try_acquire(requester);
        let share = share.ok_or_else(|| self.refuse("too many images of one client are waiting to be checked"))?;
        let place = Arc::clone(&self.queue).try_acquire_owned();
        let place = place.map_err(|_| self.refuse("too many images are waiting to be checked"))?;
        let slot = Arc::clone(&self.slots).acquire_owned().await.map_err(Error::unavailable)?;
        let memory = Arc::clone(&self.memory).acquire_many_owned(needed).await.map_err(Error::unavailable)?;
        let limits = self.limits;
        let held = (slot, memory, place, share);
        run_on_thread(format, move || {
            // Held by the work, not by the request: a request that is given up does not end it.
            let _held = held;
            clean(format, &upload, &limits)
        })
        .await?
    }
}

/// Runs work on a thread of its own, which can have a priority of its own.
async fn run_on_thread<T: Send + 'static>(format: ImageFormat, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let (reply, answer) = oneshot::channel();
    let run = move || {
        lower_priority();
        // Whoever no longer waits does not miss it.
        let _ = reply.send(work());
    };
    thread::Builder::new().name("agora-image".to_owned()).spawn(run).map_err(Error::unavailable)?;
    answer.await.map_err(|_| {
        tracing::warn!(?format, "an image made its decoder panic");
        undecodable()
    })
}

/// The priority of decoding, on the system's scale from -20, the highest, to 19: as that of hashing passwords.
#[cfg(target_os = "linux")]
const PRIORITY: i32 = 5;

/// Lowers the priority of this thread. A large image takes seconds of a core; a request that is ready takes the core from
/// it at once.
fn lower_priority() {
    // Elsewhere priorities are those of processes.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, PRIORITY) {
        tracing::debug!(%error, "images are decoded with ordinary priority");
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

/// Returns the problem of a file that is broken, cut off or of a kind that the decoder does not know.
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
