//! The images that are attached to posts.

use std::collections::HashSet;

use super::{CleanImage, ImageKey, Preview};
use crate::error::{Error, FieldName, Violation, ViolationKind};
use crate::id::MediaId;
use crate::text::text_types;

text_types! {
    /// A description of an image for people who cannot see it: at most 1,500 characters. A blank one counts as none.
    AltText(1500, optional "Alt text");
}

/// An image of a post, or one that was uploaded to be attached to one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The key of the image.
    pub key: ImageKey,
    /// Its placeholder; `None` if that was not made yet, and then it has no thumbnail either.
    pub preview: Option<Preview>,
    /// Its description.
    pub alt: Option<AltText>,
}

impl Attachment {
    /// The most images that a post may have.
    pub const MAX: usize = 4;

    /// Creates an attachment of which only the key is known.
    pub fn bare(key: ImageKey) -> Self {
        Self { key, preview: None, alt: None }
    }

    /// Creates the attachment of a checked image with its key.
    pub(crate) fn of(key: ImageKey, image: &CleanImage, alt: Option<AltText>) -> Self {
        Self { key, preview: Some(image.preview.clone()), alt }
    }

    /// Returns the id by which requests name it: the random part of its key.
    pub fn id(&self) -> MediaId {
        self.key.id()
    }
}

/// The ids of the images that a post is to have, in display order: no duplicates, and at most [`Attachment::MAX`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MediaIds(Vec<MediaId>);

impl MediaIds {
    /// Parses what a client sent.
    ///
    /// # Errors
    /// The violation, in words for the client.
    pub fn parse(ids: Vec<MediaId>) -> Result<Self, Violation> {
        if ids.len() > Attachment::MAX {
            let message = format!("Media must have at most {} entries", Attachment::MAX);
            return Err(Violation::new(ViolationKind::TooLong, message));
        }
        if ids.iter().collect::<HashSet<_>>().len() < ids.len() {
            return Err(Violation::new(ViolationKind::Duplicate, "Media must name each image once"));
        }
        Ok(Self(ids))
    }

    /// Returns the ids.
    pub fn as_slice(&self) -> &[MediaId] {
        &self.0
    }

    /// Returns the images of `among` with these ids, in the order of the ids.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the media when no image has one of the ids.
    pub(crate) fn pick(&self, among: &[Attachment]) -> Result<Vec<Attachment>, Error> {
        let find = |id: &MediaId| among.iter().find(|attachment| attachment.id() == *id).cloned();
        let picked: Option<Vec<_>> = self.0.iter().map(find).collect();
        picked.ok_or_else(|| {
            let message = "Media must name images that you uploaded within the last hour and that no post has";
            Error::field(FieldName::Media, Violation::new(ViolationKind::NotAllowed, message))
        })
    }
}

/// A change of the attachments of a post.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AttachmentsEdit {
    /// Keeps them unchanged.
    #[default]
    Keep,
    /// Sets them to those with these ids, in this order, out of the present attachments and these uploads.
    Set(MediaIds, Vec<Attachment>),
}

impl AttachmentsEdit {
    /// Removes all attachments.
    pub const REMOVE: Self = Self::Set(MediaIds(Vec::new()), Vec::new());

    /// Replaces all attachments with one image.
    pub fn replace(new: Attachment) -> Self {
        Self::Set(MediaIds(vec![new.id()]), vec![new])
    }

    /// Returns the attachments after the change, given the present ones.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the media when no image has one of the ids.
    pub(crate) fn apply(&self, present: &[Attachment]) -> Result<Vec<Attachment>, Error> {
        let Self::Set(ids, uploads) = self else { return Ok(present.to_vec()) };
        ids.pick(&[present, uploads].concat())
    }
}
