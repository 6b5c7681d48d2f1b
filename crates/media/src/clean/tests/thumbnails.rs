//! Tests of thumbnails and previews.

use bytes::Bytes;
use std::borrow::Cow;
use std::io::Write as _;

use ::png::{BitDepth, ColorType};
use agora_domain::media::Preview;
use flate2::{Compression, write::ZlibEncoder};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::webp::WebPEncoder;
use image::{DynamicImage, GrayImage, Luma, Rgb, RgbImage, Rgba, RgbaImage};

use super::samples::{
    Random, animated_gif, assert_looks_upright, jpeg, picture, png, png_chunk, turned, webp, webp_chunk, webp_file,
    webp_header, webp_picture, with_segment,
};
use super::*;

const BLACK: [u8; 3] = [0; 3];
const WHITE: [u8; 3] = [255; 3];
const RED: [u8; 3] = [255, 0, 0];
const BLUE: [u8; 3] = [0, 0, 255];

/// Returns the thumbnail and the preview of an upload. They are made on this thread, where a panic fails the test.
fn thumbnail_and_preview(upload: &[u8]) -> (RgbImage, Preview) {
    let cleaned =
        super::super::clean(format_of(upload).unwrap(), Bytes::copy_from_slice(upload), &ImageLimits::default())
            .unwrap();
    assert_eq!(format_of(&cleaned.thumbnail).unwrap(), ImageFormat::Jpeg);
    (image::load_from_memory(&cleaned.thumbnail).unwrap().to_rgb8(), cleaned.preview)
}

fn thumbnail(upload: &[u8]) -> RgbImage {
    thumbnail_and_preview(upload).0
}

/// Asserts the colour of a pixel, up to the loss of JPEG.
fn assert_colour(picture: &RgbImage, (x, y): (u32, u32), expected: [u8; 3], what: &str) {
    let found = picture.get_pixel(x, y).0;
    let near = found.iter().zip(expected).all(|(found, expected)| found.abs_diff(expected) < 24);
    assert!(near, "{what}: {found:?} at {x}, {y} instead of {expected:?}");
}

/// Asserts the colours of a picture in the middle of its left and right half.
fn assert_halves(picture: &RgbImage, left: [u8; 3], right: [u8; 3], what: &str) {
    let (width, height) = picture.dimensions();
    assert_colour(picture, (width / 4, height / 2), left, what);
    assert_colour(picture, (width * 3 / 4, height / 2), right, what);
}

/// Returns a picture whose left half is red and whose right half is blue.
fn halves(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, _| Rgb(if x < width / 2 { RED } else { BLUE }))
}

/// Returns a PNG with these rows.
fn png_of(size: (u32, u32), colour: ColorType, depth: BitDepth, rows: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut file, size.0, size.1);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    if colour == ColorType::Indexed {
        // Black and transparent black.
        encoder.set_palette(vec![0; 6]);
        encoder.set_trns(vec![255, 0]);
    }
    encoder.write_header().unwrap().write_image_data(rows).unwrap();
    file
}

/// Returns the picture as an interlaced PNG with its seven passes.
fn interlaced_png(picture: &RgbImage) -> Vec<u8> {
    let (width, height) = picture.dimensions();
    let mut rows = Vec::new();
    for (x, across, top, down) in
        [(0, 8, 0, 8), (4, 8, 0, 8), (0, 4, 4, 8), (2, 4, 0, 4), (0, 2, 2, 4), (1, 2, 0, 2), (0, 1, 1, 2)]
    {
        for y in (top..height).step_by(down).filter(|_| x < width) {
            rows.push(0);
            (x..width).step_by(across).for_each(|x| rows.extend(picture.get_pixel(x, y).0));
        }
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&rows).unwrap();
    let header = [width.to_be_bytes().as_slice(), &height.to_be_bytes(), &[8, 2, 0, 0, 1]].concat();
    let chunks = [png_chunk(b"IHDR", &header), png_chunk(b"IDAT", &encoder.finish().unwrap()), png_chunk(b"IEND", &[])];
    [b"\x89PNG\r\n\x1a\n".as_slice(), &chunks.concat()].concat()
}

/// Returns a GIF of 32 x 32 pixels with a black frame of this size at (8, 16). Its rows from `transparent_from` on are
/// transparent.
fn gif_with_frame((width, height): (u16, u16), interlaced: bool, transparent_from: u16) -> Vec<u8> {
    let mut encoder = ::gif::Encoder::new(Vec::new(), 32, 32, &[0, 0, 0, 255, 0, 0]).unwrap();
    let stored: Vec<u16> = if interlaced { vec![0, 4, 2, 6, 1, 3, 5, 7] } else { (0..height).collect() };
    let numbers = stored.into_iter().flat_map(|y| vec![u8::from(y >= transparent_from); width.into()]);
    let first = ::gif::Frame {
        left: 8,
        top: 16,
        width,
        height,
        interlaced,
        transparent: Some(1),
        buffer: Cow::Owned(numbers.collect()),
        ..::gif::Frame::default()
    };
    let whole = ::gif::Frame { width: 32, height: 32, buffer: Cow::Owned(vec![1; 1024]), ..::gif::Frame::default() };
    for frame in [first, whole] {
        encoder.write_frame(&frame).unwrap();
    }
    encoder.into_inner().unwrap()
}

#[test]
fn a_small_image_of_every_format_is_not_enlarged() {
    for file in [jpeg(&picture()), png(&picture()), webp(&picture())] {
        let cleaned =
            super::super::clean(format_of(&file).unwrap(), Bytes::from(file), &ImageLimits::default()).unwrap();
        assert_looks_upright(&cleaned.thumbnail, 1);
        assert_eq!((cleaned.preview.width, cleaned.preview.height), (32, 16));
    }
    let (picture, preview) = thumbnail_and_preview(&animated_gif(3));
    assert_eq!((picture.dimensions(), (preview.width, preview.height)), ((8, 8), (8, 8)));
    for size in [1, 7, 399, 400] {
        let (picture, preview) = thumbnail_and_preview(&png(&halves(size, 1)));
        assert_eq!((picture.dimensions(), (preview.width, preview.height)), ((size, 1), (size, 1)));
    }
}

#[test]
fn the_longer_side_of_a_larger_image_has_400_pixels() {
    for (size, expected) in
        [((401, 401), (400, 400)), ((1000, 500), (400, 200)), ((333, 1001), (133, 400)), ((900, 450), (400, 200))]
    {
        for file in [jpeg(&halves(size.0, size.1)), png(&halves(size.0, size.1)), webp(&halves(size.0, size.1))] {
            let (picture, preview) = thumbnail_and_preview(&file);
            assert_eq!((picture.dimensions(), (preview.width, preview.height)), (expected, size));
            assert_halves(&picture, RED, BLUE, "halves");
        }
    }
}

#[test]
fn an_image_of_one_row_or_one_column_has_a_thumbnail() {
    let long = halves(40_000, 1);
    let (picture, preview) = thumbnail_and_preview(&png(&long));
    assert_eq!((picture.dimensions(), (preview.width, preview.height)), ((400, 1), (40_000, 1)));
    assert_halves(&picture, RED, BLUE, "a row");
    let (picture, preview) = thumbnail_and_preview(&jpeg(&image::imageops::rotate90(&long)));
    assert_eq!((picture.dimensions(), (preview.width, preview.height)), ((1, 400), (1, 40_000)));
    assert_colour(&picture, (0, 100), RED, "a column");
    assert_colour(&picture, (0, 300), BLUE, "a column");
}

#[test]
fn the_size_of_the_preview_is_that_of_the_upright_image() {
    let exif = [b"Exif\0\0".as_slice(), &exif(6)].concat();
    let (picture, preview) = thumbnail_and_preview(&with_segment(&jpeg(&halves(1000, 500)), 0xe1, &exif));
    assert_eq!((picture.dimensions(), (preview.width, preview.height)), ((200, 400), (500, 1000)));
    assert_colour(&picture, (100, 100), RED, "what was left is above");
    assert_colour(&picture, (100, 300), BLUE, "what was right is below");
}

#[test]
fn each_thumbnail_pixel_is_the_mean_of_its_cell() {
    let board = GrayImage::from_fn(800, 800, |x, y| Luma([if (x + y) % 2 == 0 { 255 } else { 0 }]));
    let png = png_of((800, 800), ColorType::Grayscale, BitDepth::Eight, &board);
    // Cells alternate between three columns, two of which are white, and two columns, none of which is.
    let stripes = GrayImage::from_fn(1000, 2, |x, _| Luma([if x % 5 < 2 { 255 } else { 0 }]));
    let uneven = thumbnail(&png_of((1000, 2), ColorType::Grayscale, BitDepth::Eight, &stripes));
    assert!(thumbnail(&png).pixels().all(|pixel| pixel.0.iter().all(|value| value.abs_diff(128) < 4)));
    assert_eq!(uneven.dimensions(), (400, 1));
    let mean = uneven.pixels().map(|pixel| u64::from(pixel.0[0])).sum::<u64>() / 400;
    assert!(mean.abs_diff(255 / 3) < 8, "{mean}");
}

#[test]
fn a_png_of_every_colour_type_and_depth_has_a_thumbnail() {
    use ColorType::{Grayscale, GrayscaleAlpha, Indexed, Rgb, Rgba};
    // Each half is eight pixels wide: the left is black, the right is white or transparent black.
    for (colour, channels, light) in
        [(Grayscale, 1, [255].as_slice()), (GrayscaleAlpha, 2, &[0, 0]), (Rgb, 3, &WHITE), (Rgba, 4, &[0, 0, 0, 0])]
    {
        let dark: &[u8] = if channels % 2 == 0 { &[0, 0, 0, 255][4 - channels..] } else { &BLACK[..channels] };
        let row = [dark.repeat(8), light.repeat(8)].concat();
        let picture = thumbnail(&png_of((16, 8), colour, BitDepth::Eight, &row.repeat(8)));
        assert_halves(&picture, BLACK, WHITE, &format!("{colour:?}"));
        // The low bytes of 16-bit samples make no difference.
        let wide: Vec<u8> = row.iter().flat_map(|value| [*value, 255 - value / 2]).collect();
        let picture = thumbnail(&png_of((16, 8), colour, BitDepth::Sixteen, &wide.repeat(8)));
        assert_halves(&picture, BLACK, WHITE, &format!("{colour:?} of 16 bits"));
    }
    for (depth, bits) in [(BitDepth::One, 1), (BitDepth::Two, 2), (BitDepth::Four, 4)] {
        let row = |light: u8| [vec![0; bits], vec![light; bits]].concat().repeat(8);
        let picture = thumbnail(&png_of((16, 8), Grayscale, depth, &row(255)));
        assert_halves(&picture, BLACK, WHITE, &format!("grey of {bits} bits"));
        // Every pixel has the colour index 1.
        let ones = [0b1111_1111, 0b0101_0101, 0b0001_0001][bits / 2];
        let picture = thumbnail(&png_of((16, 8), Indexed, depth, &row(ones)));
        assert_halves(&picture, BLACK, WHITE, &format!("numbers of {bits} bits"));
    }
    let numbers = [[0; 8], [1; 8]].concat().repeat(8);
    assert_halves(&thumbnail(&png_of((16, 8), Indexed, BitDepth::Eight, &numbers)), BLACK, WHITE, "numbers");
}

#[test]
fn a_grey_jpeg_has_a_thumbnail() {
    let grey = GrayImage::from_fn(16, 8, |x, _| Luma([if x < 8 { 0 } else { 255 }]));
    let mut file = Vec::new();
    JpegEncoder::new_with_quality(&mut file, 95).encode_image(&grey).unwrap();
    assert_halves(&thumbnail(&file), BLACK, WHITE, "grey");
}

#[test]
fn transparent_pixels_are_blended_with_white() {
    let glass = RgbaImage::from_fn(16, 8, |x, _| Rgba([255, 0, 0, if x < 8 { 0 } else { 128 }]));
    let mut lossless = Vec::new();
    DynamicImage::from(glass.clone()).write_with_encoder(WebPEncoder::new_lossless(&mut lossless)).unwrap();
    let mut plain = Vec::new();
    DynamicImage::from(glass).write_to(&mut std::io::Cursor::new(&mut plain), image::ImageFormat::Png).unwrap();
    for file in [lossless, plain] {
        assert_halves(&thumbnail(&file), WHITE, [255, 127, 127], "half of red");
    }
}

#[test]
fn an_interlaced_png_has_the_same_thumbnail_as_one_that_is_not() {
    for size in [(1, 1), (2, 3), (3, 9), (5, 7), (9, 2), (900, 450), (1001, 333)] {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let noise = RgbImage::from_fn(size.0, size.1, |_, _| Rgb([(); 3].map(|()| random.below(256) as u8)));
        assert_eq!(thumbnail_and_preview(&interlaced_png(&noise)), thumbnail_and_preview(&png(&noise)), "{size:?}");
    }
    // Checks that the file made by the test is valid.
    assert_eq!(pixels(&interlaced_png(&turned(6))), pixels(&png(&turned(6))));
}

#[test]
fn the_thumbnail_of_an_animated_png_is_its_default_image() {
    for stands_before in [true, false] {
        let mut file = Vec::new();
        let mut encoder = ::png::Encoder::new(&mut file, 16, 8);
        encoder.set_color(ColorType::Rgb);
        encoder.set_animated(2, 0).unwrap();
        encoder.set_sep_def_img(stands_before).unwrap();
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&halves(16, 8)).unwrap();
        for _ in usize::from(!stands_before)..2 {
            writer.set_frame_dimension(8, 8).unwrap();
            writer.set_frame_position(8, 0).unwrap();
            writer.write_image_data(&[0; 8 * 8 * 3]).unwrap();
        }
        writer.finish().unwrap();
        assert_halves(&thumbnail(&file), RED, BLUE, "the first picture");
    }
}

#[test]
fn the_first_frame_of_a_gif_is_at_its_position_on_the_screen() {
    for interlaced in [false, true] {
        let picture = thumbnail(&gif_with_frame((16, 8), interlaced, 4));
        assert_eq!(picture.dimensions(), (32, 32));
        for (x, y) in [(0, 0), (4, 18), (28, 18), (16, 12), (16, 22), (16, 28)] {
            assert_colour(&picture, (x, y), WHITE, "around it, and where it is not seen");
        }
        assert_colour(&picture, (9, 17), BLACK, "within");
        assert_colour(&picture, (22, 17), BLACK, "within");
    }
    // Some writers make frames that extend beyond the edge of the screen.
    let picture = thumbnail(&gif_with_frame((32, 24), false, 24));
    assert_eq!(picture.dimensions(), (32, 32));
    assert_colour(&picture, (4, 24), WHITE, "left of it");
    assert_colour(&picture, (31, 31), BLACK, "at the edge");
}

#[test]
fn a_colour_index_beyond_the_palette_of_a_gif_is_white() {
    let mut encoder = ::gif::Encoder::new(Vec::new(), 16, 8, &[0, 0, 0]).unwrap();
    let numbers = [[0; 8], [9; 8]].concat().repeat(8);
    let frame = ::gif::Frame { width: 16, height: 8, buffer: Cow::Owned(numbers), ..::gif::Frame::default() };
    encoder.write_frame(&frame).unwrap();
    assert_halves(&thumbnail(&encoder.into_inner().unwrap()), BLACK, WHITE, "numbers");
}

#[test]
fn the_first_frame_of_an_animated_webp_is_at_its_position_on_the_canvas() {
    let frame = |left: u8, top: u8| {
        let head = [left / 2, 0, 0, top / 2, 0, 0, 31, 0, 0, 15, 0, 0, 80, 0, 0, 0];
        webp_chunk(b"ANMF", &[head.as_slice(), &webp_picture(&halves(32, 16))].concat())
    };
    let control = webp_chunk(b"ANIM", &[0; 6]);
    let animation = webp_file(&[webp_header(0x02, 64, 32), control, frame(32, 16), frame(0, 0)]);
    let (picture, preview) = thumbnail_and_preview(&animation);
    assert_eq!((picture.dimensions(), (preview.width, preview.height)), ((64, 32), (64, 32)));
    for (place, colour) in [((8, 8), WHITE), ((40, 8), WHITE), ((8, 24), WHITE), ((40, 24), RED), ((56, 24), BLUE)] {
        assert_colour(&picture, place, colour, "on the canvas");
    }
}

/// Returns the mean colour in a blurhash. It follows a character for the number of components and one for their maximum.
fn mean_colour(blurhash: &str) -> [u8; 3] {
    let digits = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~";
    let digit = |byte: u8| digits.iter().position(|digit| *digit == byte).unwrap();
    let number = blurhash.bytes().skip(2).take(4).fold(0, |number, byte| number * 83 + digit(byte));
    [16, 8, 0].map(|shift| (number >> shift) as u8)
}

/// Asserts that two blurhashes match. The mean of the crate may be one above that of others because of rounding.
fn assert_previews_match(found: &str, expected: &str) {
    assert_eq!((&found[..2], &found[6..]), (&expected[..2], &expected[6..]));
    let [found, expected] = [found, expected].map(mean_colour);
    assert!(found.iter().zip(expected).all(|(found, expected)| found.abs_diff(expected) <= 1), "{found:?}");
}

#[test]
fn the_blurhash_matches_that_of_another_implementation() {
    // The expected values are from the Python package blurhash 1.1.5.
    assert_previews_match(&thumbnail_and_preview(&png(&picture())).1.blurhash, "L~Lqe9l}eqpYs_[qsBK0fMwwjtWo");
    let slope = |x: u32, y: u32| Rgb([x * 8, y * 16, 255 - x * 8].map(|value| value as u8));
    let wide = png(&RgbImage::from_fn(32, 16, slope));
    assert_previews_match(&thumbnail_and_preview(&wide).1.blurhash, "L.H2Tc77w%XAqlWYjuf8g0fjfQfj");
    let high = png(&RgbImage::from_fn(16, 32, |x, y| slope(y, x)));
    assert_previews_match(&thumbnail_and_preview(&high).1.blurhash, "T.H2Tcqlg077WYfjw%jufQXAf8fj");
}

#[test]
fn the_preview_of_a_large_image_has_its_mean_colour() {
    let grey = RgbImage::from_pixel(1000, 700, Rgb([100, 150, 200]));
    let (_, preview) = thumbnail_and_preview(&png(&grey));
    assert_eq!(preview.blurhash.len(), 1 + 1 + 4 + 2 * (4 * 3 - 1));
    let mean = mean_colour(&preview.blurhash);
    assert!(mean.iter().zip([100u8, 150, 200]).all(|(found, expected)| found.abs_diff(expected) <= 1), "{mean:?}");
}

#[test]
fn a_thumbnail_takes_at_most_the_estimated_memory() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let noise = RgbImage::from_fn(400, 400, |_, _| Rgb([(); 3].map(|()| [0, 255][random.below(2)])));
    let file = png(&noise);
    let cleaned = super::super::clean(ImageFormat::Png, Bytes::from(file), &ImageLimits::default()).unwrap();
    // While the file is written, it may be in memory twice besides the picture, once with double capacity.
    let needed = 3 * (cleaned.thumbnail.len() as u64) + 400 * 400 * 3;
    assert!(needed <= downscale::estimate_memory((400, 400)), "{needed}");
    let largest = downscale::estimate_memory((400, 400));
    for size in [(401, 400), (399, 1_000_000), (40_000, 1), (1, 40_000), (6_325, 6_325), (u32::MAX, 1), (1, 1)] {
        assert!((16..=largest).contains(&downscale::estimate_memory(size)), "{size:?}");
    }
}
