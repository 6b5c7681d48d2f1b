//! The pictures of users.

use crate::media::{ImageKey, Rendition};

/// The picture of a user, in two sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfilePicture {
    /// Names the image.
    pub key: ImageKey,
    /// The file of it that is shown where the picture is small: the image itself while it has no thumbnail.
    pub small: Rendition,
}

impl ProfilePicture {
    /// The picture that was just stored, as every image is now, with its thumbnail.
    pub const fn new(key: ImageKey) -> Self {
        Self { key, small: Rendition::Thumbnail }
    }
}
