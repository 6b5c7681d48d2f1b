use bytes::Bytes;
use image::codecs::png::{PngDecoder, PngEncoder};
use image::{ExtendedColorType, ImageDecoder, ImageEncoder};

use super::samples::{picture, png, png_chunk, turned, with_chunks};
use super::*;

#[tokio::test]
async fn metadata_is_removed_and_the_pixels_stay() {
    let plain = png(&picture());
    let text = [b"Comment\0", SECRET].concat();
    let chunks = [
        png_chunk(b"eXIf", &exif(1)),
        png_chunk(b"tEXt", &text),
        png_chunk(b"iTXt", &[b"XML:com.adobe.xmp\0\0\0\0\0", SECRET].concat()),
        png_chunk(b"tIME", SECRET),
        png_chunk(b"prVt", SECRET),
    ];
    let upload = with_chunks(&plain, &chunks);
    assert_only_metadata_goes(&plain, &upload).await;
    assert_eq!(clean(&upload).await.unwrap(), plain);

    let end = plain.len() - 12;
    let late = [&plain[..end], &chunks.concat(), &plain[end..]].concat();
    assert_eq!(clean(&late).await.unwrap(), plain, "behind the pixels, too");
}

#[tokio::test]
async fn chunks_needed_for_rendering_are_kept() {
    let plain = png(&picture());
    let chunks = [
        png_chunk(b"gAMA", &45_455u32.to_be_bytes()),
        png_chunk(b"sRGB", &[0]),
        png_chunk(b"pHYs", &[0, 0, 0, 1, 0, 0, 0, 1, 0]),
        png_chunk(b"tRNS", &[0, 255, 0, 0, 0, 0]),
    ];
    let upload = with_chunks(&plain, &chunks);
    assert_eq!(clean(&upload).await.unwrap(), upload);
    assert_eq!(pixels(&upload).get_pixel(0, 0).0[3], 0, "the red is transparent");
}

#[tokio::test]
async fn every_orientation_comes_out_upright() {
    assert_every_orientation_comes_out_upright(|picture, exif| with_chunks(&png(picture), &[png_chunk(b"eXIf", exif)]))
        .await;
    // Some writers leave in the prefix that JPEG has, and EXIF data may come after the pixels.
    let plain = png(&turned(6));
    let end = plain.len() - 12;
    let late = png_chunk(b"eXIf", &[b"Exif\0\0", exif(6).as_slice()].concat());
    let upload = [&plain[..end], &late, &plain[end..]].concat();
    assert_eq!(pixels(&clean(&upload).await.unwrap()), pixels(&png(&picture())));
}

#[tokio::test]
async fn a_rotated_image_that_grows_far_beyond_its_upload_is_rejected() {
    // Repeated rows compress to almost nothing. Rotated, they are columns, which hardly compress.
    const ROWS: usize = 32;
    let mut random = samples::Random(0x9e37_79b9_7f4a_7c15);
    let rows: Vec<_> = (0..ROWS * 64).map(|_| [(); 3].map(|()| random.below(256) as u8)).collect();
    let chosen: Vec<_> = (0..4096).map(|_| random.below(ROWS) * 64).collect();
    let pixels: Vec<u8> = chosen.iter().flat_map(|row| rows[*row..*row + 64].concat()).collect();
    let mut noise = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut noise, 64, 4096);
    encoder.set_color(::png::ColorType::Rgb);
    encoder.set_compression(::png::Compression::High);
    encoder.set_filter(::png::Filter::NoFilter);
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    let upload = with_chunks(&noise, &[png_chunk(b"eXIf", &exif(6))]);
    let most = (64 * 4096 + 2 * upload.len()) / 1024;
    let why = format!("PNG image must take at most {most} KiB when its orientation is applied");
    assert_too_large(clean(&upload).await.map(|turned| turned.len()), &why);
}

#[tokio::test]
async fn a_rotated_dithered_image_with_few_colours_stays_small() {
    // Intermediate shades are dithered, as in old formats. Expanded to colours, the pixels have three bytes each.
    const SIDE: u32 = 256;
    let mut random = samples::Random(0x9e37_79b9_7f4a_7c15);
    let palette: Vec<u8> = (0..3 * 64).map(|_| random.below(256) as u8).collect();
    let shade = |x: u32, y: u32| ((x + y) / 8 + [0, 2, 3, 1][(x % 2 + 2 * (y % 2)) as usize] / 2) % 64;
    let indices: Vec<u8> = (0..SIDE * SIDE).map(|n| shade(n % SIDE, n / SIDE) as u8).collect();
    let mut plain = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut plain, SIDE, SIDE);
    encoder.set_color(::png::ColorType::Indexed);
    encoder.set_palette(palette);
    encoder.write_header().unwrap().write_image_data(&indices).unwrap();
    let turned = clean(&with_chunks(&plain, &[png_chunk(b"eXIf", &exif(6))])).await.unwrap();
    assert!(turned.len() < (SIDE * SIDE) as usize / 2, "{} of {}", turned.len(), plain.len());
}

#[tokio::test]
async fn a_rotated_image_keeps_its_bit_depth_and_colour_profile() {
    let mut plain = Vec::new();
    let mut encoder = PngEncoder::new(&mut plain);
    encoder.set_icc_profile(samples::profile()).unwrap();
    encoder.write_image(&[1, 2, 3, 4, 5, 6, 7, 8], 2, 1, ExtendedColorType::La16).unwrap();
    let upload = with_chunks(&plain, &[png_chunk(b"eXIf", &exif(6))]);
    let cleaned = clean(&upload).await.unwrap();
    let mut decoder = PngDecoder::new(std::io::Cursor::new(&cleaned)).unwrap();
    assert_eq!((decoder.dimensions(), decoder.color_type()), ((1, 2), image::ColorType::La16));
    assert_eq!(decoder.icc_profile().unwrap(), Some(samples::profile()));
}

#[tokio::test]
async fn a_rotated_palette_image_keeps_its_colours() {
    let mut plain = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut plain, 3, 2);
    encoder.set_color(::png::ColorType::Indexed);
    encoder.set_depth(::png::BitDepth::Two);
    encoder.set_palette(vec![255, 0, 0, 0, 255, 0, 0, 0, 255]);
    encoder.set_trns(vec![255, 128]);
    encoder.write_header().unwrap().write_image_data(&[0b00_01_10_00, 0b10_00_01_00]).unwrap();
    let upload = with_chunks(&plain, &[png_chunk(b"eXIf", &exif(6))]);
    let (red, green, blue) = ([255, 0, 0, 255], [0, 255, 0, 128], [0, 0, 255, 255]);
    let turned = pixels(&clean(&upload).await.unwrap());
    assert_eq!(turned.dimensions(), (2, 3));
    assert_eq!(turned.pixels().map(|it| it.0).collect::<Vec<_>>(), [blue, red, red, green, green, blue]);
}

#[tokio::test]
async fn a_wrong_checksum_in_the_pixels_is_rejected() {
    let mut upload = png(&picture());
    let last_of_idat = upload.len() - 13;
    upload[last_of_idat] ^= 1;
    assert_unacceptable(clean(&upload).await, "Image cannot be decoded");
}

#[tokio::test]
async fn a_palette_image_with_a_missing_or_invalid_palette_is_rejected() {
    let mut file = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut file, 2, 2);
    encoder.set_color(::png::ColorType::Indexed);
    encoder.set_palette(vec![255, 0, 0, 0, 255, 0]);
    encoder.write_header().unwrap().write_image_data(&[0, 1, 1, 0]).unwrap();
    assert_eq!(clean(&file).await.unwrap(), file);
    let palette = png_chunk(b"PLTE", &[255, 0, 0, 0, 255, 0]);
    let at = file.windows(palette.len()).position(|part| part == palette).unwrap();
    // On this thread, where a panic fails the test.
    let clean =
        |upload: &[u8]| super::super::clean(ImageFormat::Png, Bytes::copy_from_slice(upload), &ImageLimits::default());
    let with = |other: &[u8]| [&file[..at], other, &file[at + palette.len()..]].concat();
    assert_unacceptable(clean(&with(&[])), "Image cannot be decoded");
    // Palettes with an incomplete colour, with none, and with more than there are indexes.
    for bytes in [5, 53, 0, 257 * 3] {
        assert_unacceptable(clean(&with(&png_chunk(b"PLTE", &vec![0; bytes]))), "Image cannot be decoded");
    }
}
