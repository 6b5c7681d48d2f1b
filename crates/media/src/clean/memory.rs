//! Estimates the memory that cleaning an image takes, from its header. The numbers were measured and rounded up.
//!
//! A single number of bytes per pixel for all formats does not work. At 40 megapixels, a PNG takes 0.0, a baseline JPEG 3.1,
//! a progressive one up to 9.1, and a transparent lossy WebP 10.5. The largest of these numbers would reject photographs of
//! more than 19 megapixels within 192 MiB, and a smaller one would not be a bound. The estimate is needed until every decoder
//! keeps to a memory limit of its own.

use agora_domain::media::ImageFormat;
use image::metadata::Orientation;

use super::{ImageLimits, Result, downscale, gif, jpeg, png, webp};

/// The bytes allocated besides the pixels and the file: tables, rows, the state of the encoder.
const FIXED_OVERHEAD: u64 = 2 * 1024 * 1024;

/// How many copies of a file are in memory: the upload, the cleaned file, and the one that the decoder reads.
const FILE_COPIES: u64 = 3;

/// Returns the bytes of memory that cleaning an upload takes.
///
/// # Errors
/// When the image has too many pixels, or its header does not tell how many.
pub(super) fn estimate(format: ImageFormat, upload: &[u8], limits: &ImageLimits) -> Result<u64> {
    let (pixels, orientation) = match format {
        ImageFormat::Jpeg => jpeg::pixel_memory(upload, limits),
        ImageFormat::Png => png::pixel_memory(upload, limits),
        ImageFormat::Gif => gif::pixel_memory(upload, limits),
        ImageFormat::WebP => webp::pixel_memory(upload, limits),
    }?;
    let reorienting = if orientation == Orientation::NoTransforms { 0 } else { pixels.reorienting };
    let file = (upload.len() as u64).saturating_mul(FILE_COPIES);
    // The thumbnail is in memory as well while the orientation is applied.
    let downscaling = downscale::estimate_memory(pixels.size);
    Ok(pixels.decoding.max(reorienting).saturating_add(downscaling).saturating_add(file).saturating_add(FIXED_OVERHEAD))
}
