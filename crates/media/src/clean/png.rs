//! PNG: a list of chunks, from IHDR to IEND.
//!
//! The crate `img-parts` 0.4 was tried and is not suitable: it rejects an image for a wrong checksum in a chunk that is removed
//! anyway, and takes 83 MiB to write 5 MiB of empty chunks. A crate that copies chunks as they are, with their checksums, could
//! replace the code below that reads them.

use std::io::{Cursor, Write as _};

use image::metadata::Orientation;

use super::downscale::{Downscaler, RowPosition, ThumbnailAndPreview};
use super::orientation::{encode_upright, max_encoded_bytes, orientation_of, oriented_size, stored_position};
use super::pixels::PixelMemory;
use super::{ImageLimits, Result, icc, output_buffer, push_chunk, take, take_array, undecodable};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The length of the signature and the chunk IHDR.
const HEADER: usize = 33;

/// The chunks that define the colours. They also apply to an image that was encoded again.
const COLOUR_CHUNKS: [&[u8; 4]; 5] = [b"cICP", b"iCCP", b"sRGB", b"gAMA", b"cHRM"];

/// The other chunks that are needed to render an image.
const PICTURE_CHUNKS: [&[u8; 4]; 8] = [b"IHDR", b"PLTE", b"tRNS", b"sBIT", b"bKGD", b"pHYs", b"IDAT", b"IEND"];

/// The chunks of an animation.
const ANIMATION_CHUNKS: [&[u8; 4]; 3] = [b"acTL", b"fcTL", b"fdAT"];

type Reader<'a> = png::Reader<Cursor<&'a [u8]>>;

struct Chunk<'a> {
    kind: [u8; 4],
    data: &'a [u8],
    /// The data with length, kind and checksum.
    whole: &'a [u8],
}

impl Chunk<'_> {
    fn is_any(&self, kinds: &[&[u8; 4]]) -> bool {
        kinds.contains(&&self.kind)
    }
}

pub(super) fn clean(upload: &[u8], limits: &ImageLimits) -> Result<(Vec<u8>, ThumbnailAndPreview)> {
    let chunks = chunks(upload)?;
    let Some(Chunk { kind: [b'I', b'H', b'D', b'R'], data: [w3, w2, w1, w0, h3, h2, h1, h0, ..], .. }) = chunks.first()
    else {
        return Err(undecodable());
    };
    let width = u32::from_be_bytes([*w3, *w2, *w1, *w0]);
    let height = u32::from_be_bytes([*h3, *h2, *h1, *h0]);
    let canvas = limits.check_pixels(width, height)?;

    // The decoder panics unless the palette has 1 to 256 complete colours.
    let is_palette = |colours: &[u8]| (1..=256).contains(&colours.chunks(3).count()) && colours.len().is_multiple_of(3);
    if !chunks.iter().filter(|chunk| chunk.kind == *b"PLTE").all(|chunk| is_palette(chunk.data)) {
        return Err(undecodable());
    }

    let animated = check_animation(&chunks, canvas, limits)?;
    // At most one profile is kept.
    let profile = chunks.iter().position(|chunk| chunk.kind == *b"iCCP");
    let profile = profile.filter(|at| chunks.get(*at).is_some_and(|chunk| is_profile(chunk.data)));
    let is_kept = |(at, chunk): &(usize, &Chunk<'_>)| match &chunk.kind {
        b"iCCP" => Some(*at) == profile,
        _ => {
            chunk.is_any(&COLOUR_CHUNKS) || chunk.is_any(&PICTURE_CHUNKS) || animated && chunk.is_any(&ANIMATION_CHUNKS)
        }
    };
    let kept: Vec<&Chunk<'_>> = chunks.iter().enumerate().filter(is_kept).map(|(_, chunk)| chunk).collect();
    let mut bytes = output_buffer(upload.len());
    bytes.extend_from_slice(SIGNATURE);
    bytes.extend(kept.iter().flat_map(|chunk| chunk.whole));
    let downscaler = decode(&bytes, limits).map_err(|_| undecodable())?;

    // The orientation of an animation is not applied: cameras make no animations, and viewers do not rotate them.
    let exif = chunks.iter().find(|chunk| chunk.kind == *b"eXIf" && !animated);
    let orientation = exif.map_or(Orientation::NoTransforms, |chunk| orientation_of(chunk.data));
    let thumbnail_and_preview = downscaler.finish(orientation)?;
    if orientation == Orientation::NoTransforms {
        return Ok((bytes, thumbnail_and_preview));
    }
    let most = max_encoded_bytes(canvas, upload.len());
    let mut reoriented = encode_upright("PNG", most, |file| encode_oriented(&bytes, orientation, limits, file))?;
    let colour = kept.iter().filter(|chunk| chunk.is_any(&COLOUR_CHUNKS)).flat_map(|chunk| chunk.whole);
    reoriented.splice(HEADER..HEADER, colour.copied());
    Ok((reoriented, thumbnail_and_preview))
}

/// Estimates the memory of the pixels from the header. Only an image that has to be reoriented is decoded as a whole.
pub(super) fn pixel_memory(upload: &[u8], limits: &ImageLimits) -> Result<(PixelMemory, Orientation)> {
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
    let reorienting = picture.saturating_add(max_encoded_bytes(pixels, upload.len()));
    Ok((PixelMemory { size: (width, height), decoding: u64::from(width) * 16, reorienting }, orientation))
}

/// Returns whether the data of an iCCP chunk is a name, the only compression method that exists, and a profile that may be
/// kept.
fn is_profile(data: &[u8]) -> bool {
    let name = data.iter().take(80).position(|byte| *byte == 0).filter(|length| *length > 0);
    match name.and_then(|length| data.get(length + 1..)) {
        Some([0, compressed @ ..]) => icc::inflate(compressed).is_some_and(|profile| icc::is_valid(&profile)),
        _ => false,
    }
}

/// Returns the chunks up to IEND. Data after that is not part of the image.
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

/// Returns whether the image is an animation.
///
/// For an animation, checks that it has as many frames as announced, and that these are not too large, including the default
/// image if that is not the first frame.
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

/// Reads the header. The returned reader expands colour indexes to colours.
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

/// Decodes every row of every frame, keeping only one row and the input of the thumbnail.
///
/// The thumbnail is made from the default image, which is shown by viewers without support for animations. It has the size of
/// the image, whether it is the first frame or precedes it.
fn decode(bytes: &[u8], limits: &ImageLimits) -> std::result::Result<Downscaler, png::DecodingError> {
    // The thumbnail has eight bits per sample.
    let mut reader = reader(bytes, limits, png::Transformations::STRIP_16)?;
    let channels = reader.output_color_type().0.samples();
    let info = reader.info();
    let mut downscaler = Downscaler::new(info.size());
    let mut positions = row_positions(info.size(), info.interlaced);
    // A default image that precedes the first frame is not counted as a frame.
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
            // There are positions only for the rows of the default image.
            if let Some(position) = positions.next() {
                downscaler.add_row(position, channels, &row);
            }
        }
    }
    reader.finish()?;
    Ok(downscaler)
}

/// The passes of an interlaced picture: the position of the first pixel and the distance to the next one, across and down.
const ADAM7_PASSES: [[(u32, u32); 2]; 7] = [
    [(0, 8), (0, 8)],
    [(4, 8), (0, 8)],
    [(0, 4), (4, 8)],
    [(2, 4), (0, 4)],
    [(0, 2), (2, 4)],
    [(1, 2), (0, 2)],
    [(0, 1), (1, 2)],
];

/// Returns the positions of a picture's rows in the order in which they are stored. The buffer of an interlaced row may end with
/// leftovers of a longer row, which are then outside of the image.
fn row_positions((width, height): (u32, u32), interlaced: bool) -> impl Iterator<Item = RowPosition> {
    let passes: &[_] = if interlaced { &ADAM7_PASSES } else { &[[(0, 1), (0, 1)]] };
    let passes = passes.iter().filter(move |[(x, _), _]| *x < width);
    passes.flat_map(move |&[(x, step), (top, down)]| {
        (top..height).step_by(down as usize).map(move |y| RowPosition { x, y, step })
    })
}

/// Returns the number of bytes that a decoder may allocate. It sums up the rows of all frames, and a pixel has eight bytes at
/// most.
fn decoder_bytes(limits: &ImageLimits) -> usize {
    let bytes = limits.max_animation_pixels().saturating_mul(8).saturating_add(limits.max_bytes);
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Decodes a still image and encodes it row by row with its orientation applied, so that its pixels are in memory only once.
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
    // Others wait for this, and higher levels take several times as long. `Compression::Fast` does not look for repetitions,
    // of which pictures with few colours consist.
    encoder.set_deflate_compression(png::DeflateCompression::Level(1));
    let mut encoder = encoder.write_header()?;
    let mut writer = encoder.stream_writer()?;
    // Rows and pixels are whole bytes, since samples with fewer bits are expanded.
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
