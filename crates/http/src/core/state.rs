//! The shared state of the handlers: the use cases and the operator's settings.

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
use agora_domain::mail::{AccountMail, OutboxAdmin};
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

/// How many event streams may replay missed events at a time: each replay queries the database.
pub(crate) const MAX_CONCURRENT_REPLAYS: usize = 8;

/// The use cases.
pub struct Services {
    /// Login and sessions.
    pub authentication: Authentication,
    /// Accounts, profiles and roles.
    pub accounts: Accounts,
    /// Deletion of accounts.
    pub deletion: Deletion,
    /// Verification and changes of email addresses, and password resets.
    pub account_mail: AccountMail,
    /// The queue of mails to be sent, as administrators see it.
    pub outbox: OutboxAdmin,
    /// Posts and likes.
    pub posts: Posts,
    /// Posts that users have bookmarked.
    pub bookmarks: Bookmarks,
    /// Blocks and mutes.
    pub blocks: Blocks,
    /// Comments.
    pub comments: Comments,
    /// Exports of a user's own data.
    pub exports: Exports,
    /// Reports of content and users to the administrators.
    pub reports: Reports,
    /// The log of what administrators did.
    pub audit_log: AuditLog,
    /// Backups to download.
    pub backups: Backups,
    /// Counts of what is stored, for administrators.
    pub overview: Overview,
    /// The notifications of users.
    pub notifications: Notifications,
    /// Live updates, for event streams.
    pub live: Arc<LiveUpdates>,
    /// Who follows whom.
    pub follows: Follows,
    /// Profiles and lists of users, as other users see them.
    pub people: People,
    /// The catalog.
    pub products: Products,
    /// Posts, users and products found by their words.
    pub search: Search,
    /// Images, and their upload.
    pub media: Media,
    /// Rate limits of clients and accounts.
    pub limits: Limits,
    /// Records of requests with an `Idempotency-Key`.
    pub idempotency: Idempotency,
    /// Generates request ids.
    pub ids: Arc<dyn IdGenerator>,
    /// Health probes of what the service depends on.
    pub probes: Probes,
}

/// The use cases over a replica of the database, for lists.
pub struct ReplicaServices {
    /// Knows which callers may read from the replica now.
    pub replica: Arc<dyn ReadReplica>,
    /// The use cases over the replica.
    pub services: Services,
}

/// A shared flag that shutdown has begun. From then on the readiness probe fails.
#[derive(Debug, Clone, Default)]
pub struct ShutdownFlag(Arc<AtomicBool>);

impl ShutdownFlag {
    /// Records that shutdown has begun.
    pub fn begin(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Marks a response that is a stream of events. It does not count as a request in flight once it has begun.
pub(crate) struct EventStream;

/// The replica of the database, from which lists are read.
pub(crate) struct Replica {
    pub(crate) replica: Arc<dyn ReadReplica>,
    /// The state whose use cases read from the replica.
    pub(crate) state: Data<State>,
}

/// Marks a request for a list that is read from the replica, with the state to read it by.
pub(crate) struct FromReplica(pub(crate) Data<State>);

/// The state that every layer may need: the use cases and the operator's settings.
pub(crate) struct State {
    pub(crate) services: Services,
    /// The replica of the database, if there is one.
    pub(crate) replica: Option<Replica>,
    /// The base URL under which clients reach the service, without a trailing slash.
    pub(crate) public_url: String,
    /// The most bytes of an uploaded image.
    pub(crate) max_image_bytes: usize,
    /// How long the work on a request may take.
    pub(crate) request_time: Duration,
    pub(crate) trusted_proxies: TrustedProxies,
    pub(crate) mac_keys: MacKeys,
    pub(crate) stopping: ShutdownFlag,
    /// A permit for each event stream that replays missed events.
    pub(crate) replays: Semaphore,
}

impl State {
    /// Records, if there is a replica, that a user may have written something. It must be called before the user gets the
    /// response.
    pub(crate) async fn record_write(&self, user: UserId) {
        let Some(replica) = &self.replica else { return };
        // The replica handles a failure itself: it then counts the write as everybody's.
        if let Err(error) = replica.replica.record_write(user).await {
            tracing::warn!(cause = error.cause(), "could not record that an account has written");
        }
    }

    /// Returns the URL at which clients fetch a file of an image: that of the image store if it has one, otherwise one of this
    /// service.
    pub(crate) fn image_url(&self, key: &ImageKey, rendition: Rendition) -> String {
        let own_url = || format!("{}/media/{}", self.public_url, key.file_name(rendition));
        self.services.media.public_url(key, rendition).unwrap_or_else(own_url)
    }
}
