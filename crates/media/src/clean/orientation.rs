//! The orientation in EXIF metadata. It is the one part of the metadata that changes how an image looks, so it is applied to
//! the pixels before the metadata is removed.

use std::io::Cursor;

use agora_domain::media::ImageProblem;
use image::metadata::Orientation;
use image::{DynamicImage, GenericImageView};

use super::{Result, undecodable};

/// Returns the orientation in a block of EXIF data, or [`Orientation::NoTransforms`] if it has none.
pub(super) fn orientation_of(exif: &[u8]) -> Orientation {
    // PNG and WebP contain bare TIFF data, but some writers leave in the prefix that JPEG has.
    let tiff = exif.strip_prefix(b"Exif\0\0").unwrap_or(exif);
    Orientation::from_exif_chunk(tiff).unwrap_or(Orientation::NoTransforms)
}

/// Returns the width and height of a picture of this size after its orientation is applied.
pub(super) fn oriented_size(orientation: Orientation, (width, height): (u32, u32)) -> (u32, u32) {
    use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
    match orientation {
        Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH => (height, width),
        _ => (width, height),
    }
}

/// Returns the position in the stored picture of the pixel at `x` and `y` of the oriented picture, whose width and height are
/// `size`. `x` and `y` MUST be less than these.
pub(super) fn stored_position(orientation: Orientation, size: (u32, u32), x: u32, y: u32) -> (u32, u32) {
    let (from_right, from_bottom) = (size.0 - 1 - x, size.1 - 1 - y);
    match orientation {
        Orientation::NoTransforms => (x, y),
        Orientation::FlipHorizontal => (from_right, y),
        Orientation::Rotate180 => (from_right, from_bottom),
        Orientation::FlipVertical => (x, from_bottom),
        Orientation::Rotate90FlipH => (y, x),
        Orientation::Rotate90 => (y, from_right),
        Orientation::Rotate270FlipH => (from_bottom, from_right),
        Orientation::Rotate270 => (from_bottom, x),
    }
}

/// Returns the maximum size of the re-encoded file of an upload, from its number of pixels and its bytes. Photographs stay well
/// below. Noise that was compressed to almost nothing may need several bytes per pixel, and is rejected.
pub(super) fn max_encoded_bytes(pixels: u64, upload: usize) -> u64 {
    pixels.saturating_add(upload as u64 * 2)
}

/// Encodes a picture with its orientation applied, to a file of at most `most` bytes.
pub(super) fn encode_upright<E>(
    format: &str,
    most: u64,
    encode: impl FnOnce(&mut Cursor<&mut [u8]>) -> std::result::Result<(), E>,
) -> Result<Vec<u8>> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    // A growing buffer would take up to twice its length. Pages of this one that are not written to take no memory.
    let mut file = vec![0; most];
    let mut writer = Cursor::new(file.as_mut_slice());
    let encoded = encode(&mut writer);
    let length = usize::try_from(writer.position()).unwrap_or(most);
    match encoded {
        Ok(()) => {
            file.truncate(length);
            file.shrink_to_fit();
            Ok(file)
        }
        Err(_) if length == most => Err(ImageProblem::TooLarge(format!(
            "{format} image must take at most {} KiB when its orientation is applied",
            most / 1024
        ))),
        Err(_) => Err(undecodable()),
    }
}

/// A view of a picture that applies its orientation as pixels are read, so that they are in memory only once.
pub(super) struct OrientedView<'a, Picture> {
    pub(super) picture: &'a Picture,
    pub(super) orientation: Orientation,
}

impl<Picture: GenericImageView> GenericImageView for OrientedView<'_, Picture> {
    type Pixel = Picture::Pixel;

    fn dimensions(&self) -> (u32, u32) {
        oriented_size(self.orientation, self.picture.dimensions())
    }

    fn get_pixel(&self, x: u32, y: u32) -> Self::Pixel {
        let (x, y) = stored_position(self.orientation, self.dimensions(), x, y);
        self.picture.get_pixel(x, y)
    }
}

/// Returns whether an ICC profile is for the colour space of the decoded picture. Decoding may change it, such as from CMYK to
/// RGB.
pub(super) fn profile_fits(profile: &[u8], picture: &DynamicImage) -> bool {
    let space: &[u8] = if picture.color().has_color() { b"RGB " } else { b"GRAY" };
    profile.get(16..20) == Some(space)
}
