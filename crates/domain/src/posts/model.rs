//! Posts and likes, and the rules about them.

use crate::accounts::{Author, Member, Username, Viewer};
use crate::clock::Timestamp;
use crate::entities::Entities;
use crate::error::ViolationKind::Required;
use crate::error::{Error, FieldErrors, FieldName, Forbidden, Resource, Result, Violation};
use crate::id::{PostId, UserId};
use crate::media::{Attachment, AttachmentsEdit, ImageKey, MediaIds};
use crate::relation::Standing;
use crate::string_enum::string_enum;
use crate::text::text_types;
use crate::version::{Versions, next_version};

text_types! {
    /// The text of a post: at most 5,000 characters, trimmed and otherwise stored as sent. Only a post with an image may have an
    /// empty one.
    #[derive(Default)]
    PostText(5000, trimmed "Text");
}

impl PostText {
    /// Returns whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

string_enum! {
    /// Who may view a post, besides its author and every ADMIN.
    #[derive(Default)]
    Visibility "Visibility must be PUBLIC, FOLLOWERS or PRIVATE" {
        /// Every member whom no block separates from the author.
        #[default]
        Public = "PUBLIC",
        /// The author's followers.
        Followers = "FOLLOWERS",
        /// Nobody.
        Private = "PRIVATE",
    }
}

/// The relation of a viewer to the author of a post, from which follows what they may view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// The author, or an ADMIN.
    Privileged,
    /// Somebody who follows the author.
    Follower,
    /// Anybody else.
    Stranger,
    /// Separated from the author by a block, in either direction: the author's posts do not exist for them.
    Blocked,
}

impl Audience {
    /// Returns the relation of `viewer` to `author`.
    pub fn of(viewer: &Member, author: UserId, standing: Standing) -> Self {
        match standing {
            _ if viewer.id() == author || viewer.is_admin() => Self::Privileged,
            Standing::Follower => Self::Follower,
            Standing::Stranger => Self::Stranger,
            Standing::Blocked => Self::Blocked,
        }
    }

    /// Returns the visibilities of the posts that this audience may view. This is the one rule for all reads.
    pub const fn may_view(self) -> &'static [Visibility] {
        match self {
            Self::Privileged => &Visibility::ALL,
            Self::Follower => &[Visibility::Public, Visibility::Followers],
            Self::Stranger => &[Visibility::Public],
            Self::Blocked => &[],
        }
    }
}

/// The filter of a list of posts by several authors: the rule of [`Audience`], for each author's relation to the viewer.
///
/// It excludes authors separated from the viewer by a block, unless the viewer sees everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisibleTo {
    /// The viewer. All of their own posts are visible to them.
    pub viewer: Viewer,
    /// The visibilities that they may view of authors whom they follow.
    pub followed: &'static [Visibility],
    /// The visibilities that they may view of all other authors.
    pub others: &'static [Visibility],
}

impl VisibleTo {
    /// Returns the filter for `viewer`.
    pub fn of(viewer: &Member) -> Self {
        let audience = |other| if viewer.is_admin() { Audience::Privileged } else { other };
        let (followed, others) = (audience(Audience::Follower), audience(Audience::Stranger));
        Self { viewer: viewer.viewer(), followed: followed.may_view(), others: others.may_view() }
    }
}

/// A post as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// The unique identifier.
    pub id: PostId,
    /// Who wrote it.
    pub author: UserId,
    /// Its text.
    pub text: PostText,
    /// The hashtags, mentions and links in the text; `None` until they are extracted.
    pub entities: Option<Entities>,
    /// Its images, [`Attachment::MAX`] at most, in the order in which they are shown.
    pub attachments: Vec<Attachment>,
    /// Who may view it.
    pub visibility: Visibility,
    /// Whether an administrator has hidden it: then only its author and administrators may view it.
    pub is_hidden: bool,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was last changed; at first, when it was written.
    pub updated_at: Timestamp,
}

impl Post {
    /// Ensures that a post has text, an image, or both.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the text.
    pub fn ensure_not_empty(text: &PostText, has_image: bool) -> Result<()> {
        if text.is_empty() && !has_image {
            Err(Error::field(FieldName::Text, Violation::new(Required, "Text or an image is required")))
        } else {
            Ok(())
        }
    }

    /// Returns the images to show: those of the post, or none if it is hidden (`contract`: Reports and
    /// administration).
    pub fn shown_attachments(&self) -> &[Attachment] {
        if self.is_hidden { &[] } else { &self.attachments }
    }

    /// Returns the post after an edit at `at`, and the images that no longer belong to it.
    ///
    /// # Errors
    /// [`Error::Forbidden`] when the post is hidden; [`Error::Stale`] when the edit is not meant for this version;
    /// [`Error::Invalid`] naming the text when neither text nor image would be left, or the media when one is neither an image
    /// of the post nor an upload.
    pub fn apply(mut self, edit: &PostEdit, at: Timestamp) -> Result<(Self, Vec<ImageKey>)> {
        if self.is_hidden {
            return Err(HIDDEN);
        }
        edit.versions.ensure_include(self.updated_at)?;
        let before = self.clone();
        // Entities are extracted when a text is written, so an unchanged text keeps its entities.
        if let Some(text) = edit.text.as_ref().filter(|text| **text != self.text) {
            self.text = text.clone();
            self.entities = edit.entities.clone();
        }
        if let Some(visibility) = edit.visibility {
            self.visibility = visibility;
        }
        self.attachments = edit.attachments.apply(&before.attachments)?;
        Self::ensure_not_empty(&self.text, !self.attachments.is_empty())?;
        if self == before {
            return Ok((before, Vec::new()));
        }
        self.updated_at = next_version(before.updated_at, at);
        let keys = before.attachments.into_iter().map(|attachment| attachment.key);
        let replaced = keys.filter(|old| self.attachments.iter().all(|attachment| attachment.key != *old)).collect();
        Ok((self, replaced))
    }
}

/// The error for an attempt to edit a hidden post or comment.
pub(crate) const HIDDEN: Error = Error::Forbidden(Forbidden::Hidden);

/// The facts that decide what a viewer may do with a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostAccess {
    /// The post.
    pub id: PostId,
    /// Who wrote it.
    pub author: UserId,
    /// Who may view it.
    pub visibility: Visibility,
    /// Whether an administrator has hidden it.
    pub is_hidden: bool,
    /// The viewer's relation to the author.
    pub standing: Standing,
}

impl PostAccess {
    /// Returns the same facts without regard to blocks.
    #[must_use]
    pub fn ignoring_blocks(self) -> Self {
        Self { standing: self.standing.ignoring_blocks(), ..self }
    }

    /// Ensures that `viewer` may view the post, which every read, like and comment requires.
    ///
    /// # Errors
    /// Those of [`ensure_there`](Self::ensure_there); [`Error::Forbidden`] when the viewer may not see the post.
    pub fn ensure_may_view(&self, viewer: &Member) -> Result<()> {
        self.ensure_there(viewer)?;
        if self.audience(viewer).may_view().contains(&self.visibility) {
            Ok(())
        } else {
            Err(Error::Forbidden(Forbidden::PostNotVisible))
        }
    }

    /// Ensures that the post exists as far as `viewer` can tell. Callers check this before anything else (`contract`: Safety).
    ///
    /// # Errors
    /// [`Error::NotFound`], unless the viewer is an ADMIN, when a block separates the viewer from the author, or when the post
    /// is hidden and the viewer is not its author.
    pub fn ensure_there(&self, viewer: &Member) -> Result<()> {
        self.ensure_shown(viewer)?;
        self.ensure_not_blocked(viewer)
    }

    /// The part of [`ensure_there`](Self::ensure_there) that concerns hidden posts.
    ///
    /// # Errors
    /// Those of [`ensure_there`](Self::ensure_there).
    pub fn ensure_shown(&self, viewer: &Member) -> Result<()> {
        if self.is_hidden && self.audience(viewer) != Audience::Privileged {
            return Err(Error::NotFound(Resource::Post));
        }
        Ok(())
    }

    /// The part of [`ensure_there`](Self::ensure_there) that concerns blocks.
    ///
    /// # Errors
    /// Those of [`ensure_there`](Self::ensure_there).
    pub fn ensure_not_blocked(&self, viewer: &Member) -> Result<()> {
        match self.audience(viewer) {
            Audience::Blocked => Err(Error::NotFound(Resource::Post)),
            Audience::Privileged | Audience::Follower | Audience::Stranger => Ok(()),
        }
    }

    fn audience(&self, viewer: &Member) -> Audience {
        Audience::of(viewer, self.author, self.standing)
    }

    /// Ensures that `caller` may edit the post: only the author may, whatever the caller's role, and only while the post is not
    /// hidden.
    ///
    /// # Errors
    /// Those of [`ensure_author`](Self::ensure_author); [`Error::Forbidden`] when the post is hidden.
    pub fn ensure_may_edit(&self, caller: &Member) -> Result<()> {
        self.ensure_author(caller)?;
        if self.is_hidden { Err(HIDDEN) } else { Ok(()) }
    }

    /// Ensures that `caller` is the author, who alone may delete the post, whatever the caller's role.
    ///
    /// # Errors
    /// Those of [`ensure_there`](Self::ensure_there); [`Error::Forbidden`] for anybody else.
    pub fn ensure_author(&self, caller: &Member) -> Result<()> {
        self.ensure_there(caller)?;
        if self.author == caller.id() { Ok(()) } else { Err(Error::Forbidden(Forbidden::NotPostAuthor)) }
    }
}

/// A user in the list of a post's likes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Liker {
    /// The id of the account.
    pub id: UserId,
    /// The user's name.
    pub username: Username,
    /// The user's picture.
    pub profile_picture: Option<ImageKey>,
}

/// The most likers included in a [`PostView`]; the rest are in the list of the post's likes.
pub const SHOWN_LIKERS: usize = 50;

/// A post as a viewer sees it, with its author represented by `A`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostView<A = Author> {
    /// The post.
    pub post: Post,
    /// Who wrote it.
    pub author: A,
    /// The newest likers, newest first, [`SHOWN_LIKERS`] at most.
    pub liked_by: Vec<Liker>,
    /// How many like it.
    pub like_count: u64,
    /// Whether the viewer likes it.
    pub liked_by_viewer: bool,
    /// How many comments it has.
    pub comment_count: u64,
    /// Whether the viewer has bookmarked it.
    pub bookmarked_by_viewer: bool,
}

/// An edit of a post; fields that are `None` stay unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PostEdit {
    /// The new text; an empty one clears it.
    pub text: Option<PostText>,
    /// The entities of the new text.
    pub entities: Option<Entities>,
    /// Who may view it from now on.
    pub visibility: Option<Visibility>,
    /// The change of the images.
    pub attachments: AttachmentsEdit,
    /// The versions of the post to which the edit applies.
    pub versions: Versions,
}

/// The fields of a post that a client sent; `None` if it did not send the field.
#[derive(Debug, Clone, Default)]
pub struct PostFields {
    /// The text.
    pub text: Option<PostText>,
    /// The visibility.
    pub visibility: Option<Visibility>,
    /// An image file, which becomes the only image of the post.
    pub image: Option<bytes::Bytes>,
    /// The ids of the images that the post is to have; ignored if there is a file.
    pub media: Option<MediaIds>,
    /// Whether to remove all images; ignored if there is a file or a list of ids.
    pub remove_image: bool,
    /// The violations found while parsing the fields, to be reported together with those that the rules find.
    pub errors: FieldErrors,
}
