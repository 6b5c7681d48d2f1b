//! WebP: a RIFF container of chunks. A file with more than a single still picture starts with a VP8X chunk.
//!
//! The crate `img-parts` 0.4 was tried and is not suitable: it rejects a file without the last byte of padding, which some
//! writers leave out, and does not parse the frames of an animation. A crate that does could replace the code below that reads
//! chunks.

use std::io::Cursor;

use agora_domain::media::ImageProblem;
use image::codecs::webp::{WebPDecoder, WebPEncoder};
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageEncoder};

use super::downscale::{Downscaler, ThumbnailAndPreview, downscale};
use super::orientation::{orientation_of, profile_fits};
use super::pixels::PixelMemory;
use super::{ImageLimits, Result, icc, push_chunk, take, take_array, undecodable, vp8l};

/// The most bytes of memory that the prefix codes of a lossless picture may take. Those of a screenshot with 35 megapixels take
/// 1.4 MiB.
const MAX_CODE_MEMORY: u64 = 8 * 1024 * 1024;

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
    /// A still picture, not decoded yet, and the orientation to apply.
    Still(Orientation),
    /// An animation, which is decoded already. Its orientation is not applied.
    Animated(ThumbnailAndPreview),
}

pub(super) fn clean(upload: &[u8], limits: &ImageLimits) -> Result<(Vec<u8>, ThumbnailAndPreview)> {
    let Stripped { bytes, content } = strip(upload, limits)?;
    let orientation = match content {
        Content::Still(orientation) => orientation,
        Content::Animated(thumbnail_and_preview) => return Ok((bytes, thumbnail_and_preview)),
    };
    let mut decoder = decoder(&bytes)?;
    let profile = decoder.icc_profile().map_err(|_| undecodable())?;
    let mut picture = DynamicImage::from_decoder(decoder).map_err(|_| undecodable())?;
    let thumbnail_and_preview = downscale(&picture, orientation)?;
    if orientation == Orientation::NoTransforms {
        return Ok((bytes, thumbnail_and_preview));
    }
    picture.apply_orientation(orientation);
    Ok((encode(&picture, profile)?, thumbnail_and_preview))
}

/// Estimates the memory of the pixels from the header.
///
/// A lossy picture is decoded to separate planes and transparency before these are combined, a lossless one to four bytes per
/// pixel and then to three. A frame of an animation is at most as large as the canvas.
pub(super) fn pixel_memory(upload: &[u8], limits: &ImageLimits) -> Result<(PixelMemory, Orientation)> {
    let chunks = chunks(body(upload)?)?;
    let first = *chunks.first().ok_or_else(undecodable)?;
    if first.kind != *b"VP8X" {
        let (width, height) = picture_size(first)?;
        limits.check_pixels(width, height)?;
        return Ok((memory_by_coding((width, height), first.kind == *b"VP8L", false), Orientation::NoTransforms));
    }
    let [flags, _, _, _, size @ ..] = take_array::<10>(&mut &*first.data)?;
    let size = size_of(size);
    limits.check_pixels(size.0, size.1)?;
    if flags & ANIMATION != 0 {
        return Ok((memory_by_coding(size, false, true), Orientation::NoTransforms));
    }
    let is_lossless = picture_of(&chunks)?.kind == *b"VP8L";
    let is_transparent = find(&chunks, b"ALPH").is_some() || flags & ALPHA != 0;
    Ok((memory_by_coding(size, is_lossless, is_transparent), orientation(&chunks)))
}

fn memory_by_coding(size: (u32, u32), lossless: bool, transparent: bool) -> PixelMemory {
    let pixels = u64::from(size.0) * u64::from(size.1);
    // In half bytes per pixel. A reoriented picture is encoded losslessly: there are the picture, the file of the encoder and
    // the one with the header, each of which has four bytes per pixel if the picture is noise.
    let reorienting = 24;
    let decoding = match (lossless, transparent) {
        (true, _) => 14,
        (false, false) => 9,
        (false, true) => 21,
    };
    let codes = if lossless || transparent { MAX_CODE_MEMORY } else { 0 };
    PixelMemory { size, decoding: pixels * decoding / 2 + codes, reorienting: pixels * reorienting / 2 }
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
    let (frames, thumbnail_and_preview) = clean_frames(&frames(&chunks, canvas, limits)?, canvas)?;
    let frames = frames.iter().map(|data| Chunk { kind: *b"ANMF", data });
    Ok(Stripped {
        bytes: file(before.chain([control]).chain(frames)),
        content: Content::Animated(thumbnail_and_preview),
    })
}

/// Returns the body of the image, whose length is in its header. Data after that is not part of the image.
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

/// Returns the chunk of the picture that is decoded, the first if there are several.
fn picture_of<'a>(chunks: &[Chunk<'a>]) -> Result<Chunk<'a>> {
    let is_picture = |chunk: &&Chunk<'_>| matches!(&chunk.kind, b"VP8 " | b"VP8L");
    chunks.iter().find(is_picture).copied().ok_or_else(undecodable)
}

fn orientation(chunks: &[Chunk<'_>]) -> Orientation {
    find(chunks, b"EXIF").map_or(Orientation::NoTransforms, |exif| orientation_of(exif.data))
}

/// Creates a file with these chunks.
fn file<'a>(chunks: impl IntoIterator<Item = Chunk<'a>>) -> Vec<u8> {
    let mut body = b"WEBP".to_vec();
    chunks.into_iter().for_each(|chunk| push(&mut body, chunk));
    let mut file = Vec::with_capacity(body.len() + 8);
    push(&mut file, Chunk { kind: *b"RIFF", data: &body });
    file
}

fn push(out: &mut Vec<u8>, chunk: Chunk<'_>) {
    // No truncation: the data is hardly longer than the file it is from, which has its length in 32 bits.
    let size = chunk.data.len() as u32;
    out.extend_from_slice(&chunk.kind);
    out.extend_from_slice(&size.to_le_bytes());
    out.extend_from_slice(chunk.data);
    out.extend(std::iter::repeat_n(0, chunk.data.len() % 2));
}

/// Returns the data of a VP8X chunk.
fn header(flags: u8, [w0, w1, w2, h0, h1, h2]: [u8; 6]) -> [u8; 10] {
    [flags, 0, 0, 0, w0, w1, w2, h0, h1, h2]
}

/// Returns the chunks of a picture: its transparency, unless the picture is lossless and includes it, and the picture itself. The
/// picture must have the announced `size`, which was checked.
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

/// Checks that the prefix codes of a picture, and of transparency that is compressed like a lossless one, do not take too much
/// memory.
fn check_codes(picture: &[Chunk<'_>], size: (u32, u32)) -> Result<()> {
    for chunk in picture {
        let stream = match (&chunk.kind, chunk.data) {
            (b"VP8L", data) => data.get(5..).unwrap_or_default(),
            (b"ALPH", [coding, data @ ..]) if coding & 3 == 1 => data,
            _ => continue,
        };
        if vp8l::code_bytes(stream, size, MAX_CODE_MEMORY).ok_or_else(undecodable)? > MAX_CODE_MEMORY {
            let limit = MAX_CODE_MEMORY / (1024 * 1024);
            return Err(ImageProblem::TooLarge(format!(
                "WebP image must take at most {limit} MiB for its prefix codes"
            )));
        }
    }
    Ok(())
}

/// A frame of an animation.
struct Frame<'a> {
    /// Its position on the canvas, its duration, and its disposal method.
    head: [u8; 16],
    data: &'a [u8],
}

impl Frame<'_> {
    /// Returns width and height, as encoded in the file.
    fn size(&self) -> [u8; 6] {
        let [_, _, _, _, _, _, size @ .., _, _, _, _] = self.head;
        size
    }

    /// Returns the left and top position on the canvas.
    fn position(&self) -> (u32, u32) {
        let [x0, x1, x2, y0, y1, y2, ..] = self.head;
        (u32::from_le_bytes([x0, x1, x2, 0]) * 2, u32::from_le_bytes([y0, y1, y2, 0]) * 2)
    }
}

/// Returns the frames of an animation without decoding them.
fn frames<'a>(parts: &[Chunk<'a>], canvas: (u32, u32), limits: &ImageLimits) -> Result<Vec<Frame<'a>>> {
    let mut frames = Vec::new();
    let mut total = 0u64;
    for chunk in parts.iter().filter(|chunk| chunk.kind == *b"ANMF") {
        let mut data = chunk.data;
        let head = take_array(&mut data)?;
        let frame = Frame { head, data };
        let (left, top) = frame.position();
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

/// Returns the cleaned data of the frames of an animation, and the thumbnail made from the first one at its position on the
/// canvas. Each frame is decoded as a separate picture, which takes less time and memory than compositing the animation.
fn clean_frames(frames: &[Frame<'_>], canvas: (u32, u32)) -> Result<(Vec<Vec<u8>>, ThumbnailAndPreview)> {
    let mut downscaler = Downscaler::new(canvas);
    let mut cleaned = Vec::new();
    for frame in frames {
        let picture = picture(&chunks(frame.data)?, size_of(frame.size()))?;
        let opaque = picture.iter().all(|chunk| chunk.kind == *b"VP8 ");
        let header = header(if opaque { 0 } else { ALPHA }, frame.size());
        let still = file([Chunk { kind: *b"VP8X", data: &header }].into_iter().chain(picture.iter().copied()));
        let pixels = DynamicImage::from_decoder(decoder(&still)?).map_err(|_| undecodable())?;
        if cleaned.is_empty() {
            downscaler.add_picture(frame.position(), &pixels);
        }

        let mut kept = frame.head.to_vec();
        picture.into_iter().for_each(|chunk| push(&mut kept, chunk));
        cleaned.push(kept);
    }
    Ok((cleaned, downscaler.finish(Orientation::NoTransforms)?))
}

/// Decodes the width and height of a VP8X or ANMF chunk: 24 bits each, minus one.
fn size_of([w0, w1, w2, h0, h1, h2]: [u8; 6]) -> (u32, u32) {
    (u32::from_le_bytes([w0, w1, w2, 0]) + 1, u32::from_le_bytes([h0, h1, h2, 0]) + 1)
}

/// Returns the width and height in the header of the picture itself.
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
