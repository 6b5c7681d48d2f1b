//! WebP: a RIFF container of chunks. A file with more than one still picture in it starts with the chunk VP8X.
//!
//! `img-parts` 0.4 was tried: it refuses a file without the last byte of padding, which some writers leave out, and
//! does not look into the frames of an animation. One that does would let the walk over the chunks go.

use std::io::Cursor;

use agora_domain::media::ImageProblem;
use image::codecs::webp::{WebPDecoder, WebPEncoder};
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageEncoder};

use super::orientation::{orientation_of, profile_fits};
use super::pixels::Pixels;
use super::shrink::{Shrinker, Shrunk, shrink};
use super::{ImageLimits, Result, icc, push_chunk, take, take_array, undecodable, vp8l};

/// The most bytes that the prefix codes of a lossless picture may take in memory. Those of a screenshot of 35 megapixels
/// take 1.4 MiB.
const MAX_CODES: u64 = 8 * 1024 * 1024;

// The flags of VP8X.
const ANIMATION: u8 = 0x02;
const ALPHA: u8 = 0x10;
const PROFILE: u8 = 0x20;

#[derive(Clone, Copy)]
struct Chunk<'a> {
    kind: [u8; 4],
    data: &'a [u8],
}

struct Stripped {
    bytes: Vec<u8>,
    content: Content,
}

enum Content {
    /// A still picture that was not decoded yet, and what to do to it.
    Still(Orientation),
    /// An animation, which stays as it is and was decoded already.
    Animated(Shrunk),
}

pub(super) fn clean(upload: &[u8], limits: &ImageLimits) -> Result<(Vec<u8>, Shrunk)> {
    let Stripped { bytes, content } = strip(upload, limits)?;
    let orientation = match content {
        Content::Still(orientation) => orientation,
        Content::Animated(shrunk) => return Ok((bytes, shrunk)),
    };
    let mut decoder = decoder(&bytes)?;
    let profile = decoder.icc_profile().map_err(|_| undecodable())?;
    let mut picture = DynamicImage::from_decoder(decoder).map_err(|_| undecodable())?;
    let shrunk = shrink(&picture, orientation)?;
    if orientation == Orientation::NoTransforms {
        return Ok((bytes, shrunk));
    }
    picture.apply_orientation(orientation);
    Ok((encode(&picture, profile)?, shrunk))
}

/// Returns what the header says of the pixels in memory. A lossy picture is decoded to planes and transparency of its
/// own before it is put together, a lossless one to four bytes for each pixel and then to three; a frame of an
/// animation is as large as the canvas at most.
pub(super) fn pixels(upload: &[u8], limits: &ImageLimits) -> Result<(Pixels, Orientation)> {
    let chunks = chunks(body(upload)?)?;
    let first = *chunks.first().ok_or_else(undecodable)?;
    if first.kind != *b"VP8X" {
        let (width, height) = picture_size(first)?;
        limits.check_pixels(width, height)?;
        return Ok((by_coding((width, height), first.kind == *b"VP8L", false), Orientation::NoTransforms));
    }
    let [flags, _, _, _, size @ ..] = take_array::<10>(&mut &*first.data)?;
    let size = size_of(size);
    limits.check_pixels(size.0, size.1)?;
    if flags & ANIMATION != 0 {
        return Ok((by_coding(size, false, true), Orientation::NoTransforms));
    }
    let is_lossless = picture_of(&chunks)?.kind == *b"VP8L";
    let is_transparent = find(&chunks, b"ALPH").is_some() || flags & ALPHA != 0;
    Ok((by_coding(size, is_lossless, is_transparent), orientation(&chunks)))
}

fn by_coding(size: (u32, u32), lossless: bool, transparent: bool) -> Pixels {
    let pixels = u64::from(size.0) * u64::from(size.1);
    // In halves of a byte for each pixel. A picture that is turned is written without loss: there are the picture, the
    // encoder's file and the one with its header, of four bytes for each pixel each when it is noise.
    let turning = 24;
    let decoding = match (lossless, transparent) {
        (true, _) => 14,
        (false, false) => 9,
        (false, true) => 21,
    };
    let codes = if lossless || transparent { MAX_CODES } else { 0 };
    Pixels { size, decoding: pixels * decoding / 2 + codes, turning: pixels * turning / 2 }
}

fn decoder(file: &[u8]) -> Result<WebPDecoder<Cursor<&[u8]>>> {
    WebPDecoder::new(Cursor::new(file)).map_err(|_| undecodable())
}

fn encode(picture: &DynamicImage, profile: Option<Vec<u8>>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = WebPEncoder::new_lossless(&mut bytes);
    if let Some(profile) = profile.filter(|profile| profile_fits(profile, picture)) {
        encoder.set_icc_profile(profile).map_err(|_| undecodable())?;
    }
    picture.write_with_encoder(encoder).map_err(|_| undecodable())?;
    Ok(bytes)
}

/// Returns the image with only the chunks that are needed to render it.
fn strip(upload: &[u8], limits: &ImageLimits) -> Result<Stripped> {
    let chunks = chunks(body(upload)?)?;
    let first = *chunks.first().ok_or_else(undecodable)?;
    if first.kind != *b"VP8X" {
        let (width, height) = picture_size(first)?;
        limits.check_pixels(width, height)?;
        check_codes(&[first], (width, height))?;
        return Ok(Stripped { bytes: file([first]), content: Content::Still(Orientation::NoTransforms) });
    }

    let [flags, _, _, _, size @ ..] = take_array::<10>(&mut &*first.data)?;
    let canvas = size_of(size);
    limits.check_pixels(canvas.0, canvas.1)?;
    let profile = find(&chunks, b"ICCP").filter(|profile| icc::is_valid(profile.data));
    let header = header(flags & (ANIMATION | ALPHA) | profile.map_or(0, |_| PROFILE), size);
    let before = [Chunk { kind: *b"VP8X", data: &header }].into_iter().chain(profile);
    if flags & ANIMATION == 0 {
        let bytes = file(before.chain(picture(&chunks, canvas)?));
        return Ok(Stripped { bytes, content: Content::Still(orientation(&chunks)) });
    }
    let control = find(&chunks, b"ANIM").ok_or_else(undecodable)?;
    let control = Chunk { data: control.data.get(..6).ok_or_else(undecodable)?, ..control };
    let (frames, shrunk) = clean_frames(&frames(&chunks, canvas, limits)?, canvas)?;
    let frames = frames.iter().map(|data| Chunk { kind: *b"ANMF", data });
    Ok(Stripped { bytes: file(before.chain([control]).chain(frames)), content: Content::Animated(shrunk) })
}

/// Returns what the image consists of, as long as its header says; what comes after that is no part of it.
fn body(upload: &[u8]) -> Result<&[u8]> {
    let mut rest = upload;
    take(&mut rest, 4)?;
    let size = u32::from_le_bytes(take_array(&mut rest)?) as usize;
    let mut body = take(&mut rest, size)?;
    take(&mut body, 4)?;
    Ok(body)
}

fn chunks(mut body: &[u8]) -> Result<Vec<Chunk<'_>>> {
    let mut chunks = Vec::new();
    while !body.is_empty() {
        let kind = take_array(&mut body)?;
        let size = u32::from_le_bytes(take_array(&mut body)?) as usize;
        let data = take(&mut body, size)?;
        push_chunk(&mut chunks, Chunk { kind, data })?;
        // The padding to an even length; some writers leave it out at the end.
        let padding = (size % 2).min(body.len());
        take(&mut body, padding)?;
    }
    Ok(chunks)
}

fn find<'a>(chunks: &[Chunk<'a>], kind: &[u8; 4]) -> Option<Chunk<'a>> {
    chunks.iter().copied().find(|chunk| chunk.kind == *kind)
}

/// Returns the picture that is decoded, of several the first.
fn picture_of<'a>(chunks: &[Chunk<'a>]) -> Result<Chunk<'a>> {
    let is_picture = |chunk: &&Chunk<'_>| matches!(&chunk.kind, b"VP8 " | b"VP8L");
    chunks.iter().find(is_picture).copied().ok_or_else(undecodable)
}

fn orientation(chunks: &[Chunk<'_>]) -> Orientation {
    find(chunks, b"EXIF").map_or(Orientation::NoTransforms, |exif| orientation_of(exif.data))
}

/// Returns a file of these chunks.
fn file<'a>(chunks: impl IntoIterator<Item = Chunk<'a>>) -> Vec<u8> {
    let mut body = b"WEBP".to_vec();
    chunks.into_iter().for_each(|chunk| push(&mut body, chunk));
    let mut file = Vec::with_capacity(body.len() + 8);
    push(&mut file, Chunk { kind: *b"RIFF", data: &body });
    file
}

fn push(out: &mut Vec<u8>, chunk: Chunk<'_>) {
    // Hardly longer than the file it comes from, whose length was written in 32 bits.
    let size = chunk.data.len() as u32;
    out.extend_from_slice(&chunk.kind);
    out.extend_from_slice(&size.to_le_bytes());
    out.extend_from_slice(chunk.data);
    out.extend(std::iter::repeat_n(0, chunk.data.len() % 2));
}

/// Returns the data of the chunk VP8X.
fn header(flags: u8, [w0, w1, w2, h0, h1, h2]: [u8; 6]) -> [u8; 10] {
    [flags, 0, 0, 0, w0, w1, w2, h0, h1, h2]
}

/// Returns the chunks of a picture: its transparency, unless that is in the picture itself as in a lossless one, and
/// the picture. Its size must be the one announced, which was checked.
fn picture<'a>(chunks: &[Chunk<'a>], size: (u32, u32)) -> Result<Vec<Chunk<'a>>> {
    let picture = picture_of(chunks)?;
    if picture_size(picture)? != size {
        return Err(undecodable());
    }
    let alpha = find(chunks, b"ALPH").filter(|_| picture.kind == *b"VP8 ");
    let parts: Vec<Chunk<'_>> = alpha.into_iter().chain([picture]).collect();
    check_codes(&parts, size)?;
    Ok(parts)
}

/// Checks that the prefix codes of a picture, and of transparency that is compressed like one, are not too large.
fn check_codes(picture: &[Chunk<'_>], size: (u32, u32)) -> Result<()> {
    for chunk in picture {
        let stream = match (&chunk.kind, chunk.data) {
            (b"VP8L", data) => data.get(5..).unwrap_or_default(),
            (b"ALPH", [coding, data @ ..]) if coding & 3 == 1 => data,
            _ => continue,
        };
        if vp8l::code_bytes(stream, size, MAX_CODES).ok_or_else(undecodable)? > MAX_CODES {
            let limit = MAX_CODES / (1024 * 1024);
            return Err(ImageProblem::TooLarge(format!(
                "WebP image must take at most {limit} MiB for its prefix codes"
            )));
        }
    }
    Ok(())
}

/// A frame of an animation.
struct Frame<'a> {
    /// Its place on the canvas, how long it is shown, and what becomes of it.
    head: [u8; 16],
    data: &'a [u8],
}

impl Frame<'_> {
    /// Width and height, as the file has them.
    fn size(&self) -> [u8; 6] {
        let [_, _, _, _, _, _, size @ .., _, _, _, _] = self.head;
        size
    }

    /// Left and top.
    fn place(&self) -> (u32, u32) {
        let [x0, x1, x2, y0, y1, y2, ..] = self.head;
        (u32::from_le_bytes([x0, x1, x2, 0]) * 2, u32::from_le_bytes([y0, y1, y2, 0]) * 2)
    }
}

/// Returns the frames of an animation, of which none has been decoded.
fn frames<'a>(parts: &[Chunk<'a>], canvas: (u32, u32), limits: &ImageLimits) -> Result<Vec<Frame<'a>>> {
    let mut frames = Vec::new();
    let mut total = 0u64;
    for chunk in parts.iter().filter(|chunk| chunk.kind == *b"ANMF") {
        let mut data = chunk.data;
        let head = take_array(&mut data)?;
        let frame = Frame { head, data };
        let (left, top) = frame.place();
        let (width, height) = size_of(frame.size());
        if left + width > canvas.0 || top + height > canvas.1 {
            return Err(undecodable());
        }
        total = total.saturating_add(limits.check_pixels(width, height)?);
        limits.check_animation(total)?;
        frames.push(frame);
    }
    if frames.is_empty() { Err(undecodable()) } else { Ok(frames) }
}

/// Returns what the frames of an animation consist of, and the thumbnail of the first one, where it is on the canvas. Each
/// is decoded as a picture of its own, which takes less time and memory than to composite the animation.
fn clean_frames(frames: &[Frame<'_>], canvas: (u32, u32)) -> Result<(Vec<Vec<u8>>, Shrunk)> {
    let mut shrinker = Shrinker::new(canvas);
    let mut cleaned = Vec::new();
    for frame in frames {
        let picture = picture(&chunks(frame.data)?, size_of(frame.size()))?;
        let opaque = picture.iter().all(|chunk| chunk.kind == *b"VP8 ");
        let header = header(if opaque { 0 } else { ALPHA }, frame.size());
        let still = file([Chunk { kind: *b"VP8X", data: &header }].into_iter().chain(picture.iter().copied()));
        let pixels = DynamicImage::from_decoder(decoder(&still)?).map_err(|_| undecodable())?;
        if cleaned.is_empty() {
            shrinker.add_picture(frame.place(), &pixels);
        }

        let mut kept = frame.head.to_vec();
        picture.into_iter().for_each(|chunk| push(&mut kept, chunk));
        cleaned.push(kept);
    }
    Ok((cleaned, shrinker.finish(Orientation::NoTransforms)?))
}

/// Width and height as VP8X and ANMF write them: 24 bits each, less one.
fn size_of([w0, w1, w2, h0, h1, h2]: [u8; 6]) -> (u32, u32) {
    (u32::from_le_bytes([w0, w1, w2, 0]) + 1, u32::from_le_bytes([h0, h1, h2, 0]) + 1)
}

/// Width and height as the picture itself has them.
fn picture_size(picture: Chunk<'_>) -> Result<(u32, u32)> {
    match (&picture.kind, picture.data) {
        (b"VP8 ", [_, _, _, 0x9d, 0x01, 0x2a, w0, w1, h0, h1, ..]) => {
            let side = |low: u8, high: u8| u32::from(u16::from_le_bytes([low, high]) & 0x3fff);
            Ok((side(*w0, *w1), side(*h0, *h1)))
        }
        (b"VP8L", [0x2f, b0, b1, b2, b3, ..]) => {
            let bits = u32::from_le_bytes([*b0, *b1, *b2, *b3]);
            Ok(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        _ => Err(undecodable()),
    }
}
