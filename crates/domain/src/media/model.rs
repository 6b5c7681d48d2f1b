//! Images and their names, and what is wrong with an upload.

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

    /// Returns the ending of a key.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
            Self::Gif => "gif",
            Self::WebP => "webp",
        }
    }
}

/// The name of a stored image: 32 lower-case hexadecimal digits drawn at random, a dot and the format's ending.
///
/// It is all a reader needs to fetch the image, so it is never guessable and never derived from a file name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImageKey {
    text: String,
    format: ImageFormat,
}

impl ImageKey {
    /// The key made of 128 random bits.
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

    /// Returns the keys that an image of this id may have, one for each format.
    pub fn all_of(id: MediaId) -> [Self; 4] {
        ImageFormat::ALL.map(|format| Self::new(id.uuid().into_bytes(), format))
    }

    /// Returns the key with this text; `None` when no key is spelled like that.
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

    /// Returns what is random of it.
    pub fn id(&self) -> MediaId {
        // A key has 32 hexadecimal digits before its dot.
        let digits = self.text.split('.').next().unwrap_or_default();
        MediaId::new(Uuid::try_parse(digits).unwrap_or_default())
    }

    /// Returns the format of the image it names.
    pub const fn format(&self) -> ImageFormat {
        self.format
    }

    /// Returns the name of a file of the image: the key itself for the original.
    pub fn file_name(&self, rendition: Rendition) -> String {
        match rendition {
            Rendition::Original => self.text.clone(),
            Rendition::Thumbnail => format!("{}{THUMBNAIL}", self.text),
        }
    }

    /// Returns the image and which file of it is named like this; `None` when none is.
    pub fn parse_file_name(name: &str) -> Option<(Self, Rendition)> {
        match name.strip_suffix(THUMBNAIL) {
            Some(key) => Some((Self::parse(key)?, Rendition::Thumbnail)),
            None => Some((Self::parse(name)?, Rendition::Original)),
        }
    }

    /// Returns the format of a file of the image.
    pub const fn format_of(&self, rendition: Rendition) -> ImageFormat {
        match rendition {
            Rendition::Original => self.format,
            Rendition::Thumbnail => ImageFormat::Jpeg,
        }
    }
}

/// What the key of an image is followed by in the name of its thumbnail.
const THUMBNAIL: &str = ".thumb.jpg";

/// One of the files that are kept of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rendition {
    /// The image as it was uploaded, without metadata.
    Original,
    /// A small JPEG of it; of an animation, of its first picture. An image that was stored before thumbnails were made has none.
    Thumbnail,
}

impl Rendition {
    /// Every file of an image.
    pub const ALL: [Self; 2] = [Self::Original, Self::Thumbnail];
}

/// What a client shows in the place of an image until it has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
    /// A blurred picture in a few characters, as <https://blurha.sh> describes it.
    pub blurhash: String,
}

/// An image that was decoded to check it and carries no metadata: what may be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanImage {
    /// The format its content has.
    pub format: ImageFormat,
    /// The file's bytes.
    pub bytes: Bytes,
    /// What is shown in its place.
    pub preview: Preview,
    /// The bytes of its thumbnail.
    pub thumbnail: Bytes,
}

/// Why an upload is not stored.
#[derive(Debug, thiserror::Error)]
pub enum ImageProblem {
    /// It is not an image of an accepted format, in words for the client.
    #[error("{0}")]
    Unacceptable(String),
    /// It is beyond a limit, in words for the client.
    #[error("{0}")]
    TooLarge(String),
    /// The check itself could not be carried out.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl ImageProblem {
    /// As the error of a use case in whose input `field` the image came.
    pub fn in_field(self, field: FieldName) -> Error {
        match self {
            Self::Unacceptable(message) => Error::field(field, Violation::new(ViolationKind::InvalidFormat, message)),
            Self::TooLarge(message) => Error::TooLarge(message),
            Self::Failed(error) => error,
        }
    }
}

/// Part of an image's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteRange {
    /// From the first to the last offset, both included; the last may lie beyond the end.
    FromTo(u64, u64),
    /// From an offset to the end.
    From(u64),
    /// So many bytes at the end.
    Last(u64),
}

impl ByteRange {
    /// Returns the offsets it stands for in an image of `size` bytes, the end excluded; `None` when it lies outside.
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
    /// Which of its bytes follow, the end excluded; `None` when the range asked for lies outside the image.
    pub range: Option<Range<u64>>,
    /// Those bytes.
    pub bytes: BoxStream<'static, Result<Bytes>>,
}

/// A file of an image as a store lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredImage {
    /// Names the image.
    pub key: ImageKey,
    /// Which of its files it is.
    pub rendition: Rendition,
    /// How many bytes it has.
    pub bytes: u64,
    /// When it was stored.
    pub modified: Timestamp,
}
