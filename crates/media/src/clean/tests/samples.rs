//! Small images, and the metadata that tests put into them.

use std::borrow::Cow;
use std::io::Cursor;

use agora_domain::media::ImageFormat;
use gif::{DisposalMethod, Encoder, Frame, Repeat};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::webp::WebPEncoder;
use image::{DynamicImage, Rgb, RgbImage};

/// The secret in metadata, which must not be in a cleaned image.
pub(super) const SECRET: &[u8] = b"GPS 48.8584N 2.2945E";

pub(super) fn holds(file: &[u8], part: &[u8]) -> bool {
    file.windows(part.len()).any(|window| window == part)
}

/// Returns an image of every kind, all without metadata.
pub(super) fn all() -> Vec<(ImageFormat, Vec<u8>)> {
    let picture = picture();
    vec![
        (ImageFormat::Jpeg, jpeg(&picture)),
        (ImageFormat::Png, png(&picture)),
        (ImageFormat::Png, animated_png(3)),
        (ImageFormat::Gif, animated_gif(3)),
        (ImageFormat::WebP, webp(&picture)),
        (ImageFormat::WebP, LOSSY_WEBP.to_vec()),
        (ImageFormat::WebP, animated_webp(3)),
    ]
}

/// Returns a picture of 32 × 16 pixels with red, green, blue and white quarters.
pub(super) fn picture() -> RgbImage {
    RgbImage::from_fn(32, 16, |x, y| match (x < 16, y < 8) {
        (true, true) => Rgb([255, 0, 0]),
        (false, true) => Rgb([0, 255, 0]),
        (true, false) => Rgb([0, 0, 255]),
        (false, false) => Rgb([255, 255, 255]),
    })
}

/// Returns the picture as a camera stores it with this EXIF orientation, which is defined in TIFF 6.0 by where the first row and
/// column belong in the upright picture.
pub(super) fn turned(orientation: u8) -> RgbImage {
    let picture = picture();
    let (right, bottom) = (picture.width() - 1, picture.height() - 1);
    let (width, height) = if orientation < 5 { (right + 1, bottom + 1) } else { (bottom + 1, right + 1) };
    RgbImage::from_fn(width, height, |x, y| {
        let (u, v) = match orientation {
            1 => (x, y),
            2 => (right - x, y),
            3 => (right - x, bottom - y),
            4 => (x, bottom - y),
            5 => (y, x),
            6 => (right - y, x),
            7 => (right - y, bottom - x),
            _ => (y, bottom - x),
        };
        *picture.get_pixel(u, v)
    })
}

/// Asserts that a file shows the upright picture, up to the loss of JPEG.
pub(super) fn assert_looks_upright(file: &[u8], orientation: u8) {
    let found = image::load_from_memory(file).unwrap().to_rgb8();
    assert_eq!(found.dimensions(), (32, 16), "orientation {orientation}");
    for (found, expected) in found.pixels().zip(picture().pixels()) {
        let near = found.0.iter().zip(expected.0).all(|(found, expected)| found.abs_diff(expected) < 32);
        assert!(near, "orientation {orientation}: {found:?} instead of {expected:?}");
    }
}

/// Returns EXIF data with an orientation, and the secret as a description.
pub(super) fn exif(orientation: u8) -> Vec<u8> {
    let mut tiff = b"II*\0\x08\0\0\0\x02\0".to_vec();
    tiff.extend_from_slice(&[0x0e, 0x01, 2, 0, SECRET.len() as u8, 0, 0, 0, 38, 0, 0, 0]);
    tiff.extend_from_slice(&[0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0]);
    tiff.extend_from_slice(&[0; 4]);
    tiff.extend_from_slice(SECRET);
    tiff
}

/// Returns an ICC profile for RGB, with a table of one tag.
pub(super) fn profile() -> Vec<u8> {
    let mut profile = vec![7; 128];
    profile[..4].copy_from_slice(&148u32.to_be_bytes());
    profile[16..20].copy_from_slice(b"RGB ");
    profile[36..40].copy_from_slice(b"acsp");
    [profile.as_slice(), &1u32.to_be_bytes(), b"wtpt", &144u32.to_be_bytes(), &4u32.to_be_bytes(), b"data"].concat()
}

/// Returns the profile extended to `length` bytes that cannot be compressed.
pub(super) fn long_profile(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let mut long = profile();
    long.resize_with(length, || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    long[..4].copy_from_slice(&u32::try_from(length).unwrap().to_be_bytes());
    long
}

pub(super) fn jpeg(picture: &RgbImage) -> Vec<u8> {
    let mut file = Vec::new();
    JpegEncoder::new_with_quality(&mut file, 95).encode_image(picture).unwrap();
    file
}

/// Inserts a segment after the first two bytes.
pub(super) fn with_segment(jpeg: &[u8], marker: u8, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len() + 2).unwrap().to_be_bytes();
    [&jpeg[..2], &[0xff, marker], &length, data, &jpeg[2..]].concat()
}

pub(super) fn png(picture: &RgbImage) -> Vec<u8> {
    let mut file = Vec::new();
    picture.write_to(&mut Cursor::new(&mut file), image::ImageFormat::Png).unwrap();
    file
}

pub(super) fn png_chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut crc = u32::MAX;
    for byte in kind.iter().chain(data) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    let length = u32::try_from(data.len()).unwrap();
    [&length.to_be_bytes(), kind.as_slice(), data, &(!crc).to_be_bytes()].concat()
}

/// Inserts chunks after the header of a PNG.
pub(super) fn with_chunks(png: &[u8], chunks: &[Vec<u8>]) -> Vec<u8> {
    [&png[..33], &chunks.concat(), &png[33..]].concat()
}

/// Returns an animation with 16 bits per sample. The disposal method of its first frame is "previous".
pub(super) fn animated_png(frames: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 8, 8);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Sixteen);
    encoder.set_animated(frames, 5).unwrap();
    encoder.set_frame_delay(1, 4).unwrap();
    encoder.set_dispose_op(png::DisposeOp::Previous).unwrap();
    let mut writer = encoder.write_header().unwrap();
    for frame in 0..frames {
        writer.write_image_data(&[frame as u8; 8 * 8 * 6]).unwrap();
    }
    writer.finish().unwrap();
    file
}

/// Returns an animation whose frames each have a palette, position, delay, disposal method and transparency. The odd ones are
/// interlaced.
pub(super) fn animated_gif(frames: u8) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), 8, 8, &[0, 0, 0, 255, 255, 255]).unwrap();
    encoder.set_repeat(Repeat::Finite(7)).unwrap();
    for n in 0..frames {
        let frame = Frame {
            delay: u16::from(n) + 3,
            dispose: if n % 2 == 0 { DisposalMethod::Background } else { DisposalMethod::Previous },
            transparent: (n > 0).then_some(1),
            left: 1,
            top: u16::from(n % 2),
            width: 7,
            height: 6,
            interlaced: n % 2 == 1,
            palette: (n > 1).then(|| vec![n; 12]),
            buffer: Cow::Owned((0..42).map(|pixel| (pixel + n) % 2).collect()),
            ..Frame::default()
        };
        encoder.write_frame(&frame).unwrap();
    }
    encoder.into_inner().unwrap()
}

pub(super) fn webp(picture: &RgbImage) -> Vec<u8> {
    let mut file = Vec::new();
    DynamicImage::from(picture.clone()).write_with_encoder(WebPEncoder::new_lossless(&mut file)).unwrap();
    file
}

pub(super) fn webp_chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap();
    [kind.as_slice(), &length.to_le_bytes(), data, &[0][..data.len() % 2]].concat()
}

pub(super) fn webp_file(chunks: &[Vec<u8>]) -> Vec<u8> {
    let body = [b"WEBP".as_slice(), &chunks.concat()].concat();
    webp_chunk(b"RIFF", &body)
}

/// Returns the header of a WebP file with several chunks.
pub(super) fn webp_header(flags: u8, width: u32, height: u32) -> Vec<u8> {
    let [w0, w1, w2, _] = (width - 1).to_le_bytes();
    let [h0, h1, h2, _] = (height - 1).to_le_bytes();
    webp_chunk(b"VP8X", &[flags, 0, 0, 0, w0, w1, w2, h0, h1, h2])
}

/// Returns the picture chunk of a simple WebP file.
pub(super) fn webp_picture(picture: &RgbImage) -> Vec<u8> {
    webp(picture)[12..].to_vec()
}

/// Returns an animation frame of 32 × 16 pixels with the chunks `more` in it.
pub(super) fn webp_frame(more: &[u8]) -> Vec<u8> {
    let header = [0, 0, 0, 0, 0, 0, 31, 0, 0, 15, 0, 0, 80, 0, 0, 0];
    webp_chunk(b"ANMF", &[header.as_slice(), &webp_picture(&picture()), more].concat())
}

pub(super) fn animated_webp(frames: usize) -> Vec<u8> {
    let mut chunks = vec![webp_header(0x02, 32, 16), webp_chunk(b"ANIM", &[1, 2, 3, 4, 9, 0])];
    chunks.extend(vec![webp_frame(&[]); frames]);
    webp_file(&chunks)
}

/// A lossy image of 2 × 2 red pixels, from the tests of the crate image-webp.
pub(super) const LOSSY_WEBP: &[u8] = &[
    0x52, 0x49, 0x46, 0x46, 0x3c, 0x00, 0x00, 0x00, 0x57, 0x45, 0x42, 0x50, 0x56, 0x50, 0x38, 0x20, 0x30, 0x00, 0x00,
    0x00, 0xd0, 0x01, 0x00, 0x9d, 0x01, 0x2a, 0x02, 0x00, 0x02, 0x00, 0x02, 0x00, 0x34, 0x25, 0xa0, 0x02, 0x74, 0xba,
    0x01, 0xf8, 0x00, 0x03, 0xb0, 0x00, 0xfe, 0xf0, 0xc4, 0x0b, 0xff, 0x20, 0xb9, 0x61, 0x75, 0xc8, 0xd7, 0xff, 0x20,
    0x3f, 0xe4, 0x07, 0xfc, 0x80, 0xff, 0xf8, 0xf2, 0x00, 0x00, 0x00,
];

/// Pseudo-random numbers that are the same on every run (xorshift).
pub(super) struct Random(pub(super) u64);

impl Random {
    /// Returns the next number, less than `bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}
