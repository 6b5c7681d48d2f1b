//! Images that are dear to check.

use std::sync::{Arc, LazyLock};

use image::{Rgb, RgbImage, codecs::jpeg::JpegEncoder};

use crate::worst_cases::Picture;

impl Picture {
    pub(crate) fn file(self) -> Arc<[u8]> {
        static ANIMATION: LazyLock<Arc<[u8]>> = LazyLock::new(|| animation().into());
        static TURNED: LazyLock<Arc<[u8]>> = LazyLock::new(|| turned().into());
        Arc::clone(match self {
            Self::Animation => &ANIMATION,
            Self::Turned => &TURNED,
        })
    }
}

/// A WebP file of 4 frames of one colour each, in which no pixel takes a bit. A frame is as large as the memory for checks
/// allows, all of them together as the limit of animations.
fn animation() -> Vec<u8> {
    const SIDE: u32 = 4200;
    const FRAMES: usize = 4;
    let [low, middle, high, _] = (SIDE - 1).to_le_bytes();
    let size = [low, middle, high, low, middle, high];
    // No transformation, no cache of colours and one group of codes are a zero each, a code of the symbol 0 alone is 1000.
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

/// A JPEG file of nearly 40 megapixels that EXIF asks to be turned, filled up to nearly 5 MiB.
fn turned() -> Vec<u8> {
    const SIDE: u32 = 6320;
    let row: Vec<u8> = (0..SIDE).flat_map(|x| [(x / 28) as u8, (x / 7) as u8, 7]).collect();
    let pixels = RgbImage::from_raw(SIDE, SIDE, row.repeat(SIDE as usize)).unwrap();
    let mut file = Vec::new();
    JpegEncoder::new_with_quality(&mut file, 50).encode_image(&pixels).unwrap();
    let exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    let segment = |marker, data: &[u8]| {
        let length = u16::try_from(data.len() + 2).unwrap().to_be_bytes();
        [&[0xff, marker], length.as_slice(), data].concat()
    };
    let comment = segment(0xfe, &[b'x'; 60_000]);
    let room = (5usize << 20).saturating_sub(file.len() + 100) / comment.len();
    [&file[..2], &segment(0xe1, exif), &comment.repeat(room), &file[2..]].concat()
}

/// A small picture of 4 MiB, since nothing in it repeats.
pub(crate) fn noise() -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let pixels = RgbImage::from_fn(1180, 1180, |_, _| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let [red, green, blue, _] = state.to_le_bytes();
        Rgb([red, green, blue])
    });
    let mut file = std::io::Cursor::new(Vec::new());
    pixels.write_to(&mut file, image::ImageFormat::Png).unwrap();
    file.into_inner()
}
