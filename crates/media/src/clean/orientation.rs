//! The orientation that EXIF metadata asks for. It is the one part of the metadata that changes how an image looks,
//! so it is applied to the pixels before the metadata goes.

use image::metadata::Orientation;
use image::{DynamicImage, GenericImageView};

/// Returns the orientation that a block of EXIF asks for; none when it does not say.
pub(super) fn orientation_of(exif: &[u8]) -> Orientation {
    // PNG and WebP hold bare TIFF data, but some writers leave the prefix that JPEG has.
    let tiff = exif.strip_prefix(b"Exif\0\0").unwrap_or(exif);
    Orientation::from_exif_chunk(tiff).unwrap_or(Orientation::NoTransforms)
}

/// Returns the width and height that a picture of this size has once its orientation is applied.
pub(super) fn oriented_size(orientation: Orientation, (width, height): (u32, u32)) -> (u32, u32) {
    use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
    match orientation {
        Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH => (height, width),
        _ => (width, height),
    }
}

/// Returns where in the stored picture the pixel at `x` and `y` of the oriented picture is, whose width and height are
/// `size`. `x` and `y` are below them.
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

/// A view of a picture that applies its orientation as pixels are read: they are in memory once.
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

/// Returns whether an ICC profile describes the colours the picture has now. Decoding turns CMYK into RGB, for example.
pub(super) fn profile_fits(profile: &[u8], picture: &DynamicImage) -> bool {
    let space: &[u8] = if picture.color().has_color() { b"RGB " } else { b"GRAY" };
    profile.get(16..20) == Some(space)
}
