use std::io::Cursor;

use image::AnimationDecoder;
use image::codecs::webp::WebPDecoder;
use image::metadata::LoopCount;

use super::samples::{animated_gif, animated_png, animated_webp, png_chunk, with_chunks};
use super::*;

#[tokio::test]
async fn an_animated_png_loses_its_metadata_and_stays_animated() {
    let plain = animated_png(3);
    let upload = with_chunks(&plain, &[png_chunk(b"eXIf", &exif(6)), png_chunk(b"tEXt", SECRET)]);
    let cleaned = clean(&upload).await.unwrap();
    assert_eq!(cleaned, plain, "not turned either");
    let reader = ::png::Decoder::new(Cursor::new(cleaned)).read_info().unwrap();
    let control = reader.info().animation_control().unwrap();
    assert_eq!((control.num_frames, control.num_plays), (3, 5));
}

#[tokio::test]
async fn an_animated_webp_keeps_its_frames_delays_and_loops() {
    let cleaned = clean(&animated_webp(3)).await.unwrap();
    let decoder = WebPDecoder::new(Cursor::new(cleaned)).unwrap();
    assert!(matches!(decoder.loop_count(), LoopCount::Finite(n) if n.get() == 9));
    let frames = decoder.into_frames().collect_frames().unwrap();
    assert_eq!(frames.len(), 3);
    assert!(frames.iter().all(|frame| frame.delay().numer_denom_ms() == (80, 1)));
}

#[tokio::test]
async fn an_animated_png_with_fewer_or_more_frames_than_announced_is_rejected() {
    let plain = animated_png(3);
    for announced in [0, 2, 4, u32::MAX] {
        let control = png_chunk(b"acTL", &[announced.to_be_bytes(), [0; 4]].concat());
        let upload = [&plain[..33], &control, &plain[33 + control.len()..]].concat();
        assert_unacceptable(clean(&upload).await, "Image cannot be decoded");
    }
}

#[tokio::test]
async fn frames_of_a_png_without_animation_control_are_removed() {
    let plain = animated_png(3);
    let control = png_chunk(b"acTL", &[0; 8]).len();
    let cleaned = clean(&[&plain[..33], &plain[33 + control..]].concat()).await.unwrap();
    assert!(!holds(&cleaned, b"fcTL") && !holds(&cleaned, b"fdAT"));
    assert_eq!(pixels(&cleaned), pixels(&plain));
}

#[tokio::test]
async fn an_animation_may_have_at_most_twice_the_pixels_of_an_image() {
    let gif = ImageLimits { max_pixels: 64, ..ImageLimits::default() };
    clean_within(gif, &animated_gif(3)).await.unwrap();
    let message = "Animation must be at most 128 pixels over all its frames";
    assert_too_large(clean_within(gif, &animated_gif(4)).await, message);
    clean_within(gif, &animated_png(2)).await.unwrap();
    assert_too_large(clean_within(gif, &animated_png(3)).await, message);
    let webp = ImageLimits { max_pixels: 512, ..ImageLimits::default() };
    clean_within(webp, &animated_webp(2)).await.unwrap();
    let message = "Animation must be at most 1024 pixels over all its frames";
    assert_too_large(clean_within(webp, &animated_webp(3)).await, message);
}

#[tokio::test]
async fn the_separate_default_image_of_a_png_counts_as_a_frame() {
    let with_picture = |frames| {
        let mut file = Vec::new();
        let mut encoder = ::png::Encoder::new(&mut file, 8, 8);
        encoder.set_animated(frames, 0).unwrap();
        encoder.set_sep_def_img(true).unwrap();
        let mut writer = encoder.write_header().unwrap();
        (0..=frames).for_each(|_| writer.write_image_data(&[7; 64]).unwrap());
        writer.finish().unwrap();
        file
    };
    let limits = ImageLimits { max_pixels: 64, ..ImageLimits::default() };
    clean_within(limits, &with_picture(1)).await.unwrap();
    let message = "Animation must be at most 128 pixels over all its frames";
    assert_too_large(clean_within(limits, &with_picture(2)).await, message);
}

#[tokio::test]
async fn too_large_animations_are_rejected_before_any_frame_is_decoded() {
    let limits = ImageLimits { max_pixels: 512, ..ImageLimits::default() };
    let (mut webp, mut gif, mut png) = (animated_webp(3), animated_gif(30), animated_png(30));
    let frame = webp.windows(4).position(|kind| kind == b"VP8L").unwrap();
    webp[frame + 13..frame + 40].fill(0xff);
    let data = gif.iter().position(|byte| *byte == b',').unwrap() + 10;
    gif[data + 3..data + 8].fill(0xff);
    let data = png.windows(4).position(|kind| kind == b"IDAT").unwrap();
    png[data + 8] ^= 0xff;
    for upload in [webp, gif, png] {
        assert_unacceptable(clean(&upload).await, "Image cannot be decoded");
        let message = "Animation must be at most 1024 pixels over all its frames";
        assert_too_large(clean_within(limits, &upload).await, message);
    }
}

#[tokio::test]
async fn a_frame_beyond_the_limit_is_rejected_even_on_a_small_screen() {
    let mut upload = animated_gif(1);
    // The screen is cut to one pixel; the frame has 42.
    upload[6..10].copy_from_slice(&[1, 0, 1, 0]);
    let limits = ImageLimits { max_pixels: 41, ..ImageLimits::default() };
    assert_too_large(clean_within(limits, &upload).await, "Image must be at most 41 pixels");
}
