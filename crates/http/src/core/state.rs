//! What the handlers work with.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_web::web::Data;
use agora_domain::accounts::{Accounts, Authentication};
use agora_domain::audit_log::AuditLog;
use agora_domain::backups::Backups;
use agora_domain::blocks::Blocks;
use agora_domain::bookmarks::Bookmarks;
use agora_domain::comments::Comments;
use agora_domain::deletion::Deletion;
use agora_domain::events::LiveUpdates;
use agora_domain::export::Exports;
use agora_domain::follows::Follows;
use agora_domain::health::Probes;
use agora_domain::id::{IdGenerator, UserId};
use agora_domain::idempotency::Idempotency;
use agora_domain::limits::Limits;
use agora_domain::mail::{AccountMail, OutboxCare};
use agora_domain::media::{ImageKey, Media, Rendition};
use agora_domain::notifications::Notifications;
use agora_domain::overview::Overview;
use agora_domain::people::People;
use agora_domain::posts::Posts;
use agora_domain::products::Products;
use agora_domain::replica::ReadReplica;
use agora_domain::reports::Reports;
use agora_domain::search::Search;
use tokio::sync::Semaphore;

use crate::core::{MacKeys, TrustedProxies};

/// How many streams are told at once what they have missed: each of them asks the database.
pub(crate) const REPLAYS: usize = 8;

/// The use cases.
pub struct Services {
    /// Login and sessions.
    pub authentication: Authentication,
    /// Accounts, profiles and roles.
    pub accounts: Accounts,
    /// The end of accounts.
    pub deletion: Deletion,
    /// What goes by mail.
    pub account_mail: AccountMail,
    /// Mails that wait to be sent.
    pub outbox: OutboxCare,
    /// Posts and likes.
    pub posts: Posts,
    /// Posts that users keep for themselves.
    pub bookmarks: Bookmarks,
    /// Blocks and mutes.
    pub blocks: Blocks,
    /// Comments.
    pub comments: Comments,
    /// What users take along.
    pub exports: Exports,
    /// What users report.
    pub reports: Reports,
    /// What administrators did.
    pub audit_log: AuditLog,
    /// Backups that are downloaded.
    pub backups: Backups,
    /// How much there is of everything.
    pub overview: Overview,
    /// What users were told.
    pub notifications: Notifications,
    /// What happens, for those who listen.
    pub live: Arc<LiveUpdates>,
    /// Who follows whom.
    pub follows: Follows,
    /// What users see of each other.
    pub people: People,
    /// The catalog.
    pub products: Products,
    /// Posts, users and products found by their words.
    pub search: Search,
    /// Images, and their upload.
    pub media: Media,
    /// How often a client may try to log in and to register.
    pub limits: Limits,
    /// Requests that are sent again.
    pub idempotency: Idempotency,
    /// Makes request ids.
    pub ids: Arc<dyn IdGenerator>,
    /// Asks what the service depends on.
    pub probes: Probes,
}

/// The use cases over a replica of the database, for lists.
pub struct ReplicaServices {
    /// What may be read from it.
    pub replica: Arc<dyn ReadReplica>,
    /// The use cases.
    pub services: Services,
}

/// Whether the service was told to stop: from then on it says that it is not ready.
#[derive(Debug, Clone, Default)]
pub struct Stopping(Arc<AtomicBool>);

impl Stopping {
    /// Says that it was.
    pub fn begin(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Marks an answer that is a stream of events: no request in flight once it has begun.
pub(crate) struct EventStream;

/// What lists are read from instead of the database that takes writes.
pub(crate) struct Replica {
    pub(crate) replica: Arc<dyn ReadReplica>,
    /// The use cases over it.
    pub(crate) state: Data<State>,
}

/// Marks a request for a list that is read from the replica.
pub(crate) struct FromReplica(pub(crate) Data<State>);

/// What every layer may need: the use cases, and what the operator has set.
pub(crate) struct State {
    pub(crate) services: Services,
    /// What is read from a replica, if there is one.
    pub(crate) replica: Option<Replica>,
    /// Where clients reach the service, without a slash at the end.
    pub(crate) public_url: String,
    /// The most bytes of an uploaded image.
    pub(crate) max_image_bytes: usize,
    /// How long the work on a request may take.
    pub(crate) request_time: Duration,
    pub(crate) trusted_proxies: TrustedProxies,
    pub(crate) mac_keys: MacKeys,
    pub(crate) stopping: Stopping,
    /// A turn for each of the streams that are told at once what they have missed.
    pub(crate) replays: Semaphore,
}

impl State {
    /// Records that a user may have written something, before the user is told so, where lists are read from a replica.
    pub(crate) async fn record_write(&self, user: UserId) {
        let Some(replica) = &self.replica else { return };
        // What could not be recorded holds for everybody later.
        if let Err(error) = replica.replica.record_write(user).await {
            tracing::warn!(cause = error.cause(), "could not record who has written");
        }
    }

    /// Returns the address at which clients fetch a file of an image: where it is kept, or else here.
    pub(crate) fn image_url(&self, key: &ImageKey, rendition: Rendition) -> String {
        let here = || format!("{}/media/{}", self.public_url, key.file_name(rendition));
        self.services.media.public_url(key, rendition).unwrap_or_else(here)
    }
}
