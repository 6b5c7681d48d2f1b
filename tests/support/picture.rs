//! Pictures to upload.

#![allow(dead_code, reason = "each suite uses a part")]

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::{ImageFormat, Rgb, RgbImage};

/// Returns a picture, as a PNG file.
pub(crate) fn picture() -> Vec<u8> {
    png(&RgbImage::from_fn(64, 48, |x, y| Rgb([(x * 4) as u8, (y * 5) as u8, ((x * y) % 251) as u8])))
}

/// Checks that an image file shows the picture of [`picture`].
#[track_caller]
pub(crate) fn expect_picture(file: &[u8]) {
    let decode = |file| image::load_from_memory(file).unwrap().into_rgb8();
    assert!(decode(file) == decode(&picture()), "another picture");
}

/// Returns a square picture of noise, which cannot be compressed, as a PNG file. It has 3 bytes for each pixel: nearly 5 MiB if
/// its side is 1300.
pub(crate) fn noise(side: u32) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    png(&RgbImage::from_fn(side, side, |_, _| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let [red, green, blue, _] = state.to_le_bytes();
        Rgb([red, green, blue])
    }))
}

/// Returns a JPEG file of nearly 5 MiB, padded by comments, whose EXIF orientation requires a rotation.
pub(crate) fn turned_jpeg(width: u32, height: u32) -> Vec<u8> {
    let row: Vec<u8> = (0..width).flat_map(|x| [(x / 28) as u8, (x / 7) as u8, 7]).collect();
    let pixels = RgbImage::from_raw(width, height, row.repeat(height as usize)).unwrap();
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

fn png(pixels: &RgbImage) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    pixels.write_to(&mut file, ImageFormat::Png).unwrap();
    file.into_inner()
}
