//! PNG: a list of chunks, from IHDR to IEND.
//!
//! `img-parts` 0.4 was tried: it refuses an image for a wrong checksum in a chunk that goes anyway, and to write 5 MiB of
//! empty chunks takes it 83 MiB. One that copies chunks as they are, checksums included, would let the walk over them go.

use std::io::{Cursor, Write as _};

use image::metadata::Orientation;

use super::orientation::{encode_upright, max_encoded_bytes, orientation_of, oriented_size, stored_position};
use super::pixels::Pixels;
use super::shrink::{Place, Shrinker, Shrunk};
use super::{ImageLimits, Result, buffer, icc, push_chunk, take, take_array, undecodable};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The length of the signature and the chunk IHDR.
const HEADER: usize = 33;

/// How the colours are meant. They also hold for an image that was encoded again.
const COLOUR: [&[u8; 4]; 5] = [b"cICP", b"iCCP", b"sRGB", b"gAMA", b"cHRM"];

/// The other chunks that are needed to render an image.
const PICTURE: [&[u8; 4]; 8] = [b"IHDR", b"PLTE", b"tRNS", b"sBIT", b"bKGD", b"pHYs", b"IDAT", b"IEND"];

/// And those of an animation.
const ANIMATION: [&[u8; 4]; 3] = [b"acTL", b"fcTL", b"fdAT"];

type Reader<'a> = png::Reader<Cursor<&'a [u8]>>;

struct Chunk<'a> {
    kind: [u8; 4],
    data: &'a [u8],
    /// With its length, kind and checksum.
    whole: &'a [u8],
}

impl Chunk<'_> {
    fn is_any(&self, kinds: &[&[u8; 4]]) -> bool {
        kinds.contains(&&self.kind)
    }
}

pub(super) fn clean(upload: &[u8], limits: &ImageLimits) -> Result<(Vec<u8>, Shrunk)> {
    let chunks = chunks(upload)?;
    let Some(Chunk { kind: [b'I', b'H', b'D', b'R'], data: [w3, w2, w1, w0, h3, h2, h1, h0, ..], .. }) = chunks.first()
    else {
        return Err(undecodable());
    };
    let width = u32::from_be_bytes([*w3, *w2, *w1, *w0]);
    let height = u32::from_be_bytes([*h3, *h2, *h1, *h0]);
    let canvas = limits.check_pixels(width, height)?;

    // The decoder takes for granted that there are up to 256 whole colours, and panics where there are not.
    let is_palette = |colours: &[u8]| (1..=256).contains(&colours.chunks(3).count()) && colours.len().is_multiple_of(3);
    if !chunks.iter().filter(|chunk| chunk.kind == *b"PLTE").all(|chunk| is_palette(chunk.data)) {
        return Err(undecodable());
    }

    let animated = check_animation(&chunks, canvas, limits)?;
    // There is one profile at most.
    let profile = chunks.iter().position(|chunk| chunk.kind == *b"iCCP");
    let profile = profile.filter(|at| chunks.get(*at).is_some_and(|chunk| is_profile(chunk.data)));
    let is_kept = |(at, chunk): &(usize, &Chunk<'_>)| match &chunk.kind {
        b"iCCP" => Some(*at) == profile,
        _ => chunk.is_any(&COLOUR) || chunk.is_any(&PICTURE) || animated && chunk.is_any(&ANIMATION),
    };
    let kept: Vec<&Chunk<'_>> = chunks.iter().enumerate().filter(is_kept).map(|(_, chunk)| chunk).collect();
    let mut bytes = buffer(upload.len());
    bytes.extend_from_slice(SIGNATURE);
    bytes.extend(kept.iter().flat_map(|chunk| chunk.whole));
    let shrinker = decode(&bytes, limits).map_err(|_| undecodable())?;

    // An animation stays as it is: cameras do not make any, and viewers do not turn them.
    let exif = chunks.iter().find(|chunk| chunk.kind == *b"eXIf" && !animated);
    let orientation = exif.map_or(Orientation::NoTransforms, |chunk| orientation_of(chunk.data));
    let shrunk = shrinker.finish(orientation)?;
    if orientation == Orientation::NoTransforms {
        return Ok((bytes, shrunk));
    }
    let most = max_encoded_bytes(canvas, upload.len());
    let mut turned = encode_upright("PNG", most, |file| encode_oriented(&bytes, orientation, limits, file))?;
    let colour = kept.iter().filter(|chunk| chunk.is_any(&COLOUR)).flat_map(|chunk| chunk.whole);
    turned.splice(HEADER..HEADER, colour.copied());
    Ok((turned, shrunk))
}

/// Returns what the header says of the pixels in memory. Only what is turned is decoded as a whole.
pub(super) fn pixels(upload: &[u8], limits: &ImageLimits) -> Result<(Pixels, Orientation)> {
    let [width, height] = [16, 20].map(|at| take_array(&mut upload.get(at..).unwrap_or_default()));
    let (width, height) = (u32::from_be_bytes(width?), u32::from_be_bytes(height?));
    let pixels = limits.check_pixels(width, height)?;
    let (depth, colour) = (upload.get(24).copied(), upload.get(25).copied());
    let (mut orientation, mut animated, mut transparent) = (Orientation::NoTransforms, false, false);
    let mut rest = upload.get(SIGNATURE.len()..).ok_or_else(undecodable)?;
    while !rest.is_empty() {
        let Chunk { kind, data, .. } = next_chunk(&mut rest)?;
        match &kind {
            b"acTL" => animated = true,
            b"tRNS" => transparent = true,
            b"eXIf" if orientation == Orientation::NoTransforms => orientation = orientation_of(data),
            b"IEND" => break,
            _ => {}
        }
    }
    let orientation = if animated { Orientation::NoTransforms } else { orientation };
    let channels = match colour {
        Some(0) => 1,
        Some(2 | 3) => 3,
        Some(4) => 2,
        _ => 4,
    };
    let channels = channels + u64::from(transparent);
    let picture = pixels * channels * if depth == Some(16) { 2 } else { 1 };
    let turning = picture.saturating_add(max_encoded_bytes(pixels, upload.len()));
    Ok((Pixels { size: (width, height), decoding: u64::from(width) * 16, turning }, orientation))
}

/// Returns whether the data of a chunk iCCP is a name, the one method of compression that there is, and a profile to be
/// kept.
fn is_profile(data: &[u8]) -> bool {
    let name = data.iter().take(80).position(|byte| *byte == 0).filter(|length| *length > 0);
    match name.and_then(|length| data.get(length + 1..)) {
        Some([0, compressed @ ..]) => icc::inflate(compressed).is_some_and(|profile| icc::is_valid(&profile)),
        _ => false,
    }
}

/// Returns the chunks up to IEND; what comes after it is no part of the image.
fn chunks(upload: &[u8]) -> Result<Vec<Chunk<'_>>> {
    let mut rest = upload.strip_prefix(SIGNATURE).ok_or_else(undecodable)?;
    let mut chunks = Vec::new();
    loop {
        let chunk = next_chunk(&mut rest)?;
        let is_last = chunk.kind == *b"IEND";
        push_chunk(&mut chunks, chunk)?;
        if is_last {
            return Ok(chunks);
        }
    }
}

/// Takes the next chunk off `rest`.
fn next_chunk<'a>(rest: &mut &'a [u8]) -> Result<Chunk<'a>> {
    let start = *rest;
    let length = u32::from_be_bytes(take_array(rest)?) as usize;
    let kind = take_array(rest)?;
    let data = take(rest, length)?;
    take(rest, 4)?;
    Ok(Chunk { kind, data, whole: &start[..length + 12] })
}

/// Returns whether the image is an animation, whose frames then are as many as announced and not too large, with the
/// picture that may stand before them.
fn check_animation(chunks: &[Chunk<'_>], canvas: u64, limits: &ImageLimits) -> Result<bool> {
    let Some(control) = chunks.iter().find(|chunk| chunk.kind == *b"acTL") else { return Ok(false) };
    let announced = u32::from_be_bytes(take_array(&mut &*control.data)?);
    let mut frames = 0;
    let mut pixels = 0u64;
    if chunks.iter().find(|chunk| chunk.is_any(&[b"fcTL", b"IDAT"])).is_some_and(|chunk| chunk.kind == *b"IDAT") {
        pixels = canvas;
    }
    for frame in chunks.iter().filter(|chunk| chunk.kind == *b"fcTL") {
        let mut data = frame.data;
        let [_sequence, width, height] = [0; 3].map(|_| take_array(&mut data).map(u32::from_be_bytes));
        pixels = pixels.saturating_add(limits.check_pixels(width?, height?)?);
        frames += 1;
    }
    limits.check_animation(pixels)?;
    if frames == 0 || frames != announced { Err(undecodable()) } else { Ok(true) }
}

/// Reads the header. Rows of numbers of colours are then read as colours, as for showing.
fn reader<'a>(
    bytes: &'a [u8],
    limits: &ImageLimits,
    transformations: png::Transformations,
) -> std::result::Result<Reader<'a>, png::DecodingError> {
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: decoder_bytes(limits) });
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(png::Transformations::EXPAND | transformations);
    decoder.read_info()
}

/// Decodes every row of every frame. It keeps no more than a row, and what the thumbnail is made of: the picture that is
/// shown where animations are not. That has the size of the image, whether it is the first frame or stands before it.
fn decode(bytes: &[u8], limits: &ImageLimits) -> std::result::Result<Shrinker, png::DecodingError> {
    // The thumbnail has eight bits a sample.
    let mut reader = reader(bytes, limits, png::Transformations::STRIP_16)?;
    let channels = reader.output_color_type().0.samples();
    let info = reader.info();
    let mut shrinker = Shrinker::new(info.size());
    let mut places = places(info.size(), info.interlaced);
    // A picture that stands before the first frame is not counted as one.
    let pictures = match info.animation_control() {
        Some(control) => control.num_frames.saturating_add(u32::from(info.frame_control().is_none())),
        None => 1,
    };
    let mut row = vec![0; reader.output_line_size(info.width).ok_or(png::DecodingError::LimitsExceeded)?];
    for picture in 0..pictures {
        if picture > 0 {
            reader.next_frame_info()?;
        }
        while reader.read_row(&mut row)?.is_some() {
            // There is none for the rows of further pictures.
            if let Some(place) = places.next() {
                shrinker.add_row(place, channels, &row);
            }
        }
    }
    reader.finish()?;
    Ok(shrinker)
}

/// The passes of an interlaced picture: where the first pixel of each is and how far the next one, across and down.
const PASSES: [[(u32, u32); 2]; 7] = [
    [(0, 8), (0, 8)],
    [(4, 8), (0, 8)],
    [(0, 4), (4, 8)],
    [(2, 4), (0, 4)],
    [(0, 2), (2, 4)],
    [(1, 2), (0, 2)],
    [(0, 1), (1, 2)],
];

/// Returns the places of a picture's rows in the order in which they are stored. A row of an interlaced one may be
/// followed by leftovers of a longer one, which then lie outside the image.
fn places((width, height): (u32, u32), interlaced: bool) -> impl Iterator<Item = Place> {
    let passes: &[_] = if interlaced { &PASSES } else { &[[(0, 1), (0, 1)]] };
    let passes = passes.iter().filter(move |[(x, _), _]| *x < width);
    passes.flat_map(move |&[(x, step), (top, down)]| {
        (top..height).step_by(down as usize).map(move |y| Place { x, y, step })
    })
}

/// Returns what a decoder may allocate: it adds up the rows of all frames, and a pixel has eight bytes at most.
fn decoder_bytes(limits: &ImageLimits) -> usize {
    let bytes = limits.max_animation_pixels().saturating_mul(8).saturating_add(limits.max_bytes);
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Decodes a still image and encodes it row by row with its orientation applied: its pixels are in memory once.
fn encode_oriented(
    bytes: &[u8],
    orientation: Orientation,
    limits: &ImageLimits,
    file: &mut Cursor<&mut [u8]>,
) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut reader = reader(bytes, limits, png::Transformations::IDENTITY)?;
    let mut stored = vec![0; reader.output_buffer_size().ok_or(png::DecodingError::LimitsExceeded)?];
    let stored_as = reader.next_frame(&mut stored)?;
    let (width, height) = oriented_size(orientation, (stored_as.width, stored_as.height));
    let mut encoder = png::Encoder::new(file, width, height);
    encoder.set_color(stored_as.color_type);
    encoder.set_depth(stored_as.bit_depth);
    // Others wait for it: more would take several times as long. `Compression::Fast` looks for no repetitions, of which pictures of few
    // colours are made.
    encoder.set_deflate_compression(png::DeflateCompression::Level(1));
    let mut encoder = encoder.write_header()?;
    let mut writer = encoder.stream_writer()?;
    // Rows and pixels are whole bytes: what has less is expanded.
    let pixel = stored_as.line_size / stored_as.width as usize;
    let mut row = Vec::with_capacity(width as usize * pixel);
    for y in 0..height {
        row.clear();
        for x in 0..width {
            let (x, y) = stored_position(orientation, (width, height), x, y);
            let at = y as usize * stored_as.line_size + x as usize * pixel;
            row.extend_from_slice(stored.get(at..at + pixel).unwrap_or_default());
        }
        writer.write_all(&row)?;
    }
    writer.finish()?;
    encoder.finish()?;
    Ok(())
}
