//! How much memory an image takes while it is worked on, as far as its header tells: measured, and rounded up.
//!
//! One number of bytes for each pixel, whatever the format, does not do. Of 40 megapixels, a PNG takes 0.0, a baseline
//! JPEG 3.1, a progressive one up to 9.1 and a transparent lossy WebP 10.5: the largest of these numbers would refuse
//! photographs of more than 19 megapixels within 192 MiB, and a smaller one would be no bound. The header has to tell
//! until every decoder keeps to a limit of its own.

use agora_domain::media::ImageFormat;
use image::metadata::Orientation;

use super::{ImageLimits, Result, gif, jpeg, png, shrink, webp};

/// What is allocated besides the pixels and the file: tables, rows, the encoder's state.
const BESIDES: u64 = 2 * 1024 * 1024;

/// How many times a file is in memory: as it came, cleaned, and as the decoder reads it.
const COPIES: u64 = 3;

/// Returns the bytes of memory that it takes to clean an upload, of which its format tells what it makes of the pixels.
///
/// # Errors
/// When it has too many pixels, or its header does not tell how many.
pub(super) fn needed(format: ImageFormat, upload: &[u8], limits: &ImageLimits) -> Result<u64> {
    let (pixels, orientation) = match format {
        ImageFormat::Jpeg => jpeg::pixels(upload, limits),
        ImageFormat::Png => png::pixels(upload, limits),
        ImageFormat::Gif => gif::pixels(upload, limits),
        ImageFormat::WebP => webp::pixels(upload, limits),
    }?;
    let turning = if orientation == Orientation::NoTransforms { 0 } else { pixels.turning };
    let file = (upload.len() as u64).saturating_mul(COPIES);
    // The thumbnail is there as well while the image is turned.
    let shrinking = shrink::memory(pixels.size);
    Ok(pixels.decoding.max(turning).saturating_add(shrinking).saturating_add(file).saturating_add(BESIDES))
}
