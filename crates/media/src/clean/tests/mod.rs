//! What every format has in common. The files beside this one have the rest, one per format.

mod animation;
mod gif;
mod hostile;
mod icc;
mod jpeg;
mod png;
mod samples;
mod webp;

use std::task::Poll;

use agora_domain::id::UserId;
use agora_domain::limits::ClientAddress;
use futures_util::poll;
use image::RgbaImage;
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

async fn clean_within(limits: ImageLimits, upload: &[u8]) -> Result<Vec<u8>> {
    let cleaned = cleaner(limits).clean(Bytes::copy_from_slice(upload), &requester(1, "127.0.0.1")).await?;
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
        let cleaned =
            cleaner(ImageLimits::default()).clean(file.clone().into(), &requester(1, "127.0.0.1")).await.unwrap();
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
async fn a_full_queue_is_refused_and_moves_up_when_images_are_done() {
    let cleaner = cleaner(ImageLimits::default());
    let by = requester(1, "127.0.0.1");
    let upload = Bytes::from(samples::png(&samples::picture()));
    let places = u32::try_from(2 + Cleaner::WAITING).unwrap();
    let waiting = Arc::clone(&cleaner.queue).acquire_many_owned(places).await.unwrap();
    let refused = cleaner.clean(upload.clone(), &by).await;
    assert!(matches!(refused, Err(ImageProblem::Failed(Error::Unavailable(_)))), "{refused:?}");
    drop(waiting);
    cleaner.clean(upload, &by).await.unwrap();
}

#[tokio::test]
async fn an_image_waits_for_a_slot_and_gives_it_back() {
    let cleaner = cleaner(ImageLimits::default());
    let by = requester(1, "127.0.0.1");
    let upload = Bytes::from(samples::png(&samples::picture()));
    let busy = Arc::clone(&cleaner.slots).acquire_many_owned(2).await.unwrap();
    let mut work = cleaner.clean(upload, &by);
    assert!(matches!(poll!(&mut work), Poll::Pending));
    assert_eq!(cleaner.queue.available_permits(), 2 + Cleaner::WAITING - 1);
    drop(busy);
    assert_eq!(cleaner.slots.available_permits(), 1, "it was waiting, and has its turn");
    work.await.unwrap();
    assert_eq!(cleaner.slots.available_permits(), 2);
    assert_eq!(cleaner.queue.available_permits(), 2 + Cleaner::WAITING);
}

/// How many of these images wait for their turn, and how many are refused.
async fn wait_and_refused(cleaner: &Cleaner, requesters: &[Requester]) -> (usize, u64) {
    let upload = Bytes::from(samples::png(&samples::picture()));
    let busy = Arc::clone(&cleaner.slots).acquire_many_owned(2).await.unwrap();
    let refused = cleaner.figures().refused;
    let mut waiting = Vec::new();
    for requester in requesters {
        let mut work = cleaner.clean(upload.clone(), requester);
        match poll!(&mut work) {
            Poll::Pending => waiting.push(work),
            Poll::Ready(Err(ImageProblem::Failed(Error::Unavailable(_)))) => {}
            Poll::Ready(other) => panic!("{other:?}"),
        }
    }
    drop(busy);
    let count = waiting.len();
    for done in futures_util::future::join_all(waiting).await {
        done.unwrap();
    }
    (count, cleaner.figures().refused - refused)
}

#[tokio::test]
async fn an_account_has_four_places_in_the_queue_and_gives_them_back() {
    let cleaner = cleaner(ImageLimits::default());
    let addresses: Vec<_> = (1..=6).map(|n| requester(1, &format!("192.0.2.{n}"))).collect();
    let all = [addresses, vec![requester(2, "192.0.2.1")]].concat();
    for _ in 0..3 {
        assert_eq!(wait_and_refused(&cleaner, &all).await, (4 + 1, 2));
    }
}

#[tokio::test]
async fn an_address_has_a_quarter_of_the_queue_and_this_machine_all_of_it() {
    let cleaner = cleaner(ImageLimits::default());
    let accounts = |address: &'static str| (0..70).map(move |n| requester(n, address)).collect::<Vec<_>>();
    assert_eq!(wait_and_refused(&cleaner, &accounts("2001:db8::1")).await, (66 / 4, 70 - 66 / 4));
    assert_eq!(wait_and_refused(&cleaner, &accounts("127.0.0.1")).await, (66, 70 - 66));
}

#[tokio::test]
async fn what_is_worked_on_counts_until_it_is_done_whether_or_not_it_is_waited_for() {
    let shares = QueueShares::new(1, 1);
    let by = requester(1, "192.0.2.1");
    let held = shares.try_acquire(&by).unwrap();
    let (done, wait_until_done) = std::sync::mpsc::channel::<()>();
    {
        let mut work = Box::pin(run_on_thread(ImageFormat::Png, move || {
            let _held = held;
            wait_until_done.recv().unwrap();
        }));
        assert!(matches!(poll!(&mut work), Poll::Pending));
    }
    assert!(shares.try_acquire(&by).is_none(), "the request is gone, the work is not");
    done.send(()).unwrap();
    while shares.try_acquire(&by).is_none() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_decoder_that_panics_has_met_an_image_that_cannot_be_decoded() {
    let outcome = run_on_thread(ImageFormat::Jpeg, || panic!("as decoders may do")).await;
    assert_unacceptable::<()>(outcome, "Image cannot be decoded");
}

#[tokio::test]
async fn an_image_waits_for_memory_and_gives_it_back() {
    let cleaner = cleaner(ImageLimits::default());
    let by = requester(1, "127.0.0.1");
    let all = cleaner.memory.available_permits();
    let upload = Bytes::from(samples::png(&samples::picture()));
    let needed = cleaner.kibibytes(ImageFormat::Png, &upload).unwrap() as usize;
    assert!(needed >= 2048, "{needed}");
    let busy = Arc::clone(&cleaner.memory).acquire_many_owned(u32::try_from(all).unwrap()).await.unwrap();
    let mut work = cleaner.clean(upload, &by);
    assert!(matches!(poll!(&mut work), Poll::Pending));
    drop(busy);
    assert_eq!(cleaner.memory.available_permits(), all - needed, "it was waiting, and has what it needs");
    work.await.unwrap();
    assert_eq!(cleaner.memory.available_permits(), all);
}

#[tokio::test]
async fn an_image_that_takes_more_memory_than_there_is_is_refused() {
    let few = Cleaner::new(ImageLimits::default(), NonZeroUsize::MIN, 1 << 20);
    let refused = few.clean(samples::jpeg(&samples::picture()).into(), &requester(1, "127.0.0.1")).await;
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
    assert_eq!(megabytes(ImageFormat::Jpeg, &turned), 160);
    jpeg[frame + 1] = 0xc2;
    assert!(megabytes(ImageFormat::Jpeg, &jpeg) >= 240);
    let header = samples::png_chunk(b"IHDR", &[0, 0, 0x1f, 0x40, 0, 0, 0x13, 0x88, 16, 6, 0, 0, 0]);
    let png =
        |chunk: &[u8]| [b"\x89PNG\r\n\x1a\n".as_slice(), &header, chunk, &samples::png_chunk(b"IEND", &[])].concat();
    assert_eq!(megabytes(ImageFormat::Png, &png(&[])), 0);
    assert_eq!(megabytes(ImageFormat::Png, &png(&samples::png_chunk(b"eXIf", &exif(3)))), 640);
    let lossy = [b"\0\0\0\x9d\x01\x2a".as_slice(), &8000u16.to_le_bytes(), &5000u16.to_le_bytes()].concat();
    let parts = [samples::webp_header(0, 8000, 5000), samples::webp_chunk(b"VP8 ", &lossy)];
    assert_eq!(megabytes(ImageFormat::WebP, &samples::webp_file(&parts)), 180);
    let turned = [parts.as_slice(), &[samples::webp_chunk(b"EXIF", &exif(6))]].concat();
    assert_eq!(megabytes(ImageFormat::WebP, &samples::webp_file(&turned)), 480);
}
