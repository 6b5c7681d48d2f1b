use image::ImageDecoder;
use image::codecs::webp::WebPDecoder;

use super::samples::{
    LOSSY_WEBP, animated_webp, picture, profile, webp, webp_chunk, webp_file, webp_frame, webp_header, webp_picture,
};
use super::*;

// The flags of the header.
const EXIF: u8 = 0x08;
const XMP: u8 = 0x04;

#[tokio::test]
async fn metadata_is_removed_with_its_flags_and_the_pixels_stay() {
    let profile = webp_chunk(b"ICCP", &profile());
    let upload = webp_file(&[
        webp_header(0x20 | EXIF | XMP, 32, 16),
        profile.clone(),
        webp_picture(&picture()),
        webp_chunk(b"EXIF", &exif(1)),
        webp_chunk(b"XMP ", SECRET),
        webp_chunk(b"what", SECRET),
    ]);
    assert_only_metadata_goes(&webp(&picture()), &upload).await;
    let expected = webp_file(&[webp_header(0x20, 32, 16), profile, webp_picture(&picture())]);
    assert_eq!(clean(&upload).await.unwrap(), expected);
}

#[tokio::test]
async fn chunks_after_the_picture_of_a_simple_file_are_removed() {
    let upload = webp_file(&[LOSSY_WEBP[12..].to_vec(), webp_chunk(b"EXIF", &exif(6))]);
    assert_only_metadata_goes(LOSSY_WEBP, &upload).await;
    assert_eq!(clean(&upload).await.unwrap(), LOSSY_WEBP);
}

#[test]
fn chunks_after_the_picture_do_not_lower_the_memory_estimate() {
    let needed = |file: &[u8]| memory::estimate(ImageFormat::WebP, file, &ImageLimits::default()).unwrap();
    let lossless = [&[0x2f][..], &(7999u32 | 4999 << 14).to_le_bytes()].concat();
    let parts = [webp_header(0x10, 8000, 5000), webp_chunk(b"VP8L", &lossless)];
    let alone = webp_file(&parts);
    let junk = webp_chunk(b"VP8 ", &[]);
    for upload in [
        [&alone, &[0][..]].concat(),
        [&alone, &junk[..]].concat(),
        webp_file(&[parts.as_slice(), std::slice::from_ref(&junk)].concat()),
    ] {
        assert!(needed(&upload) >= needed(&alone));
    }
}

#[tokio::test]
async fn metadata_in_and_between_the_frames_of_an_animation_is_removed() {
    let upload = webp_file(&[
        webp_header(0x02 | EXIF, 32, 16),
        webp_chunk(b"ANIM", &[1, 2, 3, 4, 9, 0]),
        webp_frame(&webp_chunk(b"EXIF", SECRET)),
        webp_chunk(b"what", SECRET),
        webp_frame(&webp_chunk(b"hmm?", SECRET)),
        webp_chunk(b"EXIF", &exif(6)),
    ]);
    assert_eq!(clean(&upload).await.unwrap(), animated_webp(2));
}

#[tokio::test]
async fn every_orientation_comes_out_upright() {
    assert_every_orientation_comes_out_upright(|picture, exif| {
        let header = webp_header(EXIF, picture.width(), picture.height());
        webp_file(&[header, webp_picture(picture), webp_chunk(b"EXIF", exif)])
    })
    .await;
}

#[tokio::test]
async fn a_rotated_image_keeps_its_colour_profile() {
    let upload = webp_file(&[
        webp_header(0x20 | EXIF, 32, 16),
        webp_chunk(b"ICCP", &profile()),
        webp_picture(&picture()),
        webp_chunk(b"EXIF", &exif(3)),
    ]);
    let cleaned = clean(&upload).await.unwrap();
    let mut decoder = WebPDecoder::new(std::io::Cursor::new(cleaned)).unwrap();
    assert_eq!(decoder.icc_profile().unwrap(), Some(profile()));
}

#[tokio::test]
async fn a_picture_of_another_size_than_announced_is_rejected() {
    let upload = webp_file(&[webp_header(0, 1, 1), webp_picture(&picture())]);
    assert_unacceptable(clean(&upload).await, "Image cannot be decoded");
}

#[tokio::test]
async fn an_animation_without_frames_or_with_a_broken_one_is_rejected() {
    assert_unacceptable(clean(&animated_webp(0)).await, "Image cannot be decoded");
    let mut upload = animated_webp(2);
    let last = upload.len() - 20;
    upload[last..].fill(0xff);
    assert_unacceptable(clean(&upload).await, "Image cannot be decoded");
}

#[tokio::test]
async fn a_frame_outside_the_canvas_is_rejected() {
    let mut upload = animated_webp(2);
    let frame = upload.windows(4).position(|kind| kind == b"ANMF").unwrap();
    upload[frame + 8] = 1;
    assert_unacceptable(clean(&upload).await, "Image cannot be decoded");
}

#[tokio::test]
async fn the_transparency_of_a_lossy_picture_stays_in_effect() {
    let (alpha, picture) = (webp_chunk(b"ALPH", &[0, 0, 85, 170, 255]), LOSSY_WEBP[12..].to_vec());
    let still = webp_file(&[webp_header(0x10, 2, 2), alpha.clone(), picture.clone()]);
    assert_eq!(clean(&still).await.unwrap(), still);
    assert_eq!(pixels(&still).pixels().map(|pixel| pixel.0[3]).collect::<Vec<_>>(), [0, 85, 170, 255]);

    let place = vec![0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 80, 0, 0, 0];
    let frame = webp_chunk(b"ANMF", &[place, alpha, picture].concat());
    let animation = webp_file(&[webp_header(0x12, 2, 2), webp_chunk(b"ANIM", &[0; 6]), frame]);
    assert_eq!(clean(&animation).await.unwrap(), animation);
}

#[tokio::test]
async fn a_missing_last_byte_of_padding_is_accepted() {
    let unpadded = webp_file(&[LOSSY_WEBP[12..].to_vec(), b"ICCP\x01\0\0\0x".to_vec()]);
    assert_eq!(clean(&unpadded).await.unwrap(), LOSSY_WEBP);
}

/// Returns the stream of a lossless picture, without its header, with this number of groups of prefix codes. `green` has the
/// bits of each green code; the other codes have one symbol each.
fn groups(count: u64, green: &[(u64, u32)]) -> Vec<u8> {
    let one_symbol = |symbol: u64| [(0b101, 3), (symbol, 8)];
    let largest = count - 1;
    let mut fields = vec![
        // No transforms, a cache of 2^11 colours, and a picture of one pixel that defines the number of groups.
        (0, 1),
        (1, 1),
        (11, 4),
        (1, 1),
        (0, 3),
        (0, 1),
    ];
    fields.extend([largest & 0xff, largest >> 8, 0, 0, 0].into_iter().flat_map(one_symbol));
    let others = [0; 4].into_iter().flat_map(one_symbol);
    let group: Vec<_> = green.iter().copied().chain(others).collect();
    fields.extend(group.repeat(usize::try_from(count).unwrap()));
    // The pixels.
    fields.extend([(0, 32); 16]);
    let (mut bytes, mut pending, mut length) = (Vec::new(), 0, 0);
    for (number, width) in fields {
        pending |= number << length;
        length += width;
        while length >= 8 {
            bytes.push(pending as u8);
            pending >>= 8;
            length -= 8;
        }
    }
    bytes
}

/// A code of one symbol.
const SHORT: &[(u64, u32)] = &[(0b101, 3), (7, 8)];

/// A code of 2,048 symbols with 11 bits each. As the only code length, it takes no bits.
const LONG: &[(u64, u32)] = &[(0, 1), (11, 4), (0, 42), (1, 3), (1, 1), (5, 3), (2046, 12)];

/// Returns the chunk of a lossless picture of 2 x 2 pixels.
fn lossless(stream: &[u8]) -> Vec<u8> {
    webp_chunk(b"VP8L", &[&[0x2f, 1, 0x40, 0, 0], stream].concat())
}

#[tokio::test]
async fn the_prefix_codes_of_a_picture_may_take_at_most_8_mib() {
    for (green, fits, beyond) in [(SHORT, 10_000, 40_000), (LONG, 100, 150)] {
        let upload = webp_file(&[lossless(&groups(fits, green))]);
        assert_eq!(clean(&upload).await.unwrap(), upload);
        let upload = webp_file(&[lossless(&groups(beyond, green))]);
        let message = "WebP image must take at most 8 MiB for its prefix codes";
        assert_too_large(clean(&upload).await, message);
    }
}

#[tokio::test]
async fn prefix_codes_are_counted_wherever_a_lossless_picture_is() {
    let many = groups(150, LONG);
    let place = vec![0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 80, 0, 0, 0];
    let alpha = webp_chunk(b"ALPH", &[&[1], many.as_slice()].concat());
    let frame = webp_chunk(b"ANMF", &[place, lossless(&many)].concat());
    for upload in [
        webp_file(&[webp_header(0, 2, 2), lossless(&many)]),
        webp_file(&[webp_header(0x10, 2, 2), alpha, LOSSY_WEBP[12..].to_vec()]),
        webp_file(&[webp_header(0x02, 2, 2), webp_chunk(b"ANIM", &[0; 6]), frame]),
    ] {
        assert_too_large(clean(&upload).await, "WebP image must take at most 8 MiB for its prefix codes");
    }
}

/// The files are by libwebp: one with a palette; one with a colour cache and the subtract-green transform; one with predictor
/// and colour transforms and several groups of codes.
#[tokio::test]
async fn lossless_files_of_another_encoder_are_accepted_unchanged() {
    for upload in [
        include_bytes!("lossless/palette.webp").as_slice(),
        include_bytes!("lossless/cache.webp"),
        include_bytes!("lossless/groups.webp"),
    ] {
        assert_eq!(clean(upload).await.unwrap(), upload);
    }
}
