use ::gif::{DecodeOptions, Frame, Repeat};
use bytes::Bytes;

use super::{samples::animated_gif, *};

fn frames(file: &[u8]) -> (Repeat, Vec<Frame<'static>>) {
    let decoder = DecodeOptions::new().read_info(file).unwrap();
    (decoder.repeat(), decoder.into_iter().map(|frame| frame.unwrap()).collect())
}

fn extension(label: u8, blocks: &[&[u8]]) -> Vec<u8> {
    let mut extension = vec![0x21, label];
    for block in blocks {
        extension.push(u8::try_from(block.len()).unwrap());
        extension.extend_from_slice(block);
    }
    extension.push(0);
    extension
}

#[tokio::test]
async fn metadata_is_removed_and_frames_palettes_and_timing_stay() {
    let plain = animated_gif(4);
    let metadata = [
        extension(0xfe, &[SECRET]),
        extension(0xff, &[b"XMP DataXMP", SECRET]),
        extension(0xff, &[b"ICCRGBG1012", SECRET]),
        extension(0xff, &[b"MAGPIE__1.0", SECRET]),
    ]
    .concat();
    // After the header with its palette of two colours, and before the trailer.
    let end = plain.len() - 1;
    let upload = [&plain[..19], &metadata, &plain[19..end], &metadata, &plain[end..]].concat();
    assert_only_metadata_goes(&plain, &upload).await;
    let cleaned = clean(&upload).await.unwrap();
    assert_eq!(cleaned, plain);

    let (repeat, frames) = frames(&cleaned);
    assert_eq!(repeat, Repeat::Finite(7));
    assert_eq!(frames.iter().map(|frame| frame.delay).collect::<Vec<_>>(), [3, 4, 5, 6]);
}

#[tokio::test]
async fn the_background_colour_and_the_pixel_aspect_ratio_stay() {
    let mut upload = animated_gif(1);
    upload[11..13].copy_from_slice(&[1, 49]);
    assert_eq!(clean(&upload).await.unwrap(), upload);
}

#[tokio::test]
async fn an_image_without_frames_or_with_an_empty_one_is_rejected() {
    assert_unacceptable(clean(&animated_gif(0)).await, "Image cannot be decoded");
    let empty = [b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\0\0\0".as_slice(), b",\0\0\0\0\0\0\0\0\0\x02\0;"].concat();
    assert_unacceptable(clean(&empty).await, "Image cannot be decoded");
}

#[tokio::test]
async fn a_truncated_frame_is_rejected() {
    let start = b"GIF89a\x02\0\x01\0\x80\0\0\0\0\0\0\0\0,\0\0\0\0\x02\0\x01\0\0";
    // Clear, black, end: one pixel of two.
    let upload = [start.as_slice(), b"\x02\x02\x44\x01\0;"].concat();
    assert_unacceptable(clean(&upload).await, "Image cannot be decoded");
}

/// Any data may follow the pixels, and how decoders treat it depends on how it is divided into blocks.
#[test]
fn a_cleaned_gif_is_accepted_again_whatever_data_followed_the_pixels() {
    let start = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02";
    let limits = ImageLimits::default();
    let clean = |upload: &[u8]| super::super::clean(ImageFormat::Gif, Bytes::copy_from_slice(upload), &limits);
    let mut taken = 0;
    for (second, third) in (0..=255).flat_map(|second| [(second, 0x00), (second, 0x55), (second, 0xff)]) {
        // The codes for clear and black, which are six bits of the first block.
        for first in [0x04, 0x44, 0x84, 0xc4] {
            let upload = [start.as_slice(), &[1, first, 1, second, 1, third, 0, b';']].concat();
            let Ok(cleaned) = clean(&upload) else { continue };
            taken += 1;
            let again =
                clean(&cleaned.bytes).unwrap_or_else(|problem| panic!("{:x?}: {problem:?}", [first, second, third]));
            assert_eq!(again.bytes, cleaned.bytes);
        }
    }
    assert!(taken > 0);
}
