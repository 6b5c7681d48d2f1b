//! The pictures of users.

use crate::media::{ImageKey, Rendition};

/// The picture of a user, in two sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfilePicture {
    /// The key of the image.
    pub key: ImageKey,
    /// The file of the image that is shown at small sizes: the image itself while it has no thumbnail.
    pub small: Rendition,
}

impl ProfilePicture {
    /// Creates the picture of an image that was just stored, as every image is now, with its thumbnail.
    pub const fn new(key: ImageKey) -> Self {
        Self { key, small: Rendition::Thumbnail }
    }
}
