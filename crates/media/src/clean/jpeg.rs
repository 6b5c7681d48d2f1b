//! JPEG: a list of segments, some of them followed by entropy-coded data, that ends with an EOI marker.
//!
//! The crate `img-parts` 0.4 was tried and is not suitable: it keeps everything after the first scan, including comments, and
//! files appended after the end. A crate that reports the segments between and after scans could replace the code below that
//! reads them.

use std::io::Cursor;

use agora_domain::media::ImageProblem;
use bytes::Bytes;
use image::codecs::jpeg::{JpegDecoder, JpegEncoder};
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageEncoder};

use super::downscale::{ThumbnailAndPreview, downscale};
use super::orientation::{OrientedView, encode_upright, max_encoded_bytes, orientation_of, profile_fits};
use super::pixels::PixelMemory;
use super::{ImageLimits, Result, icc, output_buffer, take, take_array, undecodable};

/// The quality of an image that is encoded again, with hardly any visible loss.
const QUALITY: u8 = 92;

/// The most scans of an image. Decoding each scan passes over the whole image, and a scan may be only a few bytes long. Encoders
/// make about ten, and this many take no longer than the largest image that an encoder makes.
const MAX_SCANS: usize = 32;

/// The prefix of a segment with a part of an ICC profile. The number of the part and the number of parts follow.
const ICC: &[u8] = b"ICC_PROFILE\0";

const SOI: u8 = 0xd8;
const EOI: u8 = 0xd9;
const SOS: u8 = 0xda;

struct Stripped {
    bytes: Vec<u8>,
    orientation: Orientation,
}

/// Cleans an upload, which is dropped as soon as it was read, so that it is not in memory together with the pixels.
pub(super) fn clean(upload: Bytes, limits: &ImageLimits) -> Result<(Vec<u8>, ThumbnailAndPreview)> {
    let uploaded = upload.len();
    let Stripped { bytes, orientation } = strip(&upload, limits)?;
    drop(upload);
    let mut decoder = JpegDecoder::new(Cursor::new(&bytes)).map_err(|_| undecodable())?;
    let profile = decoder.icc_profile().map_err(|_| undecodable())?;
    let picture = DynamicImage::from_decoder(decoder).map_err(|_| undecodable())?;
    let thumbnail_and_preview = downscale(&picture, orientation)?;
    if orientation == Orientation::NoTransforms {
        return Ok((bytes, thumbnail_and_preview));
    }
    // Not needed any more; frees its memory before the image is encoded.
    drop(bytes);
    Ok((encode(&picture, orientation, profile, uploaded)?, thumbnail_and_preview))
}

/// Estimates the memory of the pixels from the segments up to the first scan.
pub(super) fn pixel_memory(upload: &[u8], limits: &ImageLimits) -> Result<(PixelMemory, Orientation)> {
    let mut rest = upload;
    take(&mut rest, 2)?;
    let (mut frame, mut orientation) = (None, None);
    loop {
        let (marker, segment) = next_segment(&mut rest)?;
        match marker {
            0xc0..=0xc2 if frame.is_none() => frame = Some((marker, segment)),
            0xe1 => {
                if let Some(exif) = segment.strip_prefix(b"Exif\0\0") {
                    orientation.get_or_insert_with(|| orientation_of(exif));
                }
            }
            SOS => {
                let (kind, frame) = frame.ok_or_else(undecodable)?;
                let scanned = *segment.first().ok_or_else(undecodable)?;
                return Ok((
                    frame_memory(kind, frame, scanned, limits, upload.len())?,
                    orientation.unwrap_or(Orientation::NoTransforms),
                ));
            }
            EOI => return Err(undecodable()),
            _ => {}
        }
    }
}

/// Estimates the memory of the pixels of a frame whose first scan has `scanned` components. If these are not all components, or
/// if the frame is progressive, the decoder keeps two bytes for each sample of each component until the last scan.
fn frame_memory(kind: u8, frame: &[u8], scanned: u8, limits: &ImageLimits, upload: usize) -> Result<PixelMemory> {
    let [_, h1, h0, w1, w0, count, components @ ..] = frame else { return Err(undecodable()) };
    let [width, height] = [[*w1, *w0], [*h1, *h0]].map(|side| u32::from(u16::from_be_bytes(side)));
    let pixels = limits.check_pixels(width, height)?;
    let factors: Vec<(u64, u64)> =
        components.chunks_exact(3).map(|it| (u64::from(it[1] >> 4), u64::from(it[1] & 15))).collect();
    let most = |factor: fn(&(u64, u64)) -> u64| factors.iter().map(factor).max().unwrap_or(1).max(1);
    let (across, down) = (most(|it| it.0), most(|it| it.1));
    let blocks = u64::from(width).div_ceil(8 * across) * u64::from(height).div_ceil(8 * down);
    let samples: u64 = factors.iter().map(|(h, v)| blocks.saturating_mul(64 * h * v)).sum();
    let picture = pixels * if *count == 1 { 1 } else { 3 };
    let kept = if kind == 0xc2 || scanned != *count { samples.saturating_mul(2) } else { 0 };
    let reorienting = picture.saturating_add(max_encoded_bytes(pixels, upload));
    Ok(PixelMemory { size: (width, height), decoding: picture.saturating_add(kept), reorienting })
}

fn encode(
    picture: &DynamicImage,
    orientation: Orientation,
    profile: Option<Vec<u8>>,
    upload: usize,
) -> Result<Vec<u8>> {
    let pixels = u64::from(picture.width()) * u64::from(picture.height());
    encode_upright("JPEG", max_encoded_bytes(pixels, upload), |file| {
        let mut encoder = JpegEncoder::new_with_quality(file, QUALITY);
        if let Some(profile) = profile.filter(|profile| profile_fits(profile, picture)) {
            encoder.set_icc_profile(profile).map_err(|_| undecodable())?;
        }
        // The decoder produces one of these two.
        match picture {
            DynamicImage::ImageLuma8(picture) => encoder.encode_image(&OrientedView { picture, orientation }),
            DynamicImage::ImageRgb8(picture) => encoder.encode_image(&OrientedView { picture, orientation }),
            _ => return Err(undecodable()),
        }
        .map_err(|_| undecodable())
    })
}

/// Returns the image with only the segments that are needed to render it.
fn strip(upload: &[u8], limits: &ImageLimits) -> Result<Stripped> {
    let mut rest = upload;
    let mut out = output_buffer(upload.len());
    let mut orientation = None;
    let mut sized = false;
    let mut scans = 0;
    let mut profile = Profile::default();
    out.extend_from_slice(&[0xff, SOI]);
    take(&mut rest, 2)?;
    loop {
        let (marker, segment) = next_segment(&mut rest)?;
        match marker {
            EOI => break,
            // The kinds of coding that decoders support: baseline, extended and progressive. There may be only one frame.
            0xc0..=0xc2 if !sized => {
                let [_, h1, h0, w1, w0, ..] = *segment else { return Err(undecodable()) };
                limits.check_pixels(u16::from_be_bytes([w1, w0]).into(), u16::from_be_bytes([h1, h0]).into())?;
                sized = true;
                push_segment(&mut out, marker, segment);
            }
            // The tables: Huffman, quantization, restart interval.
            0xc4 | 0xdb | 0xdd => push_segment(&mut out, marker, segment),
            SOS if sized => {
                scans += 1;
                if scans > MAX_SCANS {
                    return Err(ImageProblem::TooLarge(format!("JPEG image must have at most {MAX_SCANS} scans")));
                }
                push_segment(&mut out, marker, segment);
                let data = entropy_length(rest).ok_or_else(undecodable)?;
                out.extend_from_slice(take(&mut rest, data)?);
            }
            0xc0..=0xcf | SOS => return Err(undecodable()),
            0xe0 => push_jfif(&mut out, segment),
            0xe1 if scans == 0 => {
                if let Some(exif) = segment.strip_prefix(b"Exif\0\0") {
                    orientation.get_or_insert_with(|| orientation_of(exif));
                }
            }
            0xe2 if scans == 0 && segment.starts_with(ICC) => profile.add(out.len(), segment),
            // The twelve bytes of Adobe's segment define how the colours are stored.
            0xee if segment.starts_with(b"Adobe") && segment.len() >= 12 => {
                push_segment(&mut out, marker, &segment[..12]);
            }
            _ => {}
        }
    }
    if scans == 0 {
        return Err(undecodable());
    }
    out.extend_from_slice(&[0xff, EOI]);
    profile.insert(&mut out);
    Ok(Stripped { bytes: out, orientation: orientation.unwrap_or(Orientation::NoTransforms) })
}

/// An ICC profile in parts of up to 64 KiB, which are collected before any is written.
#[derive(Default)]
struct Profile<'a> {
    /// The offset in the output at which the segments belong.
    at: usize,
    segments: Vec<&'a [u8]>,
}

impl<'a> Profile<'a> {
    fn add(&mut self, at: usize, segment: &'a [u8]) {
        if self.segments.is_empty() {
            self.at = at;
        }
        self.segments.push(segment);
    }

    /// Inserts the segments at their offset in the output if they form a complete profile that may be kept.
    fn insert(self, out: &mut Vec<u8>) {
        if self.joined().is_some_and(|profile| icc::is_valid(&profile)) {
            let mut segments = Vec::new();
            self.segments.iter().for_each(|segment| push_segment(&mut segments, 0xe2, segment));
            out.splice(self.at..self.at, segments);
        }
    }

    /// Returns the parts joined in the order of their numbers, which begin with 1; `None` if they are not complete.
    fn joined(&self) -> Option<Vec<u8>> {
        let count = u8::try_from(self.segments.len()).ok()?;
        let mut parts = Vec::new();
        for segment in &self.segments {
            let [number, of, data @ ..] = segment.get(ICC.len()..)? else { return None };
            if *of != count {
                return None;
            }
            parts.push((*number, data));
        }
        parts.sort_unstable_by_key(|(number, _)| *number);
        let is_whole = parts.iter().map(|(number, _)| *number).eq(1..=count);
        is_whole.then(|| parts.into_iter().flat_map(|(_, data)| data).copied().collect())
    }
}

/// Takes the next segment off `rest`. The end of the image counts as a segment without data.
fn next_segment<'a>(rest: &mut &'a [u8]) -> Result<(u8, &'a [u8])> {
    loop {
        match next_marker(rest)? {
            EOI => return Ok((EOI, &[])),
            // Markers without a segment, which have no meaning here.
            0x00 | 0x01 | 0xd0..=SOI => {}
            marker => {
                let length = usize::from(u16::from_be_bytes(take_array(rest)?));
                return Ok((marker, take(rest, length.checked_sub(2).ok_or_else(undecodable)?)?));
            }
        }
    }
}

/// Skips to the next marker, over fill bytes and data between segments, as decoders do.
fn next_marker(rest: &mut &[u8]) -> Result<u8> {
    let start = rest.iter().position(|byte| *byte == 0xff).ok_or_else(undecodable)?;
    take(rest, start)?;
    let fill = rest.iter().position(|byte| *byte != 0xff).ok_or_else(undecodable)?;
    take(rest, fill)?;
    let [marker] = take_array(rest)?;
    Ok(marker)
}

/// Returns the length of the entropy-coded data, which ends at the first marker other than a restart.
fn entropy_length(data: &[u8]) -> Option<usize> {
    data.windows(2).position(|pair| pair[0] == 0xff && !matches!(pair[1], 0x00 | 0xd0..=0xd7 | 0xff))
}

fn push_segment(out: &mut Vec<u8>, marker: u8, segment: &[u8]) {
    // No truncation: a segment is from a file that has its length in 16 bits, or it is a part of such a segment.
    let length = (segment.len() as u16).wrapping_add(2);
    out.extend_from_slice(&[0xff, marker]);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(segment);
}

/// Adds the JFIF header without its thumbnail. Other segments of this kind contain only thumbnails.
fn push_jfif(out: &mut Vec<u8>, segment: &[u8]) {
    if segment.starts_with(b"JFIF\0") && segment.len() >= 14 {
        let mut header = segment[..14].to_vec();
        header[12..].fill(0);
        push_segment(out, 0xe0, &header);
    }
}
