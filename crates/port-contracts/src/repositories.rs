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

/// Declares the struct of all ports, and a constructor from one adapter that implements each of them.
macro_rules! repositories {
    ($($(#[$doc:meta])* $name:ident: $Port:ident,)+) => {
        /// The repositories of one fresh, empty database.
        #[derive(Clone)]
        pub struct Repositories {
            $($(#[$doc])* pub $name: Arc<dyn $Port>,)+
        }

        impl Repositories {
            /// Returns the repositories of an adapter that implements each port.
            pub fn of<D: $($Port +)+ 'static>(database: &Arc<D>) -> Self {
                Self { $($name: database.clone(),)+ }
            }
        }
    };
}

repositories! {
    /// Accounts.
    accounts: AccountRepository,
    /// Sessions.
    sessions: SessionRepository,
    /// Posts and likes.
    posts: PostRepository,
    /// Exports of accounts.
    exports: ExportRepository,
    /// The audit log.
    audit: AuditRepository,
    /// Reports.
    reports: ReportRepository,
    /// Deleted accounts.
    deletions: DeletionRepository,
    /// Mails to be sent.
    outbox: Outbox,
    /// The redemption of tokens in mails.
    redemption: TokenRedemption,
    /// Blocks and mutes.
    blocks: BlockRepository,
    /// Bookmarks.
    bookmarks: BookmarkRepository,
    /// Posts and comments whose entities are not extracted yet.
    texts: TextBacklog,
    /// Comments.
    comments: CommentRepository,
    /// Notifications.
    notifications: NotificationRepository,
    /// The event log.
    events: EventLog,
    /// Who may receive events.
    event_audience: EventAudience,
    /// Follows.
    follows: FollowRepository,
    /// The totals of what is stored.
    overview: OverviewRepository,
    /// Users as others see them.
    people: PeopleRepository,
    /// Products.
    products: ProductRepository,
    /// The whole catalog.
    catalog: Catalog,
    /// Full-text search.
    search: SearchRepository,
    /// The search index. Adapters under test pack few texts into a bucket.
    search_index: SearchIndex,
    /// Idempotent requests.
    idempotency: IdempotencyRepository,
    /// The record of the images that no row references.
    images: UnreferencedImages,
    /// The images that rows reference.
    image_references: ImageReferences,
    /// The images of posts that have no preview yet.
    previews: PreviewBacklog,
}
