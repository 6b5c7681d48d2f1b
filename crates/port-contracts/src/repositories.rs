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

/// Declares the ports, each a field, and what takes all of them from one adapter.
macro_rules! repositories {
    ($($(#[$doc:meta])* $name:ident: $Port:ident,)+) => {
        /// The repositories of one fresh, empty database.
        #[derive(Clone)]
        pub struct Repositories {
            $($(#[$doc])* pub $name: Arc<dyn $Port>,)+
        }

        impl Repositories {
            /// Returns those of an adapter that implements each port.
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
    /// What users take along.
    exports: ExportRepository,
    /// What administrators did.
    audit: AuditRepository,
    /// What users report.
    reports: ReportRepository,
    /// Deleted accounts.
    deletions: DeletionRepository,
    /// Mails that wait to be sent.
    outbox: Outbox,
    /// What tokens of mails are good for.
    redemption: TokenRedemption,
    /// Blocks and mutes.
    blocks: BlockRepository,
    /// Bookmarks.
    bookmarks: BookmarkRepository,
    /// Posts whose entities are not extracted yet.
    texts: TextBacklog,
    /// Comments.
    comments: CommentRepository,
    /// What users are told.
    notifications: NotificationRepository,
    /// What happened.
    events: EventLog,
    /// Who may be told of it.
    event_audience: EventAudience,
    /// Follows.
    follows: FollowRepository,
    /// How much there is of everything.
    overview: OverviewRepository,
    /// Users as others see them.
    people: PeopleRepository,
    /// Products.
    products: ProductRepository,
    /// The whole catalog.
    catalog: Catalog,
    /// Things found by their words.
    search: SearchRepository,
    /// The index from which they are found, of which few things are packed together.
    search_index: SearchIndex,
    /// Requests that are sent again.
    idempotency: IdempotencyRepository,
    /// The record of the images that no row names.
    images: UnreferencedImages,
    /// The images that rows name.
    named_images: ImageReferences,
    /// The images of posts that have no preview yet.
    previews: PreviewBacklog,
}
