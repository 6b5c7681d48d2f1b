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

fn cleaner(limits: ImageLimits) -> Cleaner {
    Cleaner::new(limits, NonZeroUsize::new(2).unwrap())
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
    work.await.unwrap();
    assert_eq!(cleaner.slots.available_permits(), 2);
    assert_eq!(cleaner.line.available_permits(), 2 + Cleaner::WAITING);
}

#[tokio::test]
async fn a_decoder_that_panics_has_met_an_image_that_cannot_be_decoded() {
    let work = task::spawn_blocking(|| panic!("as decoders may do"));
    assert_unacceptable(outcome(work, ImageFormat::Jpeg).await, "Image cannot be decoded");
}
