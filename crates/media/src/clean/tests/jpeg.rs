use image::ImageDecoder;
use image::codecs::jpeg::JpegDecoder;

use super::samples::{jpeg, picture, profile, with_segment};
use super::*;

fn icc_segment(profile: &[u8]) -> Vec<u8> {
    [b"ICC_PROFILE\0\x01\x01", profile].concat()
}

fn exif_segment(exif: &[u8]) -> Vec<u8> {
    [b"Exif\0\0", exif].concat()
}

fn profile_of(file: &[u8]) -> Option<Vec<u8>> {
    JpegDecoder::new(std::io::Cursor::new(file)).unwrap().icc_profile().unwrap()
}

#[tokio::test]
async fn metadata_is_removed_and_the_pixels_stay() {
    let plain = jpeg(&picture());
    let mut upload = plain.clone();
    for (marker, prefix) in [
        (0xe0, "JFXX\0\x10"),
        (0xe1, "http://ns.adobe.com/xap/1.0/\0"),
        (0xe2, "MPF\0"),
        (0xe2, "FPXR\0"),
        (0xed, "Photoshop 3.0\0"),
        (0xef, ""),
        (0xfe, ""),
    ] {
        upload = with_segment(&upload, marker, &[prefix.as_bytes(), SECRET].concat());
    }
    upload = with_segment(&upload, 0xe1, &exif_segment(&exif(1)));
    assert_only_metadata_goes(&plain, &upload).await;
    assert_eq!(clean(&upload).await.unwrap(), plain);
}

#[tokio::test]
async fn thumbnails_and_trailing_data_of_known_segments_are_removed() {
    let plain = jpeg(&picture());
    let jfif = [b"JFIF\0\x01\x02\0\0\x01\0\x01\x02\x03".as_slice(), SECRET].concat();
    assert_only_metadata_goes(&plain, &with_segment(&plain, 0xe0, &jfif)).await;
    let adobe = [b"Adobe\0\x64\0\0\0\0\x01".as_slice(), SECRET].concat();
    let upload = with_segment(&plain, 0xee, &adobe);
    assert_only_metadata_goes(&plain, &upload).await;
    assert!(holds(&clean(&upload).await.unwrap(), &adobe[..12]), "it says how the colours are stored");
}

#[tokio::test]
async fn a_second_image_after_the_first_is_removed() {
    let plain = jpeg(&picture());
    let second = with_segment(&plain, 0xe1, &exif_segment(&exif(6)));
    assert_only_metadata_goes(&plain, &[plain.clone(), second].concat()).await;
}

#[tokio::test]
async fn a_comment_between_the_scan_and_the_end_is_removed() {
    let plain = jpeg(&picture());
    let comment = with_segment(&[0xff, 0xd8], 0xfe, SECRET);
    let end = plain.len() - 2;
    let upload = [&plain[..end], &comment[2..], &plain[end..]].concat();
    assert_eq!(clean(&upload).await.unwrap(), plain);
}

#[tokio::test]
async fn a_colour_profile_is_kept() {
    let upload = with_segment(&jpeg(&picture()), 0xe2, &icc_segment(&profile()));
    assert_eq!(clean(&upload).await.unwrap(), upload);
}

#[tokio::test]
async fn every_orientation_comes_out_upright() {
    assert_every_orientation_comes_out_upright(|picture, exif| with_segment(&jpeg(picture), 0xe1, &exif_segment(exif)))
        .await;
}

#[tokio::test]
async fn a_rotated_image_keeps_its_colour_profile_only_if_the_colour_space_matches() {
    let turned = with_segment(&jpeg(&picture()), 0xe1, &exif_segment(&exif(3)));
    let upload = with_segment(&turned, 0xe2, &icc_segment(&profile()));
    assert_eq!(profile_of(&clean(&upload).await.unwrap()), Some(profile()));
    let mut cmyk = profile();
    cmyk[16..20].copy_from_slice(b"CMYK");
    let upload = with_segment(&turned, 0xe2, &icc_segment(&cmyk));
    assert_eq!(profile_of(&clean(&upload).await.unwrap()), None);
}

/// Returns noise of 256 × 256 pixels with an orientation to be applied. `strength` is the distance of its colours from grey.
fn turned_noise(strength: usize) -> Vec<u8> {
    let mut random = samples::Random(0x9e37_79b9_7f4a_7c15);
    let mut colour = || (128 - strength + random.below(2 * strength)) as u8;
    let noise = image::RgbImage::from_fn(256, 256, |_, _| image::Rgb([colour(), colour(), colour()]));
    let mut file = Vec::new();
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut file, 90).encode_image(&noise).unwrap();
    with_segment(&file, 0xe1, &exif_segment(&exif(6)))
}

#[tokio::test]
async fn a_rotated_image_that_grows_far_beyond_its_upload_is_rejected() {
    let upload = turned_noise(100);
    let turned = clean(&upload).await.unwrap();
    assert!(turned.len() < 2 * upload.len(), "{} of {}", turned.len(), upload.len());

    let mut faint = turned_noise(8);
    let tables: Vec<usize> = (0..faint.len()).filter(|at| faint[*at..].starts_with(&[0xff, 0xdb, 0, 67])).collect();
    assert_eq!(tables.len(), 2);
    // With these quantization tables, noise that was almost grey gets the strongest colours, in a file of the same size.
    tables.into_iter().for_each(|at| faint[at + 5..at + 69].fill(255));
    let most = (256 * 256 + 2 * faint.len()) / 1024;
    let why = format!("JPEG image must take at most {most} KiB when its orientation is applied");
    assert_too_large(clean(&faint).await.map(|turned| turned.len()), &why);
}

/// Returns a grey progressive image of 8 × 8 pixels with this number of scans, each of which has a single bit.
fn progressive(scans: usize) -> Vec<u8> {
    let mut codes = [0; 18];
    codes[1] = 1;
    let scan = [[0xff, 0xda].as_slice(), &[0, 8, 1, 1, 0, 0, 0, 0], &[0x7f]].concat();
    let mut file = [0xff, 0xd9].to_vec();
    file.splice(0..0, scan.repeat(scans));
    file.splice(0..0, [0xff, 0xd8]);
    file = with_segment(&file, 0xc4, &codes);
    file = with_segment(&file, 0xc2, &[8, 0, 8, 0, 8, 1, 1, 0x11, 0]);
    with_segment(&file, 0xdb, &[[0].as_slice(), &[1; 64]].concat())
}

#[tokio::test]
async fn a_progressive_image_may_have_at_most_32_scans() {
    let upload = progressive(32);
    assert_eq!(clean(&upload).await.unwrap(), upload);
    assert_too_large(clean(&progressive(33)).await, "JPEG image must have at most 32 scans");
}

#[tokio::test]
async fn a_second_frame_header_is_rejected() {
    let upload = with_segment(&progressive(1), 0xc0, &[8, 0, 8, 0, 8, 1, 1, 0x11, 0]);
    assert_unacceptable(clean(&upload).await, "Image cannot be decoded");
}
