//! What an image's pixels take in memory.

/// What an image's header says of its pixels in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pixels {
    /// Width and height, before its orientation is applied.
    pub(super) size: (u32, u32),
    /// Bytes while it is decoded.
    pub(super) decoding: u64,
    /// Bytes while what came of it is turned and written.
    pub(super) turning: u64,
}
