//! Images that are attached to posts.

use std::collections::HashSet;

use super::{CleanImage, ImageKey, Preview};
use crate::error::{Error, FieldName, Violation, ViolationKind};
use crate::id::MediaId;
use crate::text::texts;

texts! {
    /// What an image shows, in words, for whoever does not see it: at most 1,500 characters. A blank one is none.
    AltText(1500, optional "Alt text");
}

/// An image of a post, or one that was uploaded to become that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Names the image.
    pub key: ImageKey,
    /// What is shown in its place; `None` while that was not made, and then it has no thumbnail either.
    pub preview: Option<Preview>,
    /// What it shows.
    pub alt: Option<AltText>,
}

impl Attachment {
    /// How many a post has at most.
    pub const MAX: usize = 4;

    /// An image of which nothing is known but its key.
    pub fn bare(key: ImageKey) -> Self {
        Self { key, preview: None, alt: None }
    }

    /// A checked image under its key.
    pub(crate) fn of(key: ImageKey, image: &CleanImage, alt: Option<AltText>) -> Self {
        Self { key, preview: Some(image.preview.clone()), alt }
    }

    /// Returns what names it in requests: what is random in its key.
    pub fn id(&self) -> MediaId {
        self.key.id()
    }
}

/// Names the images that a post is to have, in their order: each once, and at most [`Attachment::MAX`].
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

    /// Returns the images with these ids, in their order.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the media when an id is of none of them.
    pub(crate) fn pick(&self, among: &[Attachment]) -> Result<Vec<Attachment>, Error> {
        let find = |id: &MediaId| among.iter().find(|attachment| attachment.id() == *id).cloned();
        let picked: Option<Vec<_>> = self.0.iter().map(find).collect();
        picked.ok_or_else(|| {
            let message = "Media must name images that you uploaded within the last hour and that no post has";
            Error::field(FieldName::Media, Violation::new(ViolationKind::NotAllowed, message))
        })
    }
}

/// What becomes of the attachments of a post.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AttachmentsEdit {
    /// They stay.
    #[default]
    Keep,
    /// It has those with these ids from then on, in this order: of those that it has, and of these uploads.
    Set(MediaIds, Vec<Attachment>),
}

impl AttachmentsEdit {
    /// Has a post lose all.
    pub const REMOVE: Self = Self::Set(MediaIds(Vec::new()), Vec::new());

    /// Has a new image take the place of all.
    pub fn replace(new: Attachment) -> Self {
        Self::Set(MediaIds(vec![new.id()]), vec![new])
    }

    /// Returns the attachments of a post that has these.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the media when an id is of none of them.
    pub(crate) fn apply(&self, present: &[Attachment]) -> Result<Vec<Attachment>, Error> {
        let Self::Set(ids, uploads) = self else { return Ok(present.to_vec()) };
        ids.pick(&[present, uploads].concat())
    }
}
