//! The memory that the pixels of an image take.

/// An estimate, from the header of an image, of the memory that its pixels take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PixelMemory {
    /// Width and height, before its orientation is applied.
    pub(super) size: (u32, u32),
    /// Bytes while the image is decoded.
    pub(super) decoding: u64,
    /// Bytes while the decoded image is reoriented and encoded again.
    pub(super) reorienting: u64,
}
