//! The orientation that EXIF metadata asks for. It is the one part of the metadata that changes how an image looks,
//! so it is applied to the pixels before the metadata goes.

use image::{DynamicImage, ImageDecoder, metadata::Orientation};

use super::{Result, undecodable};

/// The orientation that a block of EXIF asks for; none when it does not say.
pub(super) fn orientation_of(exif: &[u8]) -> Orientation {
    // PNG and WebP hold bare TIFF data, but some writers leave the prefix that JPEG has.
    let tiff = exif.strip_prefix(b"Exif\0\0").unwrap_or(exif);
    Orientation::from_exif_chunk(tiff).unwrap_or(Orientation::NoTransforms)
}

/// Decodes an image and turns it upright.
pub(super) fn upright(decoder: impl ImageDecoder, orientation: Orientation) -> Result<DynamicImage> {
    let mut picture = DynamicImage::from_decoder(decoder).map_err(|_| undecodable())?;
    picture.apply_orientation(orientation);
    Ok(picture)
}

/// Whether an ICC profile describes the colours the picture has now. Decoding turns CMYK into RGB, for example.
pub(super) fn profile_fits(profile: &[u8], picture: &DynamicImage) -> bool {
    let space: &[u8] = if picture.color().has_color() { b"RGB " } else { b"GRAY" };
    profile.get(16..20) == Some(space)
}
