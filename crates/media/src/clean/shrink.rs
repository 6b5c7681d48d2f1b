//! The small picture of an image: its thumbnail, and the preview that is shown until a client has that.
//!
//! It is made while the image is checked, of the pixels that are decoded anyway. They are added as they come, in rows of
//! any order, to the cells of a grid that has the thumbnail's size; what is kept of them is three sums a cell.
//!
//! A colour profile is not applied: a thumbnail of an image in a wide gamut is somewhat paler than the image.

use agora_domain::Error;
use agora_domain::media::Preview;
use image::codecs::jpeg::JpegEncoder;
use image::metadata::Orientation;
use image::{DynamicImage, RgbImage};

use super::orientation::oriented_size;
use super::{Result, undecodable};

/// The most pixels that the longer side of a thumbnail has.
const MAX_SIDE: u32 = 400;

/// The quality of a thumbnail: at this size, artefacts of 80 are not seen, and most have 10 to 30 KiB.
const QUALITY: u8 = 80;

/// The most pixels that the longer side of what is blurred has. Each component of the preview passes over all of them, and
/// more make no difference that is seen.
const MAX_BLURRED_SIDE: u32 = 64;

/// Bytes of memory for each pixel of a thumbnail: twelve of sums and three of the picture that is made of them. Once the
/// sums are gone, the turned picture and the JPEG, or what the preview is made of, take less.
const BYTES_PER_CELL: u64 = 16;

/// What is made of an image's pixels besides the image.
pub(super) struct Shrunk {
    pub(super) preview: Preview,
    /// A JPEG file.
    pub(super) thumbnail: Vec<u8>,
}

/// How far a pixel, or the sum of several, is from white in red, green and blue. Of a transparent one, that is nothing:
/// so is the sum of a cell that no pixel reached, and both are white without being counted.
pub(super) type Darkness = [u32; 3];

/// Returns the darkness of an opaque colour. Without `map`, which takes several times as long in builds that optimise little.
#[inline]
pub(super) fn opaque([r, g, b]: [u8; 3]) -> Darkness {
    [255 - u32::from(r), 255 - u32::from(g), 255 - u32::from(b)]
}

/// Returns the darkness of a colour in front of white.
#[inline]
fn on_white(rgb: [u8; 3], alpha: u8) -> Darkness {
    let ([r, g, b], alpha) = (opaque(rgb), u32::from(alpha));
    [(r * alpha + 127) / 255, (g * alpha + 127) / 255, (b * alpha + 127) / 255]
}

/// Where the pixels of a row lie in the image.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Where the first one is.
    pub(super) x: u32,
    pub(super) y: u32,
    /// How far the next one is.
    pub(super) step: u32,
}

/// Returns the bytes of memory that it takes to shrink an image of this size.
pub(super) fn memory(size: (u32, u32)) -> u64 {
    let (columns, rows) = grid(size);
    u64::from(columns) * u64::from(rows) * BYTES_PER_CELL
}

/// Returns what is made of a decoded picture, of eight bits a sample, that this orientation is to be applied to.
pub(super) fn shrink(picture: &DynamicImage, orientation: Orientation) -> Result<Shrunk> {
    let mut shrinker = Shrinker::new((picture.width(), picture.height()));
    shrinker.add_picture((0, 0), picture);
    shrinker.finish(orientation)
}

/// A box filter: each pixel of the thumbnail is the mean of the image's pixels in its cell.
pub(super) struct Shrinker {
    /// Where each column of the grid ends, in pixels of the image.
    columns: Vec<u32>,
    /// Where each row of the grid ends.
    rows: Vec<u32>,
    cells: Vec<Darkness>,
}

impl Shrinker {
    /// Creates the grid of an image of this size. The image is white until pixels are added.
    pub(super) fn new((width, height): (u32, u32)) -> Self {
        let (columns, rows) = grid((width, height));
        let cells = vec![[0; 3]; columns as usize * rows as usize];
        Self { columns: ends(columns, width), rows: ends(rows, height), cells }
    }

    /// Adds a row of pixels with so many channels of eight bits: 1 is grey, 2 grey and alpha, 3 RGB, and 4 RGB and alpha.
    /// What lies outside the image is left out.
    pub(super) fn add_row(&mut self, place: Place, channels: usize, row: &[u8]) {
        match channels {
            1 => self.add(place, row.as_chunks().0, |[grey]| opaque([*grey; 3])),
            2 => self.add(place, row.as_chunks().0, |[grey, alpha]| on_white([*grey; 3], *alpha)),
            3 => self.add(place, row.as_chunks().0, |rgb| opaque(*rgb)),
            _ => self.add(place, row.as_chunks().0, |[r, g, b, alpha]| on_white([*r, *g, *b], *alpha)),
        }
    }

    /// Adds a picture of eight bits a sample whose first pixel lies at these `x` and `y`.
    pub(super) fn add_picture(&mut self, (x, top): (u32, u32), picture: &DynamicImage) {
        let channels = usize::from(picture.color().channel_count());
        let length = picture.width() as usize * channels;
        for (y, row) in (top..).zip(picture.as_bytes().chunks_exact(length.max(1))) {
            self.add_row(Place { x, y, step: 1 }, channels, row);
        }
    }

    /// Adds a row of pixels whose darkness `darkness` returns. What lies outside the image is left out.
    pub(super) fn add<const N: usize>(
        &mut self,
        place: Place,
        mut pixels: &[[u8; N]],
        darkness: impl Fn(&[u8; N]) -> Darkness,
    ) {
        let cell_of = |ends: &[u32], at: u32| ends.partition_point(|end| *end <= at);
        let (row, column) = (cell_of(&self.rows, place.y), cell_of(&self.columns, place.x));
        let cells = self.cells.chunks_exact_mut(self.columns.len().max(1)).nth(row).into_iter().flatten();
        let mut x = place.x;
        for (cell, end) in cells.zip(&self.columns).skip(column) {
            let count = end.saturating_sub(x).div_ceil(place.step);
            let (run, rest) = pixels.split_at(pixels.len().min(count as usize));
            let mut sum = [0; 3];
            for pixel in run {
                let [r, g, b] = darkness(pixel);
                sum = [sum[0] + r, sum[1] + g, sum[2] + b];
            }
            // A cell of a billion pixels' image holds less than 2^24 of them.
            *cell = [cell[0] + sum[0], cell[1] + sum[1], cell[2] + sum[2]];
            x = x.saturating_add(count.saturating_mul(place.step));
            pixels = rest;
            if pixels.is_empty() {
                break;
            }
        }
    }

    /// Makes the thumbnail and the preview of what was added, upright.
    pub(super) fn finish(self, orientation: Orientation) -> Result<Shrunk> {
        let size = [&self.columns, &self.rows].map(|ends| ends.last().copied().unwrap_or_default());
        let (width, height) = oriented_size(orientation, size.into());
        let mut picture = DynamicImage::from(self.picture()?);
        picture.apply_orientation(orientation);
        let blurhash = blurhash(&picture)?;
        Ok(Shrunk { preview: Preview { width, height, blurhash }, thumbnail: encode(&picture)? })
    }

    fn picture(self) -> Result<RgbImage> {
        let mut pixels = Vec::with_capacity(self.cells.len() * 3);
        for (row, height) in self.cells.chunks_exact(self.columns.len().max(1)).zip(lengths(&self.rows)) {
            for (sum, width) in row.iter().zip(lengths(&self.columns)) {
                let count = width * height;
                pixels.extend(sum.map(|sum| u8::MAX - u8::try_from((sum + count / 2) / count).unwrap_or(u8::MAX)));
            }
        }
        let (width, height) = (self.columns.len() as u32, self.rows.len() as u32);
        RgbImage::from_raw(width, height, pixels).ok_or_else(undecodable)
    }
}

/// Returns the columns and rows of the thumbnail of an image of this size: never more than the image has, and at least
/// one of each.
fn grid((width, height): (u32, u32)) -> (u32, u32) {
    let longer = u64::from(width.max(height).max(1));
    if longer <= u64::from(MAX_SIDE) {
        return (width, height);
    }
    // Not above 400.
    let scaled = |side: u32| ((u64::from(side) * u64::from(MAX_SIDE) + longer / 2) / longer).max(1) as u32;
    (scaled(width), scaled(height))
}

/// Returns where each of so many cells ends that share a length as evenly as whole pixels can be shared.
fn ends(count: u32, length: u32) -> Vec<u32> {
    // Not beyond the length.
    let end = |number: u32| (u64::from(number) * u64::from(length)).div_ceil(u64::from(count)) as u32;
    (1..=count).map(end).collect()
}

/// Returns how many pixels long each cell is.
fn lengths(ends: &[u32]) -> impl Iterator<Item = u32> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    ends.iter().zip(starts).map(|(end, start)| end - start)
}

fn encode(picture: &DynamicImage) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    picture.write_with_encoder(JpegEncoder::new_with_quality(&mut file, QUALITY)).map_err(Error::internal)?;
    Ok(file)
}

/// Returns the preview's text: with one component more along the longer side.
fn blurhash(picture: &DynamicImage) -> Result<String> {
    let smaller;
    let picture = if picture.width().max(picture.height()) > MAX_BLURRED_SIDE {
        smaller = picture.thumbnail(MAX_BLURRED_SIDE, MAX_BLURRED_SIDE);
        &smaller
    } else {
        picture
    };
    let (width, height) = (picture.width(), picture.height());
    let (across, down) = if height > width { (3, 4) } else { (4, 3) };
    let text = blurhash::encode(across, down, width, height, picture.to_rgba8().as_raw());
    Ok(text.map_err(Error::internal)?)
}
