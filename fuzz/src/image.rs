//! Uploaded images.

use std::io::Cursor;

use agora_domain::media::ImageFormat as Format;
use agora_media::ImageLimits;
use agora_media::fuzzing::clean;
use image::{ImageFormat, ImageReader, Limits};

use crate::metadata;

/// Small, so that much can be tried.
const LIMITS: ImageLimits = ImageLimits { max_bytes: 64 * 1024, max_pixels: 16 * 1024 };

/// Cleans an upload.
///
/// # Panics
/// When what is made of it, or its thumbnail, cannot be decoded, is beyond the limits, is not clean, or still carries metadata.
pub fn check(data: &[u8]) {
    let Ok(cleaned) = clean(data, &LIMITS) else { return };
    let bytes = &cleaned.bytes;

    let format = match cleaned.format {
        Format::Jpeg => ImageFormat::Jpeg,
        Format::Png => ImageFormat::Png,
        Format::Gif => ImageFormat::Gif,
        Format::WebP => ImageFormat::WebP,
    };
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(64 << 20);
    reader.limits(limits);
    let picture = reader.decode().expect("a cleaned image can be decoded");
    let pixels = u64::from(picture.width()) * u64::from(picture.height());
    assert!(pixels <= LIMITS.max_pixels, "{pixels} pixels");

    // An image that had to be turned is encoded anew: at most eight bytes a pixel, and what every file has.
    let most = 2 * data.len() + 9 * pixels as usize + 4096;
    assert!(bytes.len() <= most, "{} bytes out of {}", bytes.len(), data.len());

    let preview = &cleaned.preview;
    assert_eq!((preview.width, preview.height), (picture.width(), picture.height()), "the preview is of another size");
    let thumbnail = ImageReader::with_format(Cursor::new(&cleaned.thumbnail), ImageFormat::Jpeg);
    let thumbnail = thumbnail.decode().expect("a thumbnail can be decoded");
    assert!(thumbnail.width().max(thumbnail.height()) <= 400, "the thumbnail is too large");

    if let Some(found) = metadata::find(cleaned.format, bytes) {
        panic!("metadata is left: {found}");
    }
    // Without the limit on bytes: one that was encoded anew may have more of them.
    let again = clean(bytes, &ImageLimits { max_bytes: u64::MAX, ..LIMITS }).expect("a cleaned image is taken again");
    assert_eq!(again.bytes, cleaned.bytes, "a cleaned image has nothing to clean");
}
