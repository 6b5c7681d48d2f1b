use std::io::Write as _;

use flate2::{Compression, write::ZlibEncoder};
use image::ImageDecoder;
use image::codecs::png::PngDecoder;

use super::samples::{
    jpeg, long_profile, picture, png, png_chunk, profile, webp, webp_chunk, webp_file, webp_header, webp_picture,
    with_chunks, with_segment,
};
use super::*;
use crate::clean::icc::is_valid;

const LIMIT: usize = 256 * 1024;

/// Returns profiles that are removed from files of every format.
fn unacceptable() -> Vec<Vec<u8>> {
    let mut unsigned = profile();
    unsigned[36] = 0;
    vec![Vec::new(), SECRET.to_vec(), unsigned, [&profile(), SECRET].concat(), long_profile(LIMIT)]
}

/// Splits a profile into JPEG segments with up to `bytes` bytes of it each.
fn in_segments(profile: &[u8], bytes: usize) -> Vec<Vec<u8>> {
    let count = profile.chunks(bytes).len();
    let segment = |(i, part): (usize, &[u8])| {
        let number = [u8::try_from(i + 1).unwrap(), u8::try_from(count).unwrap()];
        [b"ICC_PROFILE\0".as_slice(), &number, part].concat()
    };
    profile.chunks(bytes).enumerate().map(segment).collect()
}

fn jpeg_with(segments: &[Vec<u8>]) -> Vec<u8> {
    segments.iter().rev().fold(jpeg(&picture()), |file, segment| with_segment(&file, 0xe2, segment))
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns an iCCP chunk with this data after the name.
fn png_profile(method_and_data: &[u8]) -> Vec<u8> {
    png_chunk(b"iCCP", &[b"name\0", method_and_data].concat())
}

fn png_with(profile: &[u8]) -> Vec<u8> {
    png_profile(&[&[0], compressed(profile).as_slice()].concat())
}

#[tokio::test]
async fn a_jpeg_keeps_a_profile_in_one_segment_or_in_many() {
    for (profile, bytes) in
        [(profile(), 65_000), (profile(), 1), (long_profile(LIMIT - 1), 65_000), (long_profile(255), 1)]
    {
        let upload = jpeg_with(&in_segments(&profile, bytes));
        assert_eq!(clean(&upload).await.unwrap(), upload);
    }
    let mut reversed = in_segments(&profile(), 50);
    reversed.reverse();
    let upload = jpeg_with(&reversed);
    assert_eq!(clean(&upload).await.unwrap(), upload, "in any order");
}

#[tokio::test]
async fn an_invalid_or_large_profile_is_removed_from_a_jpeg() {
    let plain = jpeg(&picture());
    for profile in unacceptable() {
        let upload = jpeg_with(&in_segments(&profile, 65_000));
        assert_eq!(clean(&upload).await.unwrap(), plain, "{} bytes", profile.len());
    }
    let parts = in_segments(&profile(), 50);
    let (mut miscounted, mut numbered_from_zero) = (parts.clone(), parts.clone());
    miscounted[1][13] = 9;
    numbered_from_zero.iter_mut().for_each(|part| part[12] -= 1);
    let twice = [parts.clone(), parts.clone()].concat();
    for segments in [&parts[1..], &twice, &miscounted, &numbered_from_zero, &[b"ICC_PROFILE\0".to_vec()]] {
        assert_eq!(clean(&jpeg_with(segments)).await.unwrap(), plain, "{segments:x?}");
    }
}

#[tokio::test]
async fn a_png_keeps_a_profile_whose_decompressed_size_is_within_the_limit() {
    for profile in [profile(), long_profile(LIMIT - 1)] {
        let upload = with_chunks(&png(&picture()), &[png_with(&profile)]);
        assert_eq!(clean(&upload).await.unwrap(), upload);
    }
}

#[tokio::test]
async fn an_invalid_or_large_profile_is_removed_from_a_png() {
    let plain = png(&picture());
    let data = compressed(&profile());
    let broken = [
        // An unknown compression method, truncated data, and trailing data.
        png_profile(&[&[1], data.as_slice()].concat()),
        png_profile(&[&[0], &data[..data.len() - 1]].concat()),
        png_profile(&[&[0], data.as_slice(), SECRET].concat()),
        png_profile(&[]),
        png_chunk(b"iCCP", &[&[0, 0], data.as_slice()].concat()),
        png_chunk(b"iCCP", &[[b'n'; 80].as_slice(), &[0, 0], &data].concat()),
        png_chunk(b"iCCP", b"a name without an end"),
    ];
    for chunk in unacceptable().iter().map(|profile| png_with(profile)).chain(broken) {
        assert_eq!(clean(&with_chunks(&plain, std::slice::from_ref(&chunk))).await.unwrap(), plain, "{chunk:x?}");
    }
    let two = [png_with(&profile()), png_with(&profile())];
    assert_eq!(
        clean(&with_chunks(&plain, &two)).await.unwrap(),
        with_chunks(&plain, &two[..1]),
        "of several the first"
    );
}

#[tokio::test]
async fn a_decompression_bomb_in_a_profile_is_removed_from_a_rotated_png() {
    // 16 KiB that decompress to 16 MiB.
    let bomb = png_with(&vec![0; 16 << 20]);
    let upload = with_chunks(&png(&samples::turned(6)), &[bomb, png_chunk(b"eXIf", &exif(6))]);
    let cleaned = clean(&upload).await.unwrap();
    samples::assert_looks_upright(&cleaned, 6);
    assert_eq!(PngDecoder::new(std::io::Cursor::new(cleaned)).unwrap().icc_profile().unwrap(), None);
}

#[tokio::test]
async fn a_webp_keeps_only_a_valid_profile() {
    let with = |profile: &[u8]| {
        webp_file(&[webp_header(0x20, 32, 16), webp_chunk(b"ICCP", profile), webp_picture(&picture())])
    };
    for profile in [profile(), long_profile(LIMIT - 1)] {
        assert_eq!(clean(&with(&profile)).await.unwrap(), with(&profile));
    }
    let without = webp_file(&[webp_header(0, 32, 16), webp_picture(&picture())]);
    for profile in unacceptable() {
        assert_eq!(clean(&with(&profile)).await.unwrap(), without, "{} bytes", profile.len());
    }
    assert_eq!(pixels(&without), pixels(&webp(&picture())));
}

#[test]
fn a_valid_profile_has_the_announced_length_and_all_elements_of_its_table() {
    let whole = profile();
    assert!(is_valid(&whole));
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = whole.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    let length = u32::try_from(whole.len()).unwrap();
    for (what, broken) in [
        ("longer than it says", [whole.as_slice(), b"!"].concat()),
        ("says that it is longer", with(0, &(length + 1).to_be_bytes())),
        ("without the signature", with(36, b"acsq")),
        ("a table beyond the end", with(128, &3u32.to_be_bytes())),
        ("a table of all numbers", with(128, &u32::MAX.to_be_bytes())),
        ("an element beyond the end", with(128 + 12, &5u32.to_be_bytes())),
        ("an element of all numbers", with(128 + 12, &u32::MAX.to_be_bytes())),
        ("an element in the table", with(128 + 8, &(length - 5).to_be_bytes())),
    ] {
        assert!(!is_valid(&broken), "{what}");
    }
    for cut in 0..whole.len() {
        assert!(!is_valid(&whole[..cut]), "{cut} bytes");
    }
}

#[test]
fn a_profile_is_below_256_kib() {
    assert!(is_valid(&long_profile(256 * 1024 - 1)));
    assert!(!is_valid(&long_profile(256 * 1024)));
}
