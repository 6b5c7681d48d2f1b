//! Posts and likes, and the rules about them.

use crate::accounts::{Author, Member, Username, Viewer};
use crate::clock::Timestamp;
use crate::entities::Entities;
use crate::error::ViolationKind::Required;
use crate::error::{Error, FieldErrors, FieldName, Forbidden, Resource, Result, Violation};
use crate::id::{PostId, UserId};
use crate::media::{Attachment, AttachmentsEdit, ImageKey, MediaIds};
use crate::named::named;
use crate::relation::Standing;
use crate::text::texts;
use crate::version::{Versions, next_version};

texts! {
    /// The text of a post: at most 5,000 characters, stored as sent but for trimming. Empty only beside an image.
    #[derive(Default)]
    PostText(5000, trimmed "Text");
}

impl PostText {
    /// Returns whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

named! {
    /// Who may view a post, besides its author and every ADMIN.
    #[derive(Default)]
    Visibility "Visibility must be PUBLIC, FOLLOWERS or PRIVATE" {
        /// Everybody with a token.
        #[default]
        Public = "PUBLIC",
        /// The author's followers.
        Followers = "FOLLOWERS",
        /// Nobody.
        Private = "PRIVATE",
    }
}

/// What a viewer is to the author of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// The author, or an ADMIN.
    Privileged,
    /// Somebody who follows the author.
    Follower,
    /// Anybody else.
    Stranger,
    /// One whom a block keeps apart from the author, to whom the author's posts are not there.
    Apart,
}

impl Audience {
    /// What `viewer` is to `author`.
    pub fn of(viewer: &Member, author: UserId, standing: Standing) -> Self {
        match standing {
            _ if viewer.id() == author || viewer.is_admin() => Self::Privileged,
            Standing::Follower => Self::Follower,
            Standing::Stranger => Self::Stranger,
            Standing::Apart => Self::Apart,
        }
    }

    /// Returns the posts this audience may view. This is the rule of who may view; it holds for every read.
    pub const fn may_view(self) -> &'static [Visibility] {
        match self {
            Self::Privileged => &Visibility::ALL,
            Self::Follower => &[Visibility::Public, Visibility::Followers],
            Self::Stranger => &[Visibility::Public],
            Self::Apart => &[],
        }
    }
}

/// The posts of anybody that somebody may view: the rule of [`Audience`] as the condition of a list. Those of people apart
/// from the viewer are not among them, unless the viewer sees all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisibleTo {
    /// Who. Their own posts are visible to them, all of them.
    pub viewer: Viewer,
    /// Which posts of those whom they follow.
    pub followed: &'static [Visibility],
    /// Which posts of all others.
    pub others: &'static [Visibility],
}

impl VisibleTo {
    /// What `viewer` may view.
    pub fn of(viewer: &Member) -> Self {
        let audience = |other| if viewer.is_admin() { Audience::Privileged } else { other };
        let (followed, others) = (audience(Audience::Follower), audience(Audience::Stranger));
        Self { viewer: viewer.viewer(), followed: followed.may_view(), others: others.may_view() }
    }
}

/// A post as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// Names it.
    pub id: PostId,
    /// Who wrote it.
    pub author: UserId,
    /// Its text.
    pub text: PostText,
    /// What the text names; `None` while that was not extracted.
    pub entities: Option<Entities>,
    /// Its images, [`Attachment::MAX`] at most, in the order in which they are shown.
    pub attachments: Vec<Attachment>,
    /// Who may view it.
    pub visibility: Visibility,
    /// Whether an administrator has hidden it: then only its author and administrators may.
    pub is_hidden: bool,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was last changed; at first, when it was written.
    pub updated_at: Timestamp,
}

impl Post {
    /// The rule that a post holds text, an image, or both.
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

    /// Returns those of its images that are shown: none of a hidden post (`contract`: Safety).
    pub fn shown_attachments(&self) -> &[Attachment] {
        if self.is_hidden { &[] } else { &self.attachments }
    }

    /// Returns the post after an edit at `at`, and the images that no longer belong to it.
    ///
    /// # Errors
    /// [`Error::Forbidden`] when the post is hidden; [`Error::Stale`] when the edit is not meant for this version; [`Error::Invalid`] naming the text when neither text
    /// nor image would be left, or the media when one is neither the post's nor an upload.
    pub fn apply(mut self, edit: &PostEdit, at: Timestamp) -> Result<(Self, Vec<ImageKey>)> {
        if self.is_hidden {
            return Err(HIDDEN);
        }
        edit.versions.ensure_include(self.updated_at)?;
        let before = self.clone();
        // Entities are extracted when a text is written: the same text keeps those it has.
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

/// Why what is hidden cannot be changed.
pub(crate) const HIDDEN: Error = Error::Forbidden(Forbidden::Hidden);

/// What decides who may do what with a post.
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
    /// How the viewer stands to the author.
    pub standing: Standing,
}

impl PostAccess {
    /// Returns what would decide if nobody blocked anybody.
    #[must_use]
    pub fn blocks_aside(self) -> Self {
        Self { standing: self.standing.blocks_aside(), ..self }
    }

    /// The rule for every read, like and comment.
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

    /// The rule that to people apart from the author the post is not there, and a hidden one to nobody but its author and
    /// ADMIN, before anything else is looked at (`contract`: Safety).
    ///
    /// # Errors
    /// [`Error::NotFound`] for them.
    pub fn ensure_there(&self, viewer: &Member) -> Result<()> {
        self.ensure_shown(viewer)?;
        self.ensure_not_apart(viewer)
    }

    /// The part of [`ensure_there`](Self::ensure_there) that is about hidden posts.
    ///
    /// # Errors
    /// Those of [`ensure_there`](Self::ensure_there).
    pub fn ensure_shown(&self, viewer: &Member) -> Result<()> {
        if self.is_hidden && self.audience(viewer) != Audience::Privileged {
            return Err(Error::NotFound(Resource::Post));
        }
        Ok(())
    }

    /// The part of [`ensure_there`](Self::ensure_there) that is about people apart.
    ///
    /// # Errors
    /// Those of [`ensure_there`](Self::ensure_there).
    pub fn ensure_not_apart(&self, viewer: &Member) -> Result<()> {
        match self.audience(viewer) {
            Audience::Apart => Err(Error::NotFound(Resource::Post)),
            Audience::Privileged | Audience::Follower | Audience::Stranger => Ok(()),
        }
    }

    fn audience(&self, viewer: &Member) -> Audience {
        Audience::of(viewer, self.author, self.standing)
    }

    /// The rule for edits: the author alone, whatever role anybody else has, while the post is not hidden.
    ///
    /// # Errors
    /// Those of [`ensure_author`](Self::ensure_author); [`Error::Forbidden`] when the post is hidden.
    pub fn ensure_may_edit(&self, caller: &Member) -> Result<()> {
        self.ensure_author(caller)?;
        if self.is_hidden { Err(HIDDEN) } else { Ok(()) }
    }

    /// The rule for deletion: the author alone, whatever role anybody else has.
    ///
    /// # Errors
    /// Those of [`ensure_there`](Self::ensure_there); [`Error::Forbidden`] for anybody else.
    pub fn ensure_author(&self, caller: &Member) -> Result<()> {
        self.ensure_there(caller)?;
        if self.author == caller.id() { Ok(()) } else { Err(Error::Forbidden(Forbidden::NotPostAuthor)) }
    }
}

/// A user as the likes of a post show them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Liker {
    /// Names the account.
    pub id: UserId,
    /// The user's name.
    pub username: Username,
    /// The user's picture.
    pub profile_picture: Option<ImageKey>,
}

/// How many likers a post shows at most; the others are behind the list of its likes.
pub const SHOWN_LIKERS: usize = 50;

/// A post as a viewer sees it, its author in the shape `A`.
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

/// A change of a post; what is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PostEdit {
    /// The new text; an empty one clears it.
    pub text: Option<PostText>,
    /// What the new text names.
    pub entities: Option<Entities>,
    /// Who may view it from now on.
    pub visibility: Option<Visibility>,
    /// What becomes of the images.
    pub attachments: AttachmentsEdit,
    /// The versions it is meant for.
    pub versions: Versions,
}

/// The fields of a post that a client sent. What is `None` was not sent.
#[derive(Debug, Clone, Default)]
pub struct PostFields {
    /// The text.
    pub text: Option<PostText>,
    /// The visibility.
    pub visibility: Option<Visibility>,
    /// An image file: the only image of the post from then on.
    pub image: Option<bytes::Bytes>,
    /// The images that the post is to have; a file wins.
    pub media: Option<MediaIds>,
    /// Whether all images are to be removed; those that are given win.
    pub remove_image: bool,
    /// What is invalid among them, to be reported together with what the rules find.
    pub errors: FieldErrors,
}
