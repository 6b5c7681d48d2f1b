//! What every format has in common. The files beside this one have the rest, one per format.

mod animation;
mod gif;
mod hostile;
mod jpeg;
mod png;
mod samples;
mod webp;

use std::task::Poll;

use futures_util::poll;
use image::RgbaImage;

use super::*;
use samples::{SECRET, exif, holds};

const MEMORY: u64 = 288 << 20;

fn cleaner(limits: ImageLimits) -> Cleaner {
    Cleaner::new(limits, NonZeroUsize::new(2).unwrap(), MEMORY)
}

async fn clean_within(limits: ImageLimits, upload: &[u8]) -> Result<Vec<u8>> {
    let cleaned = cleaner(limits).clean(Bytes::copy_from_slice(upload)).await?;
    Ok(cleaned.bytes.to_vec())
}

async fn clean(upload: &[u8]) -> Result<Vec<u8>> {
    clean_within(ImageLimits::default(), upload).await
}

fn pixels(file: &[u8]) -> RgbaImage {
    image::load_from_memory(file).unwrap().to_rgba8()
}

/// Cleans a file with the secret in it and checks that the secret is gone and the pixels are not.
async fn assert_only_metadata_goes(plain: &[u8], upload: &[u8]) {
    assert!(holds(upload, SECRET));
    let cleaned = clean(upload).await.unwrap();
    assert!(!holds(&cleaned, SECRET));
    assert_eq!(pixels(&cleaned), pixels(plain));
}

/// Cleans the files that `stored` makes of a picture that was turned or mirrored and of EXIF data saying so.
async fn assert_every_orientation_comes_out_upright(stored: impl Fn(&image::RgbImage, &[u8]) -> Vec<u8>) {
    for orientation in 1..=8 {
        let upload = stored(&samples::turned(orientation), &exif(orientation));
        let cleaned = clean(&upload).await.unwrap();
        assert!(!holds(&cleaned, SECRET), "orientation {orientation}");
        samples::assert_looks_upright(&cleaned, orientation);
    }
}

fn assert_too_large<T: std::fmt::Debug>(outcome: Result<T>, message: &str) {
    assert!(matches!(&outcome, Err(ImageProblem::TooLarge(text)) if text == message), "{outcome:?}");
}

fn assert_unacceptable<T: std::fmt::Debug>(outcome: Result<T>, message: &str) {
    assert!(matches!(&outcome, Err(ImageProblem::Unacceptable(text)) if text == message), "{outcome:?}");
}

#[tokio::test]
async fn every_format_is_known_by_its_content_and_kept_byte_for_byte_when_it_has_no_metadata() {
    let samples = samples::all();
    let formats = [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::Gif, ImageFormat::WebP];
    assert!(formats.iter().all(|format| samples.iter().any(|(sample, _)| sample == format)));
    for (format, file) in samples {
        let cleaned = cleaner(ImageLimits::default()).clean(file.clone().into()).await.unwrap();
        assert_eq!(cleaned, CleanImage { format, bytes: file.into() });
    }
}

#[tokio::test]
async fn what_follows_the_end_of_an_image_is_dropped() {
    for (format, file) in samples::all() {
        let polyglot = [&file, b"PK\x03\x04".as_slice(), SECRET].concat();
        assert_eq!(clean(&polyglot).await.unwrap(), file, "{format:?}");
    }
}

#[tokio::test]
async fn a_full_line_is_refused_and_moves_up_when_images_are_done() {
    let cleaner = cleaner(ImageLimits::default());
    let upload = Bytes::from(samples::png(&samples::picture()));
    let places = u32::try_from(2 + Cleaner::WAITING).unwrap();
    let waiting = Arc::clone(&cleaner.line).acquire_many_owned(places).await.unwrap();
    let refused = cleaner.clean(upload.clone()).await;
    assert!(matches!(refused, Err(ImageProblem::Failed(Error::Unavailable(_)))), "{refused:?}");
    drop(waiting);
    cleaner.clean(upload).await.unwrap();
}

#[tokio::test]
async fn an_image_waits_for_a_slot_and_gives_it_back() {
    let cleaner = cleaner(ImageLimits::default());
    let upload = Bytes::from(samples::png(&samples::picture()));
    let busy = Arc::clone(&cleaner.slots).acquire_many_owned(2).await.unwrap();
    let mut work = cleaner.clean(upload);
    assert!(matches!(poll!(&mut work), Poll::Pending));
    assert_eq!(cleaner.line.available_permits(), 2 + Cleaner::WAITING - 1);
    drop(busy);
    assert_eq!(cleaner.slots.available_permits(), 1, "it was waiting, and has its turn");
    work.await.unwrap();
    assert_eq!(cleaner.slots.available_permits(), 2);
    assert_eq!(cleaner.line.available_permits(), 2 + Cleaner::WAITING);
}

#[tokio::test]
async fn a_decoder_that_panics_has_met_an_image_that_cannot_be_decoded() {
    let outcome = apart(ImageFormat::Jpeg, || panic!("as decoders may do")).await;
    assert_unacceptable::<()>(outcome, "Image cannot be decoded");
}

#[tokio::test]
async fn an_image_waits_for_memory_and_gives_it_back() {
    let cleaner = cleaner(ImageLimits::default());
    let all = cleaner.memory.available_permits();
    let upload = Bytes::from(samples::png(&samples::picture()));
    let needed = cleaner.kibibytes(ImageFormat::Png, &upload).unwrap() as usize;
    assert!(needed >= 2048, "{needed}");
    let busy = Arc::clone(&cleaner.memory).acquire_many_owned(u32::try_from(all).unwrap()).await.unwrap();
    let mut work = cleaner.clean(upload);
    assert!(matches!(poll!(&mut work), Poll::Pending));
    drop(busy);
    assert_eq!(cleaner.memory.available_permits(), all - needed, "it was waiting, and has what it needs");
    work.await.unwrap();
    assert_eq!(cleaner.memory.available_permits(), all);
}

#[tokio::test]
async fn an_image_that_takes_more_memory_than_there_is_is_refused() {
    let few = Cleaner::new(ImageLimits::default(), NonZeroUsize::MIN, 1 << 20);
    let refused = few.clean(samples::jpeg(&samples::picture()).into()).await;
    assert_too_large(refused, "Image takes 3 MiB of memory to be checked, and 1 MiB at most are given to one");
}

#[test]
fn the_header_tells_how_much_memory_an_image_takes() {
    let megabytes = |format, file: &[u8]| {
        memory::needed(format, file, &ImageLimits::default()).unwrap().saturating_sub(2 << 20) / 1_000_000
    };
    let mut jpeg = samples::jpeg(&samples::picture());
    let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0x13, 0x88, 0x1f, 0x40]);
    assert_eq!(megabytes(ImageFormat::Jpeg, &jpeg), 120);
    let turned = samples::with_segment(&jpeg, 0xe1, &[b"Exif\0\0".as_slice(), &exif(6)].concat());
    assert_eq!(megabytes(ImageFormat::Jpeg, &turned), 240);
    jpeg[frame + 1] = 0xc2;
    assert!(megabytes(ImageFormat::Jpeg, &jpeg) >= 240);
    let header = samples::png_chunk(b"IHDR", &[0, 0, 0x1f, 0x40, 0, 0, 0x13, 0x88, 16, 6, 0, 0, 0]);
    let png =
        |chunk: &[u8]| [b"\x89PNG\r\n\x1a\n".as_slice(), &header, chunk, &samples::png_chunk(b"IEND", &[])].concat();
    assert_eq!(megabytes(ImageFormat::Png, &png(&[])), 0);
    assert_eq!(megabytes(ImageFormat::Png, &png(&samples::png_chunk(b"eXIf", &exif(3)))), 640);
}
