//! The use cases of posts and likes.

use std::sync::Arc;

use super::{
    Audience, FeedRequest, Liker, Post, PostAccess, PostEdit, PostFields, PostHiding, PostRepository, PostView,
    VisibleTo,
};
use crate::accounts::{Account, AccountRepository, Admin, Member, Viewer};
use crate::audit::{Action, Actor, AuditEntry, Hiding, Target};
use crate::clock::Clock;
use crate::entities::{Hashtag, entities_of_text};
use crate::error::{Error, FieldName, Resource, Result};
use crate::follows::FollowRepository;
use crate::id::{IdGenerator, PostId, RelationId, UserId};
use crate::idempotency::{Attempt, Outcome};
use crate::limits::Requester;
use crate::media::{Attachment, AttachmentsEdit, ImageKey, ImagePorts, Images};
use crate::notices::{Act, NotificationKind, Subject};
use crate::page::{Page, PageRequest};
use crate::relation::NewRelation;
use crate::version::Versions;

const NO_POST: Error = Error::NotFound(Resource::Post);

/// The use cases of posts and their likes.
pub struct Posts {
    posts: Arc<dyn PostRepository>,
    accounts: Arc<dyn AccountRepository>,
    follows: Arc<dyn FollowRepository>,
    images: Images,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
}

/// Proof that the caller may edit this post: it exists, the caller is its author, and it is not hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnPost(PostId, Viewer);

/// Proof that the caller may hide this post or show it again: it exists, and the caller is an administrator.
#[derive(Debug, Clone, Copy)]
pub struct ManagedPost(PostId, Admin);

/// The number of attempts to hide a post whose author keeps changing its images.
const HIDING_ATTEMPTS: usize = 3;

fn keys_of(attachments: impl IntoIterator<Item = Attachment>) -> Vec<ImageKey> {
    attachments.into_iter().map(|attachment| attachment.key).collect()
}

impl Posts {
    /// Creates the use cases over these ports.
    pub fn new(
        posts: Arc<dyn PostRepository>,
        accounts: Arc<dyn AccountRepository>,
        follows: Arc<dyn FollowRepository>,
        images: ImagePorts,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
    ) -> Self {
        Self { posts, accounts, follows, images: Images::new(images, Arc::clone(&clock)), clock, ids }
    }

    /// Publishes a post. Without a visibility it is PUBLIC.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the text, the visibility, the image or the media; [`Error::TooLarge`] for the image;
    /// [`Error::Unavailable`] when too many images of the requester, or in total, are being checked; [`Error::NotFound`] when
    /// an earlier attempt published the post and it was deleted since.
    pub async fn create(
        &self,
        author: &Member,
        requester: &Requester,
        fields: PostFields,
        attempt: Attempt,
    ) -> Result<PostView> {
        if let Some(Outcome::PostCreated(id)) = attempt.outcome() {
            return self.get(author, id).await;
        }
        let PostFields { text, visibility, image, media, mut errors, .. } = fields;
        let (text, visibility) = (text.unwrap_or_default(), visibility.unwrap_or_default());
        let media = media.filter(|_| image.is_none()).unwrap_or_default();
        let has_image = image.is_some() || !media.as_slice().is_empty() || errors.contains(FieldName::Media);
        let image = self.images.clean(requester, FieldName::Image, image, &mut errors).await?;
        errors.absorb(Post::ensure_not_empty(&text, has_image))?;
        errors.into_result()?;
        let uploads = media.pick(&self.images.find_uploads(author.id(), &media).await?)?;

        let entities = entities_of_text(&*self.accounts, text.as_str(), author.id()).await?;
        let image = self.images.put(image).await?;
        let new_key = image.as_ref().map(|image| image.key.clone());
        let attachments = image.into_iter().chain(uploads).collect();
        let now = self.clock.now();
        let id = PostId::new(self.ids.generate());
        let act = Act { actor: author.id(), subject: Subject::Post(id), at: now };
        let notices = act.post_notices(&*self.ids, &entities);
        let entities = Some(entities);
        let (author, is_hidden) = (author.id(), false);
        let (created_at, updated_at) = (now, now);
        let post = Post { id, author, text, entities, attachments, visibility, is_hidden, created_at, updated_at };
        match self.posts.create(&post, &notices, attempt.id()).await {
            Ok(view) => Ok(view),
            Err(error) => Err(self.images.take_back(new_key, error).await),
        }
    }

    /// Returns a post, if the viewer may see it.
    ///
    /// # Errors
    /// [`Error::NotFound`] or [`Error::Forbidden`].
    pub async fn get(&self, viewer: &Member, id: PostId) -> Result<PostView> {
        let found = self.posts.find(id, viewer.viewer()).await?.ok_or(NO_POST)?;
        found.access().ensure_may_view(viewer)?;
        Ok(found.view)
    }

    /// Returns all posts of all authors, newest first.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list_all(&self, admin: &Admin, page: PageRequest) -> Result<Page<PostView<Account>>> {
        self.posts.list_all(admin.viewer(), page).await
    }

    /// Returns the posts of a user that the viewer may see, newest first.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown user.
    pub async fn list_by_author(&self, viewer: &Member, author: UserId, page: PageRequest) -> Result<Page<PostView>> {
        let standing = self.follows.find_standing(viewer.id(), author).await?;
        let audience = standing.map(|standing| Audience::of(viewer, author, standing));
        let audience =
            audience.filter(|audience| *audience != Audience::Blocked).ok_or(Error::NotFound(Resource::User))?;
        self.posts.list_by_author(author, audience.may_view(), viewer.viewer(), page).await
    }

    /// Returns the PUBLIC posts of all accounts, newest first, except those of disabled accounts, of those that the viewer mutes,
    /// and of those that a block separates from the viewer.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list_public(&self, viewer: &Member, page: PageRequest) -> Result<Page<PostView>> {
        self.posts.list_public(viewer.viewer(), page).await
    }

    /// Returns the following feed: the posts that the viewer may see of the authors whom the viewer follows, newest first.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn following_feed(&self, viewer: &Member, feed: FeedRequest) -> Result<Page<PostView>> {
        let audience = if viewer.is_admin() { Audience::Privileged } else { Audience::Follower };
        self.posts.list_followed(viewer.viewer(), audience.may_view(), feed).await
    }

    /// Returns the posts with a hashtag that the viewer may see, newest first, without those of disabled accounts.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list_by_tag(&self, viewer: &Member, tag: &Hashtag, page: PageRequest) -> Result<Page<PostView>> {
        self.posts.list_by_tag(tag, VisibleTo::of(viewer), page).await
    }

    /// Checks that the caller may edit a post. Callers do this before they read the body of the request.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the caller is not the author, or the post is hidden.
    pub async fn own(&self, caller: &Member, id: PostId) -> Result<OwnPost> {
        self.access(caller, id).await?.ensure_may_edit(caller)?;
        Ok(OwnPost(id, caller.viewer()))
    }

    /// Changes the fields of a post that are given, none if `fields` is empty.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the text, the visibility, the image or the media; [`Error::TooLarge`] for the image;
    /// [`Error::Stale`] when the edit is not meant for the present version; [`Error::NotFound`] when the post was deleted
    /// meanwhile; [`Error::Unavailable`] when too many images of the requester, or in total, are being checked.
    pub async fn update(
        &self,
        OwnPost(id, viewer): OwnPost,
        requester: &Requester,
        fields: PostFields,
        versions: Versions,
    ) -> Result<PostView> {
        let PostFields { text, visibility, image, media, remove_image, mut errors } = fields;
        let image = self.images.clean(requester, FieldName::Image, image, &mut errors).await?;
        errors.into_result()?;

        let entities = match &text {
            Some(text) => Some(entities_of_text(&*self.accounts, text.as_str(), viewer.id).await?),
            None => None,
        };
        let image = self.images.put(image).await?;
        let new_key = image.as_ref().map(|image| image.key.clone());
        let attachments = match (image, media) {
            (Some(image), _) => AttachmentsEdit::replace(image),
            (None, Some(media)) => {
                let uploads = self.images.find_uploads(viewer.id, &media).await?;
                AttachmentsEdit::Set(media, uploads)
            }
            (None, None) if remove_image => AttachmentsEdit::REMOVE,
            (None, None) => AttachmentsEdit::Keep,
        };
        let edit = PostEdit { text, entities, visibility, attachments, versions };
        match self.posts.edit(id, viewer, &edit, self.clock.now()).await {
            Ok(edited) => {
                self.images.delete_unreferenced(edited.replaced_images).await;
                Ok(edited.view)
            }
            Err(error) => Err(self.images.take_back(new_key, error).await),
        }
    }

    /// Deletes a post with its likes, comments and images.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the caller is not the author.
    pub async fn delete(&self, caller: &Member, id: PostId) -> Result<()> {
        self.access(caller, id).await?.ensure_author(caller)?;
        let deleted = self.posts.delete(id, self.clock.now()).await?;
        self.images.delete_unreferenced(keys_of(deleted.attachments)).await;
        Ok(())
    }

    /// Checks that a post exists. Callers do this before they read the decision to hide it or to show it again.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    pub async fn managed(&self, admin: &Admin, id: PostId) -> Result<ManagedPost> {
        self.posts.find_access(id, admin.id()).await?.ok_or(NO_POST)?;
        Ok(ManagedPost(id, *admin))
    }

    /// Hides a post, or shows it again; has no effect if the post is in that state already.
    ///
    /// Hiding gives the images new keys, so that they are no longer served to those who know the old ones (`contract`: Reports and
    /// administration).
    /// Images that the store cannot copy now keep their keys; returns how many these are.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the post was deleted meanwhile; [`Error::Stale`] when its images changed during each of the
    /// `HIDING_ATTEMPTS`.
    pub async fn set_hidden(&self, ManagedPost(id, admin): ManagedPost, hiding: &Hiding) -> Result<usize> {
        let mut outcome = Ok(0);
        for _ in 0..HIDING_ATTEMPTS {
            outcome = self.try_set_hidden(&admin, id, hiding).await;
            if !matches!(outcome, Err(Error::Stale)) {
                break;
            }
        }
        outcome
    }

    async fn try_set_hidden(&self, admin: &Admin, id: PostId, Hiding { hidden, reason }: &Hiding) -> Result<usize> {
        let post = self.posts.find(id, admin.viewer()).await?.ok_or(NO_POST)?.view.post;
        if post.is_hidden == *hidden {
            return Ok(0);
        }
        let before = post.attachments;
        let after = if *hidden { self.images.copy(&before).await? } else { before.clone() };
        let action = if *hidden { Action::PostHidden } else { Action::PostShown };
        let (actor, now) = (Actor::Account(admin.id()), self.clock.now());
        let entry = AuditEntry::new(&*self.ids, now, actor, action, Target::Post(id)).with_details(reason.as_str());
        let hiding = PostHiding { hidden: *hidden, before, after };
        let outcome = self.posts.set_hidden(id, &hiding, &entry).await;
        let PostHiding { before, after, .. } = hiding;
        // An image that could not be copied is in both lists.
        let only_in = |these: &[Attachment], others: &[Attachment]| {
            keys_of(these.iter().filter(|it| !others.contains(it)).cloned())
        };
        match outcome {
            Ok(true) => {
                let kept = after.iter().filter(|it| *hidden && before.contains(it)).count();
                self.images.delete_unreferenced(only_in(&before, &after)).await;
                Ok(kept)
            }
            Ok(false) => {
                self.images.delete_unreferenced(only_in(&after, &before)).await;
                Ok(0)
            }
            Err(error) => Err(self.images.take_back(only_in(&after, &before), error).await),
        }
    }

    /// Turns the caller's like on or off; returns whether it is on now.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the caller may not see the post.
    pub async fn toggle_like(&self, caller: &Member, id: PostId, attempt: Attempt) -> Result<bool> {
        if let Some(Outcome::LikeToggled(likes)) = attempt.outcome() {
            return Ok(likes);
        }
        let access = self.access(caller, id).await?;
        access.ensure_shown(caller)?;
        // Users can take back their likes despite blocks (`contract`: Safety). Without a like, the post does not exist for them.
        if access.ensure_not_blocked(caller).is_err() {
            return self.posts.retract_like(id, caller.id(), attempt.id()).await.map(|()| false);
        }
        access.ensure_may_view(caller)?;
        self.posts.toggle_like(id, caller.id(), self.new_like(caller, access), attempt.id()).await
    }

    /// Turns the caller's like on; has no effect if it is on already.
    ///
    /// # Errors
    /// Those of [`toggle_like`](Self::toggle_like).
    pub async fn like(&self, caller: &Member, id: PostId) -> Result<()> {
        let access = self.viewable(caller, id).await?;
        self.posts.set_like(id, caller.id(), self.new_like(caller, access)).await
    }

    /// Turns the caller's like off; has no effect if it is off already.
    ///
    /// # Errors
    /// Those of [`toggle_like`](Self::toggle_like).
    pub async fn unlike(&self, caller: &Member, id: PostId) -> Result<()> {
        let access = self.access(caller, id).await?;
        access.ensure_shown(caller)?;
        if access.ensure_not_blocked(caller).is_err() {
            return self.posts.retract_like(id, caller.id(), None).await;
        }
        access.ensure_may_view(caller)?;
        self.posts.unset_like(id, caller.id()).await.map(drop)
    }

    /// Returns the users who like a post, newest like first.
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Forbidden`] when the caller may not see the post.
    pub async fn list_likers(&self, caller: &Member, id: PostId, page: PageRequest) -> Result<Page<Liker>> {
        self.viewable(caller, id).await?;
        self.posts.list_likers(id, caller.viewer(), page).await
    }

    async fn access(&self, caller: &Member, id: PostId) -> Result<PostAccess> {
        self.posts.find_access(id, caller.id()).await?.ok_or(NO_POST)
    }

    /// Returns the access facts of a post, after checking that the caller may view it.
    async fn viewable(&self, caller: &Member, id: PostId) -> Result<PostAccess> {
        let access = self.access(caller, id).await?;
        access.ensure_may_view(caller)?;
        Ok(access)
    }

    fn new_like(&self, liker: &Member, post: PostAccess) -> NewRelation {
        let (id, at) = (RelationId::new(self.ids.generate()), self.clock.now());
        let act = Act { actor: liker.id(), subject: Subject::Post(post.id), at };
        NewRelation { id, at, notice: act.notice(&*self.ids, post.author, NotificationKind::Like) }
    }
}
