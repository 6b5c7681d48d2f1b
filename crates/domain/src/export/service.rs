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
    /// Where accounts are kept.
    pub accounts: Arc<dyn AccountRepository>,
    /// Where sessions are.
    pub sessions: Arc<dyn SessionRepository>,
    /// Where posts are.
    pub posts: Arc<dyn PostRepository>,
    /// Where everything else is read.
    pub exports: Arc<dyn ExportRepository>,
    /// Where images are kept.
    pub images: Arc<dyn ImageStore>,
    /// How often an account may be exported.
    pub limits: Limits,
}

/// A piece of an export. Of each kind there is at least one, though it may be empty, and those of a kind follow each other.
pub enum ExportPart {
    /// The account.
    Account(Box<Account>),
    /// Some of its posts.
    Posts(Vec<Post>),
    /// Some of its comments.
    Comments(Vec<ExportedComment>),
    /// Some of its relations of a kind.
    Relations(RelationKind, Vec<ExportedRelation>),
    /// Some of its reports.
    Reports(Vec<Report>),
    /// An image of its profile or of a post.
    Image(ImageKey, OpenImage),
}

/// What comes next.
enum Stage {
    Account,
    Posts(Position),
    Comments(Position),
    Relations(usize, Position),
    Reports(Position),
    /// The images of these, and then those of the posts from a position on.
    Images(VecDeque<ImageKey>, Option<Position>),
}

/// An export that is being made, piece by piece: nothing is read before it is asked for.
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
    /// Begins to export the caller's account.
    ///
    /// # Errors
    /// [`Error::TooMany`] when one was begun within an hour (`contract`: Account life).
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
    /// Returns the next piece; `None` at the end.
    ///
    /// # Errors
    /// [`Error::InvalidToken`] when the session has ended, or the account was disabled, since it was begun; those of the repositories
    /// and of the image store. It cannot go on then.
    pub async fn next(&mut self) -> Result<Option<ExportPart>> {
        // Whoever reads slowly reads for hours.
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

/// Returns the next image that there is: those of hidden posts are served to nobody.
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
