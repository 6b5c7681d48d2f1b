//! The limits on uploads.

use agora_domain::media::ImageProblem;

use super::{Result, undecodable};

const MEBIBYTE: u64 = 1024 * 1024;
const MEGAPIXEL: u64 = 1_000_000;

/// The limits on the size of an upload. The defaults are 5 MiB and 40 megapixels.
#[derive(Debug, Clone, Copy)]
pub struct ImageLimits {
    /// The maximum size of the file in bytes.
    pub max_bytes: u64,
    /// The maximum of width times height of the image, and of each frame of an animation. All frames together may have twice as
    /// many pixels.
    pub max_pixels: u64,
}

impl Default for ImageLimits {
    fn default() -> Self {
        Self { max_bytes: 5 * MEBIBYTE, max_pixels: 40 * MEGAPIXEL }
    }
}

impl ImageLimits {
    /// The most pixels of an animation, as a multiple of the maximum of an image. Frames are decoded one by one and never
    /// composited, so an animation costs as much as it has pixels. With twice as many, it costs no more than the most expensive
    /// still image, one that has to be reoriented and encoded again.
    const ANIMATION_FACTOR: u64 = 2;

    pub(crate) fn check_bytes(&self, bytes: usize) -> Result<()> {
        if bytes as u64 <= self.max_bytes {
            return Ok(());
        }
        let limit = scaled(self.max_bytes, MEBIBYTE, "MiB", "bytes");
        Err(ImageProblem::TooLarge(format!("Image must be at most {limit}")))
    }

    /// Returns the number of pixels of an image, or an error if it is too large or has none.
    pub(super) fn check_pixels(&self, width: u32, height: u32) -> Result<u64> {
        match u64::from(width) * u64::from(height) {
            0 => Err(undecodable()),
            pixels if pixels <= self.max_pixels => Ok(pixels),
            _ => {
                let limit = scaled(self.max_pixels, MEGAPIXEL, "megapixels", "pixels");
                Err(ImageProblem::TooLarge(format!("Image must be at most {limit}")))
            }
        }
    }

    /// Returns the most pixels that all frames of an animation may have in total.
    pub(super) fn max_animation_pixels(&self) -> u64 {
        self.max_pixels.saturating_mul(Self::ANIMATION_FACTOR)
    }

    /// Checks the total number of pixels of all frames of an animation.
    pub(super) fn check_animation(&self, pixels: u64) -> Result<()> {
        if pixels <= self.max_animation_pixels() {
            return Ok(());
        }
        let limit = scaled(self.max_animation_pixels(), MEGAPIXEL, "megapixels", "pixels");
        Err(ImageProblem::TooLarge(format!("Animation must be at most {limit} over all its frames")))
    }
}

/// Formats a number in the larger unit if it is a multiple of it, and in the smaller unit otherwise.
fn scaled(number: u64, unit: u64, large: &str, small: &str) -> String {
    if number.is_multiple_of(unit) { format!("{} {large}", number / unit) } else { format!("{number} {small}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_limit() {
        let message = |problem: Result<()>| problem.unwrap_err().to_string();
        let limits = ImageLimits::default();
        assert_eq!(message(limits.check_bytes(5 * 1024 * 1024 + 1)), "Image must be at most 5 MiB");
        assert_eq!(message(limits.check_pixels(40_000_001, 1).map(|_| ())), "Image must be at most 40 megapixels");
        let limits = ImageLimits { max_bytes: 1000, max_pixels: 64 };
        assert_eq!(message(limits.check_bytes(1001)), "Image must be at most 1000 bytes");
        assert_eq!(message(limits.check_pixels(13, 5).map(|_| ())), "Image must be at most 64 pixels");
        assert_eq!(message(limits.check_animation(129)), "Animation must be at most 128 pixels over all its frames");
    }

    #[test]
    fn limits_are_inclusive() {
        let limits = ImageLimits { max_bytes: 1000, max_pixels: 64 };
        limits.check_bytes(1000).unwrap();
        limits.check_animation(128).unwrap();
        assert_eq!(limits.check_pixels(8, 8).unwrap(), 64);
        assert!(limits.check_pixels(u32::MAX, u32::MAX).is_err());
    }
}
