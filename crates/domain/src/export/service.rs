//! The use case of exports.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{ExportRepository, ExportedComment, ExportedRelation, RelationKind};
use crate::accounts::{Account, AccountRepository, Caller, SessionRepository, Viewer};
use crate::error::{Error, Resource, Result};
use crate::id::{SessionId, UserId};
use crate::limits::{Counted, Limits};
use crate::media::{ImageKey, ImageStore, OpenImage, Rendition};
use crate::page::{Page, PageRequest, Position};
use crate::posts::{Post, PostRepository, Visibility};
use crate::reports::Report;

/// Makes exports.
pub struct Exports {
    /// Reads the account.
    pub accounts: Arc<dyn AccountRepository>,
    /// Checks that the caller's session is still valid.
    pub sessions: Arc<dyn SessionRepository>,
    /// Reads the posts.
    pub posts: Arc<dyn PostRepository>,
    /// Reads everything else.
    pub exports: Arc<dyn ExportRepository>,
    /// Reads the images.
    pub images: Arc<dyn ImageStore>,
    /// Limits how often an account may be exported.
    pub limits: Limits,
}

/// A part of an export. There is at least one part of each kind except images, though it may be empty, and parts of the same
/// kind follow each other.
pub enum ExportPart {
    /// The account.
    Account(Box<Account>),
    /// A page of its posts.
    Posts(Vec<Post>),
    /// A page of its comments.
    Comments(Vec<ExportedComment>),
    /// A page of its relations of one kind.
    Relations(RelationKind, Vec<ExportedRelation>),
    /// A page of its reports.
    Reports(Vec<Report>),
    /// The profile picture or an image of a post.
    Image(ImageKey, OpenImage),
}

/// What the next part is read from.
enum Stage {
    Account,
    Posts(Position),
    Comments(Position),
    Relations(usize, Position),
    Reports(Position),
    /// The images with these keys, and then the images of the posts from a position on.
    Images(VecDeque<ImageKey>, Option<Position>),
}

/// An export in progress: each part is read only when it is requested.
pub struct Export {
    accounts: Arc<dyn AccountRepository>,
    sessions: Arc<dyn SessionRepository>,
    posts: Arc<dyn PostRepository>,
    exports: Arc<dyn ExportRepository>,
    images: Arc<dyn ImageStore>,
    user: UserId,
    session: SessionId,
    stage: Stage,
}

impl Exports {
    /// Begins an export of the caller's account.
    ///
    /// # Errors
    /// [`Error::TooMany`] when the account began another export within the last hour (`contract`: Accounts).
    pub fn begin(&self, caller: &Caller) -> Result<Export> {
        self.limits.count(&Counted::Exports(caller.user))?;
        Ok(Export {
            accounts: Arc::clone(&self.accounts),
            sessions: Arc::clone(&self.sessions),
            posts: Arc::clone(&self.posts),
            exports: Arc::clone(&self.exports),
            images: Arc::clone(&self.images),
            user: caller.user,
            session: caller.session.id,
            stage: Stage::Account,
        })
    }
}

impl Export {
    /// Returns the next part; `None` at the end.
    ///
    /// # Errors
    /// [`Error::InvalidToken`] when the session has ended or the account was disabled since the export began; those of the
    /// repositories and of the image store. The export cannot continue after an error.
    pub async fn next(&mut self) -> Result<Option<ExportPart>> {
        // An export may last hours if the client reads slowly.
        let session = self.sessions.find(self.session).await?;
        session.and_then(Caller::of).ok_or(Error::InvalidToken)?;
        let request = |from| PageRequest { from, ..PageRequest::PART };
        let start = Position::Start;
        let (part, stage) = match &mut self.stage {
            Stage::Account => {
                let account = self.accounts.find(self.user).await?.ok_or(Error::NotFound(Resource::User))?;
                (ExportPart::Account(Box::new(account)), Stage::Posts(start))
            }
            Stage::Posts(from) => {
                let page = list_posts(&*self.posts, self.user, request(*from)).await?;
                let stage = page.next.map_or(Stage::Comments(start), Stage::Posts);
                (ExportPart::Posts(page.items), stage)
            }
            Stage::Comments(from) => {
                let page = self.exports.list_comments(self.user, request(*from)).await?;
                let stage = page.next.map_or(Stage::Relations(0, start), Stage::Comments);
                (ExportPart::Comments(page.items), stage)
            }
            Stage::Relations(nth, from) => {
                let (nth, kind) = (*nth, RelationKind::ALL[*nth]);
                let page = self.exports.list_relations(self.user, kind, request(*from)).await?;
                let stage = match page.next {
                    Some(from) => Stage::Relations(nth, from),
                    None if nth + 1 < RelationKind::ALL.len() => Stage::Relations(nth + 1, start),
                    None => Stage::Reports(start),
                };
                (ExportPart::Relations(kind, page.items), stage)
            }
            Stage::Reports(from) => {
                let page = self.exports.list_reports(self.user, request(*from)).await?;
                let stage = match page.next {
                    Some(from) => Stage::Reports(from),
                    None => {
                        let account = self.accounts.find(self.user).await?;
                        let picture = account.and_then(|account| account.profile_picture).map(|picture| picture.key);
                        Stage::Images(picture.into_iter().collect(), Some(start))
                    }
                };
                (ExportPart::Reports(page.items), stage)
            }
            Stage::Images(keys, next) => {
                return next_image(&*self.posts, &*self.images, self.user, keys, next).await;
            }
        };
        self.stage = stage;
        Ok(Some(part))
    }
}

/// Returns the user's own posts, newest first.
async fn list_posts(posts: &dyn PostRepository, user: UserId, page: PageRequest) -> Result<Page<Post>> {
    let found = posts.list_by_author(user, &Visibility::ALL, Viewer::ordinary(user), page).await?;
    Ok(found.map(|view| view.post))
}

/// Returns the next image that still exists. Images of hidden posts are skipped: they are served to nobody.
async fn next_image(
    posts: &dyn PostRepository,
    images: &dyn ImageStore,
    user: UserId,
    keys: &mut VecDeque<ImageKey>,
    next: &mut Option<Position>,
) -> Result<Option<ExportPart>> {
    loop {
        while let Some(key) = keys.pop_front() {
            if let Some(image) = images.open(&key, Rendition::Original, None).await? {
                return Ok(Some(ExportPart::Image(key, image)));
            }
        }
        let Some(from) = *next else { return Ok(None) };
        let page = list_posts(posts, user, PageRequest { from, ..PageRequest::PART }).await?;
        keys.extend(
            page.items.iter().flat_map(|post| post.shown_attachments()).map(|attachment| attachment.key.clone()),
        );
        *next = page.next;
    }
}
