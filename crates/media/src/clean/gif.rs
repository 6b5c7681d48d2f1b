//! GIF: a screen descriptor, then frames and extensions up to a trailer.

use std::num::NonZeroU64;

use ::gif::{DecodeOptions, Decoder, Encoder, MemoryLimit};
use image::metadata::Orientation;

use super::downscale::{Darkness, Downscaler, RowPosition, ThumbnailAndPreview, opaque};
use super::pixels::PixelMemory;
use super::{ImageLimits, Result, output_buffer, undecodable};

/// Writes the file again with only its frames, palettes and timing. The compressed pixels are copied as they are, so that
/// nothing is lost and the file does not grow. The written file is then decoded once.
pub(super) fn clean(upload: &[u8], limits: &ImageLimits) -> Result<(Vec<u8>, ThumbnailAndPreview)> {
    let cleaned = copy(upload, limits)?;
    let thumbnail_and_preview = decode(&cleaned, limits)?;
    Ok((cleaned, thumbnail_and_preview))
}

fn copy(upload: &[u8], limits: &ImageLimits) -> Result<Vec<u8>> {
    // The header of each frame is checked before the frame is read.
    let mut infos = reader(upload, limits, true)?;
    let mut copies = reader(upload, limits, true)?;
    let screen = limits.check_pixels(copies.width().into(), copies.height().into())?;

    let palette = copies.global_palette().unwrap_or_default();
    let out = output_buffer(upload.len());
    let mut encoder = Encoder::new(out, copies.width(), copies.height(), palette).map_err(|_| undecodable())?;
    encoder.set_repeat(copies.repeat()).map_err(|_| undecodable())?;
    let mut frames = 0u64;
    let mut total = 0u64;
    while let Some(frame) = infos.next_frame_info().map_err(|_| undecodable())? {
        let size = limits.check_pixels(frame.width.into(), frame.height.into())?;
        if size > screen {
            return Err(undecodable());
        }
        total = total.saturating_add(size);
        limits.check_animation(total)?;
        frames += 1;
        let copy = copies.read_next_frame().map_err(|_| undecodable())?.ok_or_else(undecodable)?;
        encoder.write_lzw_pre_encoded_frame(copy).map_err(|_| undecodable())?;
    }
    if frames == 0 {
        return Err(undecodable());
    }
    let mut out = encoder.into_inner().map_err(|_| undecodable())?;
    // The background colour and the pixel aspect ratio, which the encoder does not support.
    if let (Some(written), Some(given)) = (out.get_mut(11..13), upload.get(11..13)) {
        written.copy_from_slice(given);
    }
    Ok(out)
}

/// Decodes every frame, and makes the thumbnail from the first one at its position on the screen.
///
/// This decodes the cleaned file, not the upload: whether data after the last pixel is read may depend on how the compressed
/// pixels are divided into blocks.
fn decode(cleaned: &[u8], limits: &ImageLimits) -> Result<ThumbnailAndPreview> {
    let mut pixels = reader(cleaned, limits, false)?;
    let mut downscaler = Downscaler::new((pixels.width().into(), pixels.height().into()));
    let mut buffer = Vec::new();
    let mut is_first = true;
    while let Some(frame) = pixels.next_frame_info().map_err(|_| undecodable())? {
        let (x, top, transparent) = (frame.left.into(), u32::from(frame.top), frame.transparent);
        buffer.resize(pixels.buffer_size(), 0);
        pixels.read_into_buffer(&mut buffer).map_err(|_| undecodable())?;
        if std::mem::take(&mut is_first) {
            let colours = colours(pixels.palette().map_err(|_| undecodable())?, transparent);
            let colour = |[number]: &[u8; 1]| colours.get(usize::from(*number)).copied().unwrap_or_default();
            for (y, row) in (top..).zip(buffer.chunks_exact(pixels.line_length().max(1))) {
                downscaler.add_pixels(RowPosition { x, y, step: 1 }, row.as_chunks().0, colour);
            }
        }
    }
    downscaler.finish(Orientation::NoTransforms)
}

/// Returns the darkness of each colour index. Indexes beyond the palette are transparent, too.
fn colours(palette: &[u8], transparent: Option<u8>) -> [Darkness; 256] {
    let mut colours = [Darkness::default(); 256];
    for (colour, rgb) in colours.iter_mut().zip(palette.as_chunks().0) {
        *colour = opaque(*rgb);
    }
    if let Some(colour) = transparent.and_then(|number| colours.get_mut(usize::from(number))) {
        *colour = Darkness::default();
    }
    colours
}

/// Estimates the memory of the pixels from the header: frames are decoded one by one, to one byte per pixel.
pub(super) fn pixel_memory(upload: &[u8], limits: &ImageLimits) -> Result<(PixelMemory, Orientation)> {
    let [_, _, _, _, _, _, w0, w1, h0, h1, ..] = upload else { return Err(undecodable()) };
    let [width, height] = [[*w0, *w1], [*h0, *h1]].map(|side| u32::from(u16::from_le_bytes(side)));
    let decoding = limits.check_pixels(width, height)?;
    Ok((PixelMemory { size: (width, height), decoding, reorienting: 0 }, Orientation::NoTransforms))
}

/// Returns a reader of the frames that either decodes them or returns their compressed pixels.
fn reader<'a>(upload: &'a [u8], limits: &ImageLimits, compressed: bool) -> Result<Decoder<&'a [u8]>> {
    let mut options = DecodeOptions::new();
    options.skip_frame_decoding(compressed);
    let memory = NonZeroU64::new(limits.max_pixels.max(limits.max_bytes)).ok_or_else(undecodable)?;
    options.set_memory_limit(MemoryLimit::Bytes(memory));
    options.read_info(upload).map_err(|_| undecodable())
}
