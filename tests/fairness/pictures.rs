//! Images that are expensive to check.

use std::sync::{Arc, LazyLock};

use crate::picture::turned_jpeg;
use crate::worst_cases::Picture;

impl Picture {
    pub(crate) fn file(self) -> Arc<[u8]> {
        static ANIMATION: LazyLock<Arc<[u8]>> = LazyLock::new(|| animation().into());
        static TURNED: LazyLock<Arc<[u8]>> = LazyLock::new(|| turned_jpeg(6320, 6320).into());
        Arc::clone(match self {
            Self::Animation => &ANIMATION,
            Self::Turned => &TURNED,
        })
    }
}

/// Returns a WebP file of 4 frames of one colour each, whose pixels take no bits. A frame has the largest size that the memory
/// for checks allows; all frames together reach the limit on animations.
fn animation() -> Vec<u8> {
    const SIDE: u32 = 4200;
    const FRAMES: usize = 4;
    let [low, middle, high, _] = (SIDE - 1).to_le_bytes();
    let size = [low, middle, high, low, middle, high];
    // One zero bit each for no transform, no colour cache and a single group of prefix codes. The bits 1000 are a prefix code
    // with only the symbol 0.
    let codes = [0b1000_1000, 0b1000_1000, 0b0000_1000, 0, 0];
    let lossless = [[0x2f].as_slice(), &((SIDE - 1) | (SIDE - 1) << 14).to_le_bytes(), &codes].concat();
    let frame = chunk(b"ANMF", &[&[0; 6], &size[..], &[80, 0, 0, 0], &chunk(b"VP8L", &lossless)].concat());
    let header = chunk(b"VP8X", &[&[2, 0, 0, 0], &size[..]].concat());
    let body = [b"WEBP".as_slice(), &header, &chunk(b"ANIM", &[0; 6]), &frame.repeat(FRAMES)].concat();
    chunk(b"RIFF", &body)
}

fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap();
    [kind.as_slice(), &length.to_le_bytes(), data, &[0][..data.len() % 2]].concat()
}
