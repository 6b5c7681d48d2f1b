//! The ports that the cases use.

use std::sync::Arc;

use agora_domain::accounts::{AccountRepository, SessionRepository};
use agora_domain::audit_log::AuditRepository;
use agora_domain::blocks::BlockRepository;
use agora_domain::bookmarks::BookmarkRepository;
use agora_domain::comments::CommentRepository;
use agora_domain::deletion::DeletionRepository;
use agora_domain::events::{EventAudience, EventLog};
use agora_domain::export::ExportRepository;
use agora_domain::follows::FollowRepository;
use agora_domain::idempotency::IdempotencyRepository;
use agora_domain::mail::{Outbox, TokenRedemption};
use agora_domain::media::{ImageReferences, PreviewBacklog, UnreferencedImages};
use agora_domain::notifications::NotificationRepository;
use agora_domain::overview::OverviewRepository;
use agora_domain::people::PeopleRepository;
use agora_domain::posts::PostRepository;
use agora_domain::products::{Catalog, ProductRepository};
use agora_domain::reports::ReportRepository;
use agora_domain::search::{SearchIndex, SearchRepository};
use agora_domain::texts::TextBacklog;

/// The repositories of one fresh, empty database.
#[derive(Clone)]
pub struct Repositories {
    /// Accounts.
    pub accounts: Arc<dyn AccountRepository>,
    /// Sessions.
    pub sessions: Arc<dyn SessionRepository>,
    /// Posts and likes.
    pub posts: Arc<dyn PostRepository>,
    /// What users take along.
    pub exports: Arc<dyn ExportRepository>,
    /// What administrators did.
    pub audit: Arc<dyn AuditRepository>,
    /// What users report.
    pub reports: Arc<dyn ReportRepository>,
    /// Deleted accounts.
    pub deletions: Arc<dyn DeletionRepository>,
    /// Mails that wait to be sent.
    pub outbox: Arc<dyn Outbox>,
    /// What tokens of mails are good for.
    pub redemption: Arc<dyn TokenRedemption>,
    /// Blocks and mutes.
    pub blocks: Arc<dyn BlockRepository>,
    /// Bookmarks.
    pub bookmarks: Arc<dyn BookmarkRepository>,
    /// Posts whose entities are not extracted yet.
    pub texts: Arc<dyn TextBacklog>,
    /// Comments.
    pub comments: Arc<dyn CommentRepository>,
    /// What users are told.
    pub notifications: Arc<dyn NotificationRepository>,
    /// What happened.
    pub events: Arc<dyn EventLog>,
    /// Who may be told of it.
    pub event_audience: Arc<dyn EventAudience>,
    /// Follows.
    pub follows: Arc<dyn FollowRepository>,
    /// How much there is of everything.
    pub overview: Arc<dyn OverviewRepository>,
    /// Users as others see them.
    pub people: Arc<dyn PeopleRepository>,
    /// Products.
    pub products: Arc<dyn ProductRepository>,
    /// The whole catalog.
    pub catalog: Arc<dyn Catalog>,
    /// Things found by their words.
    pub search: Arc<dyn SearchRepository>,
    /// The index from which they are found, of which few things are packed together.
    pub search_index: Arc<dyn SearchIndex>,
    /// Requests that are sent again.
    pub idempotency: Arc<dyn IdempotencyRepository>,
    /// The record of the images that no row names.
    pub images: Arc<dyn UnreferencedImages>,
    /// The images that rows name.
    pub named_images: Arc<dyn ImageReferences>,
    /// The images of posts that have no preview yet.
    pub previews: Arc<dyn PreviewBacklog>,
}
