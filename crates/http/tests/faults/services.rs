//! Use cases over mocked ports.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agora_domain::accounts::{
    Accounts, Authentication, MockAccountRepository, MockPasswordHasher, MockSessionRepository, MockTokenIssuer,
    PasswordChecks, PasswordHasher, TokenLifetime,
};
use agora_domain::audit_log::{AuditLog, MockAuditRepository};
use agora_domain::backups::{Backups, MockBackupSource};
use agora_domain::blocks::{Blocks, MockBlockRepository};
use agora_domain::bookmarks::{Bookmarks, MockBookmarkRepository};
use agora_domain::clock::{MockClock, Timestamp};
use agora_domain::comments::{Comments, MockCommentRepository};
use agora_domain::deletion::{Deletion, MockDeletionRepository};
use agora_domain::events::{EventPorts, LiveUpdates, MockEventAudience, MockEventLog};
use agora_domain::export::{Exports, MockExportRepository};
use agora_domain::follows::{Follows, MockFollowRepository};
use agora_domain::health::{MockProbe, Probes};
use agora_domain::id::MockIdGenerator;
use agora_domain::idempotency::{Idempotency, MockIdempotencyRepository};
use agora_domain::limits::{Limits, MockCounters, Window};
use agora_domain::mail::{AccountMail, MockMailTokens, MockOutbox, MockTokenRedemption, OutboxAdmin};
use agora_domain::media::{ImagePorts, Media, MockImageCleaner, MockImageStore, MockUnreferencedImages};
use agora_domain::notifications::{MockNotificationRepository, Notifications};
use agora_domain::overview::{MockOverviewRepository, Overview};
use agora_domain::people::{MockPeopleRepository, People};
use agora_domain::posts::{MockPostRepository, Posts};
use agora_domain::products::{MockProductRepository, Products};
use agora_domain::reports::{MockReportRepository, Reports};
use agora_domain::search::{MockSearchRepository, Search};
use agora_http::{CorsOrigins, LoadLimits, MacKeys, Services, Settings, ShutdownFlag, Throttling, TrustedProxies};
use uuid::Uuid;

/// The ports that tests may replace. A mock without expectations panics when it is called.
pub(super) struct Ports {
    pub(super) accounts: MockAccountRepository,
    pub(super) sessions: MockSessionRepository,
    pub(super) tokens: MockTokenIssuer,
    pub(super) products: MockProductRepository,
    pub(super) posts: MockPostRepository,
    pub(super) people: MockPeopleRepository,
    pub(super) deletions: MockDeletionRepository,
    pub(super) store: MockImageStore,
    pub(super) idempotency: MockIdempotencyRepository,
    pub(super) passwords: Arc<dyn PasswordHasher>,
    pub(super) images: MockProbe,
    pub(super) stopping: ShutdownFlag,
    pub(super) request_time: Duration,
    pub(super) load: LoadLimits,
}

/// Returns a probe that succeeds.
fn available() -> MockProbe {
    let mut probe = MockProbe::new();
    probe.expect_probe().returning(|| Ok(()));
    probe
}

impl Default for Ports {
    fn default() -> Self {
        let mut store = MockImageStore::new();
        store.expect_public_url().return_const(None);
        Self {
            accounts: MockAccountRepository::new(),
            sessions: MockSessionRepository::new(),
            tokens: MockTokenIssuer::new(),
            products: MockProductRepository::new(),
            posts: MockPostRepository::new(),
            people: MockPeopleRepository::new(),
            deletions: MockDeletionRepository::new(),
            store,
            idempotency: MockIdempotencyRepository::new(),
            passwords: Arc::new(MockPasswordHasher::new()),
            images: available(),
            stopping: ShutdownFlag::default(),
            request_time: Duration::from_secs(20),
            load: LoadLimits::default(),
        }
    }
}

impl Ports {
    /// Returns the use cases over these ports.
    pub(super) fn services(self) -> Services {
        let mut clock = MockClock::new();
        clock.expect_now().return_const(Timestamp::from_unix_millis(1_752_539_094_124));
        let mut ids = MockIdGenerator::new();
        let count = AtomicU64::new(1);
        ids.expect_generate().returning(move || Uuid::from_u128(count.fetch_add(1, Ordering::Relaxed).into()));

        let (clock, ids, passwords) = (Arc::new(clock), Arc::new(ids), self.passwords);
        let (accounts, sessions) = (Arc::new(self.accounts), Arc::new(self.sessions));
        let (posts, follows) = (Arc::new(self.posts), Arc::new(MockFollowRepository::new()));
        let images = ImagePorts {
            cleaner: Arc::new(MockImageCleaner::new()),
            store: Arc::new(self.store),
            unreferenced: Arc::new(MockUnreferencedImages::new()),
        };
        let media = Media::new(images.clone(), clock.clone());
        let mut counters = MockCounters::new();
        counters.expect_get().returning(|_, now| Window { begun: now, count: 0 });
        counters.expect_add().returning(|_, now| Window { begun: now, count: 1 });
        let limits = Limits { counters: Arc::new(counters), clock: clock.clone() };
        let checks =
            PasswordChecks { accounts: accounts.clone(), passwords: passwords.clone(), limits: limits.clone() };
        let token_lifetime = TokenLifetime::of_millis(3_600_000);
        Services {
            authentication: Authentication {
                checks: checks.clone(),
                sessions: sessions.clone(),
                tokens: Arc::new(self.tokens),
                token_lifetime,
                clock: clock.clone(),
                ids: ids.clone(),
            },
            deletion: Deletion::new(
                Arc::new(self.deletions),
                sessions.clone(),
                checks.clone(),
                images.clone(),
                clock.clone(),
            ),
            account_mail: AccountMail {
                checks,
                sessions: sessions.clone(),
                outbox: Arc::new(MockOutbox::new()),
                redemption: Arc::new(MockTokenRedemption::new()),
                tokens: Arc::new(MockMailTokens::new()),
                is_mail_configured: false,
                clock: clock.clone(),
                ids: ids.clone(),
            },
            accounts: Accounts::new(
                accounts.clone(),
                sessions.clone(),
                passwords,
                images.clone(),
                token_lifetime,
                clock.clone(),
                ids.clone(),
            ),
            posts: Posts::new(posts.clone(), accounts.clone(), follows.clone(), images, clock.clone(), ids.clone()),
            live: Arc::new(LiveUpdates::new(EventPorts {
                log: Arc::new(MockEventLog::new()),
                audience: Arc::new(MockEventAudience::new()),
                notifications: Arc::new(MockNotificationRepository::new()),
                sessions: sessions.clone(),
                clock: clock.clone(),
            })),
            notifications: Notifications { notifications: Arc::new(MockNotificationRepository::new()) },
            bookmarks: Bookmarks {
                bookmarks: Arc::new(MockBookmarkRepository::new()),
                posts: posts.clone(),
                clock: clock.clone(),
                ids: ids.clone(),
            },
            blocks: Blocks {
                blocks: Arc::new(MockBlockRepository::new()),
                people: Arc::new(MockPeopleRepository::new()),
                clock: clock.clone(),
                ids: ids.clone(),
            },
            exports: Exports {
                accounts: accounts.clone(),
                sessions: sessions.clone(),
                posts: posts.clone(),
                exports: Arc::new(MockExportRepository::new()),
                images: Arc::new(MockImageStore::new()),
                limits: limits.clone(),
            },
            reports: Reports {
                reports: Arc::new(MockReportRepository::new()),
                posts: posts.clone(),
                comments: Arc::new(MockCommentRepository::new()),
                people: Arc::new(MockPeopleRepository::new()),
                accounts: accounts.clone(),
                clock: clock.clone(),
                ids: ids.clone(),
            },
            audit_log: AuditLog { audit: Arc::new(MockAuditRepository::new()) },
            backups: Backups {
                source: Arc::new(MockBackupSource::new()),
                sessions,
                audit: Arc::new(MockAuditRepository::new()),
                clock: clock.clone(),
                ids: ids.clone(),
            },
            overview: Overview {
                repository: Arc::new(MockOverviewRepository::new()),
                token_lifetime,
                clock: clock.clone(),
            },
            outbox: OutboxAdmin { outbox: Arc::new(MockOutbox::new()), clock: clock.clone() },
            comments: Comments {
                comments: Arc::new(MockCommentRepository::new()),
                posts,
                accounts: accounts.clone(),
                clock: clock.clone(),
                ids: ids.clone(),
            },
            people: People { people: Arc::new(self.people), follows: follows.clone() },
            follows: Follows { follows, clock: clock.clone(), ids: ids.clone() },
            products: Products { products: Arc::new(self.products), clock: clock.clone(), ids: ids.clone() },
            search: Search {
                found: Arc::new(MockSearchRepository::new()),
                people: Arc::new(MockPeopleRepository::new()),
            },
            media,
            limits,
            idempotency: Idempotency { records: Arc::new(self.idempotency), clock, ids: ids.clone() },
            ids,
            probes: Probes {
                database: Arc::new(available()),
                images: Arc::new(self.images),
                migrations: Arc::new(available()),
            },
        }
    }
}

/// Returns the settings of a service at a URL.
pub(super) fn settings(public_url: &str) -> Settings {
    Settings {
        workers: 1,
        parallel_writes: true,
        public_url: public_url.to_owned(),
        max_image_bytes: 1024,
        request_time: Duration::from_secs(20),
        cors_origins: CorsOrigins::None,
        trusted_proxies: TrustedProxies::default(),
        throttling: Throttling::default(),
        load: LoadLimits::default(),
        mac_keys: MacKeys::new(b"a secret"),
        has_app: true,
        has_console: true,
        stopping: ShutdownFlag::default(),
        configuration: Vec::new(),
        metrics: None,
        remote_parent: None,
    }
}
