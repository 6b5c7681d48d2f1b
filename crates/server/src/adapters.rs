//! The wiring: connects adapters to ports, and ports to use cases.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agora_config::Config;
use agora_database::{Database, Replica};
use agora_domain::accounts::{Accounts, Authentication, PasswordChecks, TokenIssuer, TokenLifetime};
use agora_domain::audit_log::AuditLog;
use agora_domain::backups::{BackupSource, Backups};
use agora_domain::blocks::{Blocks, MuteExpiry};
use agora_domain::bookmarks::Bookmarks;
use agora_domain::clock::Clock;
use agora_domain::comments::Comments;
use agora_domain::deletion::{Deletion, Erasure};
use agora_domain::events::{EventPorts, LiveUpdates};
use agora_domain::export::Exports;
use agora_domain::follows::Follows;
use agora_domain::health::Probes;
use agora_domain::id::IdGenerator;
use agora_domain::idempotency::Idempotency;
use agora_domain::limits::Limits;
use agora_domain::mail::{AccountMail, MailDelivery, OutboxAdmin};
use agora_domain::media::{ImagePorts, Media, MediaSweep, PreviewBackfill};
use agora_domain::notifications::{NotificationSweep, Notifications};
use agora_domain::overview::Overview;
use agora_domain::people::People;
use agora_domain::posts::Posts;
use agora_domain::products::Products;
use agora_domain::reports::Reports;
use agora_domain::search::{Indexing, Search};
use agora_domain::texts::TextBackfill;
use agora_http::{ReplicaServices, Services};
use agora_mail::Smtp;
use agora_media::{Cleaner, ImageLimits, ObjectImageStore};
use agora_operations::eraser::Eraser;
use agora_operations::indexer::Indexer;
use agora_operations::mailer::Mailer;
use agora_operations::open;
use agora_operations::sweep::Sweep;
use agora_operations::system::{SystemClock, SystemIds};
use agora_operations::transfer::BackupDownloads;
use agora_security::{BcryptHasher, BoundedCounters, CachedSessions, JwtIssuer, RandomMailTokens};
use anyhow::Result;

/// The length of the queue for password hashes, per hashing thread: as many as a thread computes at the default cost within the
/// time limit of a request.
const QUEUED_HASHES: usize = 100;

/// The adapters that implement the ports.
#[derive(Clone)]
pub(crate) struct Adapters {
    pub(crate) database: Arc<Database>,
    pub(crate) replica: Option<Replica>,
    pub(crate) sessions: Arc<CachedSessions>,
    pub(crate) passwords: Arc<BcryptHasher>,
    pub(crate) cleaner: Arc<Cleaner>,
    pub(crate) store: Arc<ObjectImageStore>,
    pub(crate) live: Arc<LiveUpdates>,
    /// The mail server, if there is one.
    smtp: Option<Arc<Smtp>>,
    images: ImagePorts,
    backups: Arc<dyn BackupSource>,
    token_lifetime: TokenLifetime,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
    pub(crate) data_dir: PathBuf,
}

impl Adapters {
    /// Creates the adapters of the service over a database. It blocks, so it must be called on a multi-threaded runtime.
    ///
    /// # Errors
    /// When the image store cannot be opened, or the settings of mail or of the replica are invalid.
    pub(crate) async fn for_service(
        database: Arc<Database>,
        config: &Config,
        data_dir: PathBuf,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let (store, smtp) = (open::images(config, &data_dir).await?, open::mail(config)?);
        Self::assemble(database, store, smtp, config, data_dir, clock)
    }

    /// Creates the adapters of a command that needs neither images nor mail: neither is opened.
    ///
    /// # Errors
    /// What is wrong with the URL of the replica, in words for an operator.
    pub(crate) async fn for_command(database: Database, config: &Config, data_dir: PathBuf) -> Result<Self> {
        let store = agora_media::open("memory:").await?;
        Self::assemble(Arc::new(database), store, None, config, data_dir, Arc::new(SystemClock))
    }

    fn assemble(
        database: Arc<Database>,
        store: ObjectImageStore,
        smtp: Option<Smtp>,
        config: &Config,
        data_dir: PathBuf,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let (store, smtp) = (Arc::new(store), smtp.map(Arc::new));
        let replica = open::replica(&database, config)?;
        let limits =
            ImageLimits { max_bytes: config.max_image_bytes.into(), max_pixels: config.max_image_pixels.into() };
        let parallel = agora_workers::default_parallelism();
        let threads = NonZeroUsize::new(parallel).unwrap_or(NonZeroUsize::MIN);
        let cleaner = Arc::new(Cleaner::new(limits, threads, config.decode_memory.into()));
        let sessions = Arc::new(CachedSessions::new(database.clone(), Arc::clone(&clock)));
        let live = Arc::new(LiveUpdates::new(EventPorts {
            log: database.clone(),
            audience: database.clone(),
            notifications: database.clone(),
            sessions: sessions.clone(),
            clock: Arc::clone(&clock),
        }));
        Ok(Self {
            sessions,
            live,
            smtp,
            passwords: Arc::new(BcryptHasher::new(config.bcrypt_cost, parallel, parallel * QUEUED_HASHES)),
            backups: Arc::new(BackupDownloads::new(database.clone(), store.clone())),
            images: ImagePorts { cleaner: cleaner.clone(), store: store.clone(), unreferenced: database.clone() },
            cleaner,
            store,
            token_lifetime: TokenLifetime::of_millis(config.token_lifetime.as_millis().try_into()?),
            clock,
            ids: Arc::new(SystemIds),
            database,
            replica,
            data_dir,
        })
    }

    /// Opens the configured database, which must exist, and creates the adapters of a command over it.
    ///
    /// # Errors
    /// When the database does not exist, or cannot be opened.
    pub(crate) async fn for_command_on_existing(config: &Config) -> Result<Self> {
        let database = open::existing_database(config).await?;
        Self::for_command(database, config, std::path::absolute(&config.data_dir)?).await
    }

    /// Returns the use cases of accounts.
    pub(crate) fn accounts(&self) -> Accounts {
        Accounts::new(
            self.database.clone(),
            self.sessions.clone(),
            self.passwords.clone(),
            self.images.clone(),
            self.token_lifetime,
            Arc::clone(&self.clock),
            Arc::clone(&self.ids),
        )
    }

    /// Returns the use cases of HTTP requests, over the primary database.
    pub(crate) fn services(&self, tokens: JwtIssuer) -> Services {
        let limits = Limits { counters: Arc::new(BoundedCounters::new()), clock: Arc::clone(&self.clock) };
        self.services_over(Arc::new(tokens), limits)
    }

    /// Returns the same use cases over the replica, for lists; `None` if no replica is configured.
    pub(crate) fn replica_services(&self, services: &Services) -> Option<ReplicaServices> {
        let replica = self.replica.clone()?;
        let over = Self { database: replica.database.clone(), ..self.clone() };
        let services = over.services_over(services.authentication.tokens.clone(), services.limits.clone());
        Some(ReplicaServices { replica: Arc::new(replica), services })
    }

    fn services_over(&self, tokens: Arc<dyn TokenIssuer>, limits: Limits) -> Services {
        let (clock, ids) = (|| Arc::clone(&self.clock), || Arc::clone(&self.ids));
        let database = || Arc::clone(&self.database);
        let checks = PasswordChecks { accounts: database(), passwords: self.passwords.clone(), limits: limits.clone() };
        Services {
            authentication: Authentication {
                checks: checks.clone(),
                sessions: self.sessions.clone(),
                tokens,
                token_lifetime: self.token_lifetime,
                clock: clock(),
                ids: ids(),
            },
            accounts: self.accounts(),
            deletion: Deletion::new(database(), self.sessions.clone(), checks.clone(), self.images.clone(), clock()),
            account_mail: AccountMail {
                checks,
                sessions: self.sessions.clone(),
                outbox: database(),
                redemption: database(),
                tokens: Arc::new(RandomMailTokens),
                is_mail_configured: self.smtp.is_some(),
                clock: clock(),
                ids: ids(),
            },
            outbox: self.outbox_admin(),
            posts: Posts::new(database(), database(), database(), self.images.clone(), clock(), ids()),
            bookmarks: Bookmarks { bookmarks: database(), posts: database(), clock: clock(), ids: ids() },
            blocks: Blocks { blocks: database(), people: database(), clock: clock(), ids: ids() },
            comments: Comments {
                comments: database(),
                accounts: database(),
                posts: database(),
                clock: clock(),
                ids: ids(),
            },
            exports: Exports {
                accounts: database(),
                sessions: self.sessions.clone(),
                posts: database(),
                exports: database(),
                images: Arc::clone(&self.images.store),
                limits: limits.clone(),
            },
            reports: self.reports(),
            audit_log: self.audit_log(),
            backups: Backups {
                source: Arc::clone(&self.backups),
                sessions: self.sessions.clone(),
                audit: database(),
                clock: clock(),
                ids: ids(),
            },
            overview: Overview { repository: database(), token_lifetime: self.token_lifetime, clock: clock() },
            live: Arc::clone(&self.live),
            notifications: Notifications { notifications: database() },
            follows: Follows { follows: database(), clock: clock(), ids: ids() },
            people: People { people: database(), follows: database() },
            products: Products { products: database(), clock: clock(), ids: ids() },
            search: Search { found: database(), people: database() },
            media: Media::new(self.images.clone(), Arc::clone(&self.clock)),
            limits,
            idempotency: self.idempotency(),
            ids: ids(),
            probes: Probes {
                database: database(),
                images: self.store.clone(),
                migrations: self.database.migrations_probe(),
            },
        }
    }

    /// Returns the use cases of reports.
    pub(crate) fn reports(&self) -> Reports {
        Reports {
            reports: self.database.clone(),
            posts: self.database.clone(),
            comments: self.database.clone(),
            people: self.database.clone(),
            accounts: self.database.clone(),
            clock: Arc::clone(&self.clock),
            ids: Arc::clone(&self.ids),
        }
    }

    fn erasure(&self) -> Erasure {
        Erasure::new(self.database.clone(), self.images.clone(), Arc::clone(&self.clock))
    }

    /// Returns the background task that erases deleted accounts.
    pub(crate) fn eraser(&self, sweep_interval: Duration) -> Eraser {
        Eraser { database: self.database.clone(), erasure: self.erasure(), sweep_interval }
    }

    /// Returns the use cases of the outbox for the operator.
    pub(crate) fn outbox_admin(&self) -> OutboxAdmin {
        OutboxAdmin { outbox: self.database.clone(), clock: Arc::clone(&self.clock) }
    }

    /// Returns the background task that sends mail, if a mail server is configured.
    pub(crate) fn mailer(&self) -> Option<Mailer> {
        let delivery = MailDelivery {
            outbox: self.database.clone(),
            tokens: Arc::new(RandomMailTokens),
            transport: self.smtp.clone()?,
            clock: Arc::clone(&self.clock),
        };
        Some(Mailer { database: self.database.clone(), delivery, record: Arc::default() })
    }

    /// Returns the use cases of the audit log.
    pub(crate) fn audit_log(&self) -> AuditLog {
        AuditLog { audit: self.database.clone() }
    }

    fn idempotency(&self) -> Idempotency {
        Idempotency { records: self.database.clone(), clock: Arc::clone(&self.clock), ids: Arc::clone(&self.ids) }
    }

    /// Returns the background task that updates the search index and makes entities and previews.
    pub(crate) fn indexer(&self) -> Indexer {
        Indexer {
            indexing: Indexing { index: self.database.clone(), clock: Arc::clone(&self.clock) },
            texts: TextBackfill::new(self.database.clone(), self.database.clone()),
            previews: PreviewBackfill::new(self.database.clone(), self.images.clone(), Arc::clone(&self.clock)),
        }
    }

    pub(crate) fn mute_expiry(&self) -> MuteExpiry {
        MuteExpiry { blocks: self.database.clone(), clock: Arc::clone(&self.clock) }
    }

    /// Returns the use case that deletes images that no row references.
    pub(crate) fn media_sweep(&self) -> MediaSweep {
        let ImagePorts { store, unreferenced, .. } = self.images.clone();
        MediaSweep::new(store, unreferenced, Arc::clone(&self.clock), Sweep::MIN_AGE_MILLIS)
    }

    pub(crate) fn sweep(&self, interval: Duration) -> Sweep {
        let media = self.media_sweep();
        let (sessions, clock) = (self.sessions.clone(), Arc::clone(&self.clock));
        let notifications = NotificationSweep { notifications: self.database.clone(), clock: Arc::clone(&clock) };
        let (idempotency, posts, record) = (self.idempotency(), self.database.clone(), Arc::default());
        let (database, mail, erasure) = (self.database.clone(), self.outbox_admin(), self.erasure());
        Sweep { database, media, sessions, idempotency, posts, notifications, mail, erasure, clock, interval, record }
    }
}
