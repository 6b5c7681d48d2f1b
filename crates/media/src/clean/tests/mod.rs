//! Tests of what all formats have in common. The submodules test the formats and other single aspects.

mod animation;
mod gif;
mod hostile;
mod icc;
mod jpeg;
mod png;
mod samples;
mod thumbnails;
mod webp;

use std::sync::{Arc, mpsc};
use std::task::Poll;

use agora_domain::Error;
use agora_domain::id::UserId;
use agora_domain::limits::ClientAddress;
use futures_util::poll;
use image::RgbaImage;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::*;
use samples::{SECRET, exif, holds};

const MEMORY: u64 = 192 << 20;

fn cleaner(limits: ImageLimits) -> Cleaner {
    Cleaner::new(limits, NonZeroUsize::new(2).unwrap(), MEMORY)
}

fn requester(account: u128, address: &str) -> Requester {
    let address = ClientAddress::of(address.parse().unwrap());
    Requester { account: Some(UserId::new(Uuid::from_u128(account))), address }
}

async fn clean_image(limits: ImageLimits, upload: &[u8]) -> Result<CleanImage> {
    cleaner(limits).clean(Bytes::copy_from_slice(upload), &requester(1, "127.0.0.1")).await
}

async fn clean_within(limits: ImageLimits, upload: &[u8]) -> Result<Vec<u8>> {
    Ok(clean_image(limits, upload).await?.bytes.to_vec())
}

async fn clean(upload: &[u8]) -> Result<Vec<u8>> {
    clean_within(ImageLimits::default(), upload).await
}

fn pixels(file: &[u8]) -> RgbaImage {
    image::load_from_memory(file).unwrap().to_rgba8()
}

/// Asserts that cleaning a file removes the secret in it and keeps the pixels.
async fn assert_only_metadata_goes(plain: &[u8], upload: &[u8]) {
    assert!(holds(upload, SECRET));
    let cleaned = clean(upload).await.unwrap();
    assert!(!holds(&cleaned, SECRET));
    assert_eq!(pixels(&cleaned), pixels(plain));
}

/// Asserts that the picture comes out upright in every orientation. `stored` makes a file of a rotated or mirrored picture and
/// its EXIF data.
async fn assert_every_orientation_comes_out_upright(stored: impl Fn(&image::RgbImage, &[u8]) -> Vec<u8>) {
    for orientation in 1..=8 {
        let upload = stored(&samples::turned(orientation), &exif(orientation));
        let cleaned = clean_image(ImageLimits::default(), &upload).await.unwrap();
        for file in [&cleaned.bytes, &cleaned.thumbnail] {
            assert!(!holds(file, SECRET), "orientation {orientation}");
            samples::assert_looks_upright(file, orientation);
        }
        assert_eq!((cleaned.preview.width, cleaned.preview.height), (32, 16), "orientation {orientation}");
    }
}

fn assert_too_large<T: std::fmt::Debug>(outcome: Result<T>, message: &str) {
    assert!(matches!(&outcome, Err(ImageProblem::TooLarge(text)) if text == message), "{outcome:?}");
}

fn assert_unacceptable<T: std::fmt::Debug>(outcome: Result<T>, message: &str) {
    assert!(matches!(&outcome, Err(ImageProblem::Unacceptable(text)) if text == message), "{outcome:?}");
}

#[tokio::test]
async fn formats_are_detected_by_content_and_files_without_metadata_stay_identical() {
    let samples = samples::all();
    let formats = [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::Gif, ImageFormat::WebP];
    assert!(formats.iter().all(|format| samples.iter().any(|(sample, _)| sample == format)));
    for (format, file) in samples {
        let cleaned = clean_image(ImageLimits::default(), &file).await.unwrap();
        assert_eq!((cleaned.format, cleaned.bytes), (format, file.into()));
    }
}

#[tokio::test]
async fn data_after_the_end_of_an_image_is_removed() {
    for (format, file) in samples::all() {
        let polyglot = [&file, b"PK\x03\x04".as_slice(), SECRET].concat();
        assert_eq!(clean(&polyglot).await.unwrap(), file, "{format:?}");
    }
}

/// Occupies a thread of a cleaner and this much of its memory until the result is dropped.
async fn occupy(cleaner: &Arc<Cleaner>, memory: u64) -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel();
    let (start, started) = oneshot::channel();
    let cleaner = Arc::clone(cleaner);
    tokio::spawn(async move {
        let work = move || start.send(()).is_ok() && released.recv().is_ok();
        cleaner.workers.run(&Requester::local(), memory, work).await
    });
    started.await.unwrap();
    release
}

/// Uploads an image for each of these requesters to a busy cleaner; returns how many wait. The others are rejected.
async fn count_waiting(requesters: &[Requester]) -> usize {
    let cleaner = Arc::new(cleaner(ImageLimits::default()));
    let upload = Bytes::from(samples::png(&samples::picture()));
    let busy = [occupy(&cleaner, 0).await, occupy(&cleaner, 0).await];
    let mut waiting = Vec::new();
    for requester in requesters {
        let mut work = cleaner.clean(upload.clone(), requester);
        match poll!(&mut work) {
            Poll::Pending => waiting.push(work),
            Poll::Ready(Err(ImageProblem::Failed(Error::Unavailable(_)))) => {}
            Poll::Ready(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(cleaner.figures().refused, (requesters.len() - waiting.len()) as u64);
    drop(busy);
    let count = waiting.len();
    for done in futures_util::future::join_all(waiting).await {
        done.unwrap();
    }
    count
}

#[tokio::test]
async fn an_account_may_have_four_images_in_the_queue_and_an_address_a_quarter() {
    let addresses: Vec<_> = (1..=6).map(|n| requester(1, &format!("192.0.2.{n}"))).collect();
    assert_eq!(count_waiting(&[addresses, vec![requester(2, "192.0.2.1")]].concat()).await, 4 + 1);
    let accounts = |address: &'static str| (0..70).map(move |n| requester(n, address)).collect::<Vec<_>>();
    assert_eq!(count_waiting(&accounts("2001:db8::1")).await, 66 / 4);
    assert_eq!(count_waiting(&accounts("127.0.0.1")).await, 64);
}

#[test]
fn an_image_is_undecodable_if_its_decoder_panics() {
    let outcome = reject_on_panic(ImageFormat::Jpeg, || panic!("as decoders may do"));
    assert_unacceptable::<()>(outcome, "Image cannot be decoded");
}

#[tokio::test]
async fn an_image_waits_for_the_memory_it_takes() {
    let cleaner = Arc::new(cleaner(ImageLimits::default()));
    let by = requester(1, "127.0.0.1");
    let upload = Bytes::from(samples::png(&samples::picture()));
    let needed = cleaner.memory(ImageFormat::Png, &upload).unwrap();
    assert!(needed >= 2 << 20, "{needed}");
    let busy = occupy(&cleaner, MEMORY - needed + 1024).await;
    let mut work = cleaner.clean(upload.clone(), &by);
    assert!(matches!(poll!(&mut work), Poll::Pending));
    assert_eq!(cleaner.figures().running, 2);
    drop(busy);
    work.await.unwrap();
    let _busy = occupy(&cleaner, MEMORY - needed.next_multiple_of(1024)).await;
    cleaner.clean(upload, &by).await.unwrap();
}

#[tokio::test]
async fn an_image_that_needs_more_than_the_available_memory_is_rejected() {
    let few = Cleaner::new(ImageLimits::default(), NonZeroUsize::MIN, 1 << 20);
    let refused = few.clean(samples::jpeg(&samples::picture()).into(), &requester(1, "127.0.0.1")).await;
    assert_too_large(refused, "Image takes 3 MiB of memory to be checked, and 1 MiB at most are given to one");
}

#[test]
fn the_memory_of_an_image_is_estimated_from_its_header() {
    let megabytes = |format, file: &[u8]| {
        memory::estimate(format, file, &ImageLimits::default()).unwrap().saturating_sub(2 << 20) / 1_000_000
    };
    let mut jpeg = samples::jpeg(&samples::picture());
    let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0x13, 0x88, 0x1f, 0x40]);
    // This includes a thumbnail of 400 x 250 pixels with 16 bytes each.
    assert_eq!(megabytes(ImageFormat::Jpeg, &jpeg), 121);
    let turned = samples::with_segment(&jpeg, 0xe1, &[b"Exif\0\0".as_slice(), &exif(6)].concat());
    assert_eq!(megabytes(ImageFormat::Jpeg, &turned), 161);
    jpeg[frame + 1] = 0xc2;
    assert!(megabytes(ImageFormat::Jpeg, &jpeg) >= 241);
    let header = samples::png_chunk(b"IHDR", &[0, 0, 0x1f, 0x40, 0, 0, 0x13, 0x88, 16, 6, 0, 0, 0]);
    let png =
        |chunk: &[u8]| [b"\x89PNG\r\n\x1a\n".as_slice(), &header, chunk, &samples::png_chunk(b"IEND", &[])].concat();
    assert_eq!(megabytes(ImageFormat::Png, &png(&[])), 1);
    assert_eq!(megabytes(ImageFormat::Png, &png(&samples::png_chunk(b"eXIf", &exif(3)))), 361);
    let lossy = [b"\0\0\0\x9d\x01\x2a".as_slice(), &8000u16.to_le_bytes(), &5000u16.to_le_bytes()].concat();
    let parts = [samples::webp_header(0, 8000, 5000), samples::webp_chunk(b"VP8 ", &lossy)];
    assert_eq!(megabytes(ImageFormat::WebP, &samples::webp_file(&parts)), 181);
    let turned = [parts.as_slice(), &[samples::webp_chunk(b"EXIF", &exif(6))]].concat();
    assert_eq!(megabytes(ImageFormat::WebP, &samples::webp_file(&turned)), 481);
}
