use super::samples::{Random, animated_gif, jpeg, picture, png, png_chunk, webp_file, webp_header, webp_picture};
use super::*;

/// Asserts that an upload is rejected, or that the cleaned image and its thumbnail decode and cleaning it again changes nothing.
async fn assert_rejected_or_clean(upload: &[u8], what: &str) {
    match clean_image(ImageLimits::default(), upload).await {
        Ok(cleaned) => {
            let decoded = |file: &[u8]| image::load_from_memory(file).unwrap_or_else(|error| panic!("{what}: {error}"));
            let (picture, preview) = (decoded(&cleaned.bytes), &cleaned.preview);
            assert_eq!((picture.width(), picture.height()), (preview.width, preview.height), "{what}");
            let thumbnail = decoded(&cleaned.thumbnail);
            assert!(thumbnail.width().max(thumbnail.height()) <= 400, "{what}");
            assert_eq!(clean(&cleaned.bytes).await.unwrap(), cleaned.bytes, "{what}");
        }
        Err(ImageProblem::Unacceptable(_) | ImageProblem::TooLarge(_)) => {}
        Err(ImageProblem::Failed(error)) => panic!("{what}: {error:?}"),
    }
}

#[tokio::test]
async fn files_of_other_formats_are_rejected() {
    let others: [&[u8]; 9] = [
        b"",
        b"\xff\xd8",
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"<!doctype html><script>alert(1)</script>",
        b"%PDF-1.7",
        b"BM\x1e\0\0\0\0\0\0\0\x1a\0\0\0",
        b"II*\0\x08\0\0\0",
        b"RIFF\x04\0\0\0WAVE",
        b"\0\0\0\x1cftypavif",
    ];
    for upload in others {
        assert_unacceptable(clean(upload).await, "Image must be a JPEG, PNG, GIF or WebP file");
    }
}

#[tokio::test]
async fn a_file_beyond_the_limit_on_bytes_is_rejected_before_its_format_is_detected() {
    let upload = vec![0; 5 * 1024 * 1024 + 1];
    assert_too_large(clean(&upload).await, "Image must be at most 5 MiB");
}

#[tokio::test]
async fn an_image_beyond_the_limit_on_pixels_is_rejected_by_its_header() {
    let mut huge_jpeg = jpeg(&picture());
    let frame = huge_jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    huge_jpeg[frame + 5..frame + 9].fill(0xff);
    let header = [[0x7f, 0xff, 0xff, 0xff].as_slice(), &[0x7f, 0xff, 0xff, 0xff], &[8, 2, 0, 0, 0]].concat();
    let huge_png = [&png(&picture())[..8], &png_chunk(b"IHDR", &header), &png(&picture())[33..]].concat();
    let mut huge_gif = animated_gif(1);
    huge_gif[6..10].fill(0xff);
    let mut huge_frame = animated_gif(1);
    let descriptor = huge_frame.iter().rposition(|byte| *byte == b',').unwrap();
    huge_frame[descriptor + 5..descriptor + 9].fill(0xff);
    let huge_webp = webp_file(&[webp_header(0, 16_384, 16_384), webp_picture(&picture())]);
    let huge_simple_webp = webp_file(&[samples::webp_chunk(b"VP8L", b"\x2f\xff\xff\xff\x0f\0\0\0")]);
    for upload in [huge_jpeg, huge_png, huge_gif, huge_frame, huge_webp, huge_simple_webp] {
        assert_too_large(clean(&upload).await, "Image must be at most 40 megapixels");
    }
}

#[tokio::test]
async fn a_file_with_too_many_chunks_is_rejected() {
    let (plain, picture) = (png(&picture()), webp_picture(&picture()));
    let with_empty = |count: usize| {
        let [of_png, of_webp] = [png_chunk(b"prVt", b""), samples::webp_chunk(b"prVt", b"")].map(|it| it.repeat(count));
        let webp = webp_file(&[webp_header(0, 32, 16), picture.clone(), of_webp]);
        [samples::with_chunks(&plain, &[of_png]), webp]
    };
    // The picture itself has the remaining ones.
    for upload in with_empty(MAX_CHUNKS - 3) {
        clean(&upload).await.unwrap();
    }
    for upload in with_empty(MAX_CHUNKS) {
        assert_unacceptable(clean(&upload).await, "Image cannot be decoded");
    }
}

#[tokio::test]
async fn an_image_without_pixels_is_rejected() {
    let mut empty = jpeg(&picture());
    let frame = empty.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    empty[frame + 5..frame + 7].fill(0);
    assert_unacceptable(clean(&empty).await, "Image cannot be decoded");
}

#[tokio::test]
async fn a_file_truncated_anywhere_is_rejected() {
    for (format, file) in samples::all() {
        for length in 0..file.len() {
            let outcome = clean(&file[..length]).await;
            assert!(matches!(outcome, Err(ImageProblem::Unacceptable(_))), "{format:?} {length}: {outcome:?}");
        }
    }
}

#[tokio::test]
async fn a_file_with_changed_bytes_is_rejected_or_comes_out_clean() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for (format, file) in samples::all() {
        for round in 0..300 {
            let mut damaged = file.clone();
            for _ in 0..=random.below(4) {
                let place = random.below(damaged.len());
                damaged[place] = random.below(256) as u8;
            }
            assert_rejected_or_clean(&damaged, &format!("{format:?}, round {round}")).await;
        }
    }
}

#[tokio::test]
async fn a_file_with_removed_or_repeated_parts_is_rejected_or_comes_out_clean() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for (format, file) in samples::all() {
        for round in 0..100 {
            let mut places = [random.below(file.len()), random.below(file.len())];
            places.sort_unstable();
            let [start, end] = places;
            assert_rejected_or_clean(&[&file[..start], &file[end..]].concat(), &format!("{format:?} out {round}"))
                .await;
            assert_rejected_or_clean(&[&file[..end], &file[start..]].concat(), &format!("{format:?} in {round}")).await;
        }
    }
}
