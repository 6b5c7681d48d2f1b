//! Makes the thumbnail of an image, and the preview that is shown until a client has loaded the thumbnail.
//!
//! Both are made while the image is checked, from the pixels that are decoded anyway. Rows of pixels are added in any order to
//! the cells of a grid of the size of the thumbnail, which only has three sums for each cell.
//!
//! Colour profiles are not applied, so that the thumbnail of an image with a wide gamut is somewhat paler than the image.

use agora_domain::Error;
use agora_domain::media::Preview;
use image::codecs::jpeg::JpegEncoder;
use image::metadata::Orientation;
use image::{DynamicImage, RgbImage};

use super::orientation::oriented_size;
use super::{Result, undecodable};

/// The maximum length of the longer side of a thumbnail, in pixels.
const MAX_SIDE: u32 = 400;

/// The JPEG quality of a thumbnail. At this size, the artefacts of 80 are not visible, and most files have 10 to 30 KiB.
const QUALITY: u8 = 80;

/// The maximum length of the longer side of the picture from which the blurhash is computed, in pixels. Each component of the
/// blurhash reads all pixels, and more of them make no visible difference.
const MAX_BLURRED_SIDE: u32 = 64;

/// Bytes of memory for each pixel of a thumbnail: twelve for the sums, and three for the picture that is made from them. Once
/// the sums are dropped, the oriented picture and the JPEG, or the input of the blurhash, take less.
const BYTES_PER_CELL: u64 = 16;

/// The thumbnail and the preview of an image.
pub(super) struct ThumbnailAndPreview {
    pub(super) preview: Preview,
    /// A JPEG file.
    pub(super) thumbnail: Vec<u8>,
}

/// The distance from white of a pixel, or the sum of the distances of several, in red, green and blue. It is zero for a
/// transparent pixel and for a cell without pixels, so that both become white without being counted.
pub(super) type Darkness = [u32; 3];

/// Returns the darkness of an opaque colour. It does without `map`, which takes several times as long in builds with little
/// optimization.
#[inline]
pub(super) fn opaque([r, g, b]: [u8; 3]) -> Darkness {
    [255 - u32::from(r), 255 - u32::from(g), 255 - u32::from(b)]
}

/// Returns the darkness of a transparent colour on a white background.
#[inline]
fn on_white(rgb: [u8; 3], alpha: u8) -> Darkness {
    let ([r, g, b], alpha) = (opaque(rgb), u32::from(alpha));
    [(r * alpha + 127) / 255, (g * alpha + 127) / 255, (b * alpha + 127) / 255]
}

/// The positions of the pixels of a row in the image.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowPosition {
    /// The column of the first pixel.
    pub(super) x: u32,
    pub(super) y: u32,
    /// The distance from each pixel to the next.
    pub(super) step: u32,
}

/// Returns the bytes of memory that a [`Downscaler`] for an image of this size takes.
pub(super) fn estimate_memory(size: (u32, u32)) -> u64 {
    let (columns, rows) = grid_size(size);
    u64::from(columns) * u64::from(rows) * BYTES_PER_CELL
}

/// Makes the thumbnail and the preview of a decoded picture with eight bits per sample, applying this orientation.
pub(super) fn downscale(picture: &DynamicImage, orientation: Orientation) -> Result<ThumbnailAndPreview> {
    let mut downscaler = Downscaler::new((picture.width(), picture.height()));
    downscaler.add_picture((0, 0), picture);
    downscaler.finish(orientation)
}

/// A box filter: each pixel of the thumbnail is the mean of the pixels of the image in its cell.
pub(super) struct Downscaler {
    /// The end of each column of the grid, in pixels of the image.
    columns: Vec<u32>,
    /// The end of each row of the grid.
    rows: Vec<u32>,
    cells: Vec<Darkness>,
}

impl Downscaler {
    /// Creates the grid for an image of this size. The image is white until pixels are added.
    pub(super) fn new((width, height): (u32, u32)) -> Self {
        let (columns, rows) = grid_size((width, height));
        let cells = vec![[0; 3]; columns as usize * rows as usize];
        Self { columns: cell_ends(columns, width), rows: cell_ends(rows, height), cells }
    }

    /// Adds a row of pixels with this number of 8-bit channels: 1 is grey, 2 grey and alpha, 3 RGB, and 4 RGB and alpha. Pixels
    /// outside of the image are ignored.
    pub(super) fn add_row(&mut self, position: RowPosition, channels: usize, row: &[u8]) {
        match channels {
            1 => self.add_pixels(position, row.as_chunks().0, |[grey]| opaque([*grey; 3])),
            2 => self.add_pixels(position, row.as_chunks().0, |[grey, alpha]| on_white([*grey; 3], *alpha)),
            3 => self.add_pixels(position, row.as_chunks().0, |rgb| opaque(*rgb)),
            _ => self.add_pixels(position, row.as_chunks().0, |[r, g, b, alpha]| on_white([*r, *g, *b], *alpha)),
        }
    }

    /// Adds a picture with eight bits per sample, whose first pixel is at this `x` and `y`.
    pub(super) fn add_picture(&mut self, (x, top): (u32, u32), picture: &DynamicImage) {
        let channels = usize::from(picture.color().channel_count());
        let length = picture.width() as usize * channels;
        for (y, row) in (top..).zip(picture.as_bytes().chunks_exact(length.max(1))) {
            self.add_row(RowPosition { x, y, step: 1 }, channels, row);
        }
    }

    /// Adds a row of pixels, using `darkness` to convert each. Pixels outside of the image are ignored.
    pub(super) fn add_pixels<const N: usize>(
        &mut self,
        position: RowPosition,
        mut pixels: &[[u8; N]],
        darkness: impl Fn(&[u8; N]) -> Darkness,
    ) {
        let cell_of = |ends: &[u32], at: u32| ends.partition_point(|end| *end <= at);
        let (row, column) = (cell_of(&self.rows, position.y), cell_of(&self.columns, position.x));
        let cells = self.cells.chunks_exact_mut(self.columns.len().max(1)).nth(row).into_iter().flatten();
        let mut x = position.x;
        for (cell, end) in cells.zip(&self.columns).skip(column) {
            let count = end.saturating_sub(x).div_ceil(position.step);
            let (run, rest) = pixels.split_at(pixels.len().min(count as usize));
            let mut sum = [0; 3];
            for pixel in run {
                let [r, g, b] = darkness(pixel);
                sum = [sum[0] + r, sum[1] + g, sum[2] + b];
            }
            // No overflow: a cell of an image with a billion pixels has less than 2^24 of them.
            *cell = [cell[0] + sum[0], cell[1] + sum[1], cell[2] + sum[2]];
            x = x.saturating_add(count.saturating_mul(position.step));
            pixels = rest;
            if pixels.is_empty() {
                break;
            }
        }
    }

    /// Makes the thumbnail and the preview of the added pixels, upright.
    pub(super) fn finish(self, orientation: Orientation) -> Result<ThumbnailAndPreview> {
        let size = [&self.columns, &self.rows].map(|ends| ends.last().copied().unwrap_or_default());
        let (width, height) = oriented_size(orientation, size.into());
        let mut picture = DynamicImage::from(self.picture()?);
        picture.apply_orientation(orientation);
        let blurhash = blurhash(&picture)?;
        Ok(ThumbnailAndPreview { preview: Preview { width, height, blurhash }, thumbnail: encode(&picture)? })
    }

    fn picture(self) -> Result<RgbImage> {
        let mut pixels = Vec::with_capacity(self.cells.len() * 3);
        for (row, height) in self.cells.chunks_exact(self.columns.len().max(1)).zip(cell_lengths(&self.rows)) {
            for (sum, width) in row.iter().zip(cell_lengths(&self.columns)) {
                let count = width * height;
                pixels.extend(sum.map(|sum| u8::MAX - u8::try_from((sum + count / 2) / count).unwrap_or(u8::MAX)));
            }
        }
        let (width, height) = (self.columns.len() as u32, self.rows.len() as u32);
        RgbImage::from_raw(width, height, pixels).ok_or_else(undecodable)
    }
}

/// Returns the number of columns and rows of the thumbnail for an image of this size, never more than the image has and at
/// least one of each.
fn grid_size((width, height): (u32, u32)) -> (u32, u32) {
    let longer = u64::from(width.max(height).max(1));
    if longer <= u64::from(MAX_SIDE) {
        return (width, height);
    }
    // At most `MAX_SIDE`, so the cast does not truncate.
    let scaled = |side: u32| ((u64::from(side) * u64::from(MAX_SIDE) + longer / 2) / longer).max(1) as u32;
    (scaled(width), scaled(height))
}

/// Divides a length into `count` cells as evenly as whole pixels allow; returns the end of each.
fn cell_ends(count: u32, length: u32) -> Vec<u32> {
    // At most `length`, so the cast does not truncate.
    let end = |number: u32| (u64::from(number) * u64::from(length)).div_ceil(u64::from(count)) as u32;
    (1..=count).map(end).collect()
}

/// Returns the length of each cell in pixels.
fn cell_lengths(ends: &[u32]) -> impl Iterator<Item = u32> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    ends.iter().zip(starts).map(|(end, start)| end - start)
}

fn encode(picture: &DynamicImage) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    picture.write_with_encoder(JpegEncoder::new_with_quality(&mut file, QUALITY)).map_err(Error::internal)?;
    Ok(file)
}

/// Returns the blurhash of a picture, with one component more along the longer side.
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
