//! Images that are dear to check.

use std::sync::{Arc, LazyLock};

use image::{Rgb, RgbImage, codecs::jpeg::JpegEncoder};

use crate::worst_cases::Picture;

impl Picture {
    pub(crate) fn file(self) -> Arc<[u8]> {
        static ANIMATION: LazyLock<Arc<[u8]>> = LazyLock::new(|| animation(9).into());
        static TURNED: LazyLock<Arc<[u8]>> = LazyLock::new(|| turned().into());
        Arc::clone(match self {
            Self::Animation => &ANIMATION,
            Self::Turned => &TURNED,
        })
    }
}

const WIDTH: u32 = 6320;
const HEIGHT: u32 = 6320;

/// A WebP file of so many frames of nearly 40 megapixels of one colour each, which takes no bit for a pixel.
fn animation(frames: usize) -> Vec<u8> {
    let [w0, w1, w2, _] = (WIDTH - 1).to_le_bytes();
    let [h0, h1, h2, _] = (HEIGHT - 1).to_le_bytes();
    // No transformation, no cache of colours and one group of codes are a zero each, a code of the symbol 0 alone is 1000.
    let codes = [0b1000_1000, 0b1000_1000, 0b0000_1000, 0, 0];
    let lossless = [[0x2f].as_slice(), &((WIDTH - 1) | (HEIGHT - 1) << 14).to_le_bytes(), &codes].concat();
    let place = [0, 0, 0, 0, 0, 0, w0, w1, w2, h0, h1, h2, 80, 0, 0, 0];
    let frame = chunk(b"ANMF", &[place.as_slice(), &chunk(b"VP8L", &lossless)].concat());
    let header = chunk(b"VP8X", &[2, 0, 0, 0, w0, w1, w2, h0, h1, h2]);
    let body = [b"WEBP".as_slice(), &header, &chunk(b"ANIM", &[0; 6]), &frame.repeat(frames)].concat();
    chunk(b"RIFF", &body)
}

fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap();
    [kind.as_slice(), &length.to_le_bytes(), data, &[0][..data.len() % 2]].concat()
}

/// A JPEG file of nearly 40 megapixels that EXIF asks to be turned, filled up to nearly 5 MiB.
fn turned() -> Vec<u8> {
    let row: Vec<u8> = (0..WIDTH).flat_map(|x| [(x / 28) as u8, (x / 7) as u8, 7]).collect();
    let pixels = RgbImage::from_raw(WIDTH, HEIGHT, row.repeat(HEIGHT as usize)).unwrap();
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
