//! Images, their keys, and the errors of an upload.

use std::fmt::Write as _;
use std::ops::Range;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::error::{Error, FieldName, Result, Violation, ViolationKind};
use crate::id::MediaId;

/// An accepted image format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageFormat {
    /// JPEG.
    Jpeg,
    /// PNG, animated ones included.
    Png,
    /// GIF, animated ones included.
    Gif,
    /// WebP, animated ones included.
    WebP,
}

impl ImageFormat {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Jpeg, Self::Png, Self::Gif, Self::WebP];

    /// Returns the media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }

    /// Returns the file extension, with which keys end.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
            Self::Gif => "gif",
            Self::WebP => "webp",
        }
    }
}

/// The name of a stored image: 32 random lower-case hexadecimal digits, a dot and the extension of the format.
///
/// Anybody who knows the key may fetch the image, so it is never guessable and never derived from a file name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImageKey {
    text: String,
    format: ImageFormat,
}

impl ImageKey {
    /// Creates the key from 128 random bits.
    pub fn new(random: [u8; 16], format: ImageFormat) -> Self {
        let mut text = String::with_capacity(37);
        for byte in random {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        text.push('.');
        text.push_str(format.extension());
        Self { text, format }
    }

    /// Returns the keys that an image with this id may have, one for each format.
    pub fn all_of(id: MediaId) -> [Self; 4] {
        ImageFormat::ALL.map(|format| Self::new(id.uuid().into_bytes(), format))
    }

    /// Parses a key; returns `None` if `text` is not a valid one.
    pub fn parse(text: &str) -> Option<Self> {
        let (stem, ending) = text.split_once('.')?;
        let format = ImageFormat::ALL.into_iter().find(|format| format.extension() == ending)?;
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        (stem.len() == 32 && stem.bytes().all(hex)).then(|| Self { text: text.to_owned(), format })
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the random part of the key.
    pub fn id(&self) -> MediaId {
        // A key has 32 hexadecimal digits before its dot.
        let digits = self.text.split('.').next().unwrap_or_default();
        MediaId::new(Uuid::try_parse(digits).unwrap_or_default())
    }

    /// Returns the format of the image.
    pub const fn format(&self) -> ImageFormat {
        self.format
    }

    /// Returns the name of one of the image's files, which is the key itself for the original.
    pub fn file_name(&self, rendition: Rendition) -> String {
        match rendition {
            Rendition::Original => self.text.clone(),
            Rendition::Thumbnail => format!("{}{THUMBNAIL_SUFFIX}", self.text),
        }
    }

    /// Parses the name of a file, the inverse of [`file_name`](Self::file_name); returns `None` if it is not a valid one.
    pub fn parse_file_name(name: &str) -> Option<(Self, Rendition)> {
        match name.strip_suffix(THUMBNAIL_SUFFIX) {
            Some(key) => Some((Self::parse(key)?, Rendition::Thumbnail)),
            None => Some((Self::parse(name)?, Rendition::Original)),
        }
    }

    /// Returns the format of one of the image's files.
    pub const fn format_of(&self, rendition: Rendition) -> ImageFormat {
        match rendition {
            Rendition::Original => self.format,
            Rendition::Thumbnail => ImageFormat::Jpeg,
        }
    }
}

/// The suffix that turns the key of an image into the name of its thumbnail.
const THUMBNAIL_SUFFIX: &str = ".thumb.jpg";

/// One of the files of a stored image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rendition {
    /// The image as it was uploaded, without metadata.
    Original,
    /// A small JPEG of it, or of the first frame of an animation. An image that was stored before thumbnails were made has none.
    Thumbnail,
}

impl Rendition {
    /// Every file of an image.
    pub const ALL: [Self; 2] = [Self::Original, Self::Thumbnail];
}

/// The placeholder that a client shows until it has loaded the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
    /// A blurred picture in a few characters, as <https://blurha.sh> describes it.
    pub blurhash: String,
}

/// An image that may be stored: it was decoded to check it, and its metadata was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanImage {
    /// The format, detected from the content.
    pub format: ImageFormat,
    /// The file's bytes.
    pub bytes: Bytes,
    /// Its placeholder.
    pub preview: Preview,
    /// The bytes of its thumbnail.
    pub thumbnail: Bytes,
}

/// The reason why an upload was rejected.
#[derive(Debug, thiserror::Error)]
pub enum ImageProblem {
    /// It is not a valid image of an accepted format, with the message for the client.
    #[error("{0}")]
    Unacceptable(String),
    /// It exceeds a limit, with the message for the client.
    #[error("{0}")]
    TooLarge(String),
    /// The check itself failed.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl ImageProblem {
    /// Converts the problem into the error of a use case that received the image as the input `field`.
    pub fn in_field(self, field: FieldName) -> Error {
        match self {
            Self::Unacceptable(message) => Error::field(field, Violation::new(ViolationKind::InvalidFormat, message)),
            Self::TooLarge(message) => Error::TooLarge(message),
            Self::Failed(error) => error,
        }
    }
}

/// A request for a range of an image's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteRange {
    /// From the first to the last offset, both inclusive; the last may lie beyond the end.
    FromTo(u64, u64),
    /// From an offset to the end.
    From(u64),
    /// The given number of bytes at the end.
    Last(u64),
}

impl ByteRange {
    /// Returns the offsets in an image of `size` bytes, the end exclusive; `None` if the range lies outside of the image.
    pub fn within(self, size: u64) -> Option<Range<u64>> {
        let range = match self {
            Self::FromTo(first, last) => first..last.saturating_add(1).min(size),
            Self::From(first) => first..size,
            Self::Last(count) => size.saturating_sub(count)..size,
        };
        (range.start < range.end).then_some(range)
    }
}

/// A stored image, opened for reading.
pub struct OpenImage {
    /// The size of the whole image in bytes.
    pub size: u64,
    /// The offsets of the returned bytes, the end exclusive; `None` if the requested range lies outside of the image.
    pub range: Option<Range<u64>>,
    /// The bytes of that range.
    pub bytes: BoxStream<'static, Result<Bytes>>,
}

/// One of an image's files in the listing of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredImage {
    /// The key of the image.
    pub key: ImageKey,
    /// Which of the image's files this is.
    pub rendition: Rendition,
    /// The size in bytes.
    pub bytes: u64,
    /// When it was stored.
    pub modified: Timestamp,
}
