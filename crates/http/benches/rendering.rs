//! What it costs to render a page of posts, to read and write cursors, and to count a request:
//! `cargo bench -p agora-http --features bench`.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use agora_domain::accounts::{
    Accounts, Authentication, Author, Email, MockAccountRepository, MockPasswordHasher, MockSessionRepository,
    MockTokenIssuer, PasswordChecks, Username,
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
use agora_domain::id::{MockIdGenerator, PostId, UserId};
use agora_domain::idempotency::{Idempotency, MockIdempotencyRepository};
use agora_domain::limits::{Limits, MockCounters};
use agora_domain::mail::{AccountMail, MockMailTokens, MockOutbox, MockTokenRedemption, OutboxCare};
use agora_domain::media::{ImagePorts, Media, MockImageCleaner, MockImageStore, MockUnreferencedImages};
use agora_domain::notifications::{MockNotificationRepository, Notifications};
use agora_domain::overview::{MockOverviewRepository, Overview};
use agora_domain::page::{Keyset, Page, Position};
use agora_domain::people::{MockPeopleRepository, People};
use agora_domain::posts::{Liker, MockPostRepository, Post, PostText, PostView, Posts, Visibility};
use agora_domain::products::{MockProductRepository, Products};
use agora_domain::reports::{MockReportRepository, Reports};
use agora_domain::search::{MockSearchRepository, Search};
use agora_http::bench::{Rendering, count, decode_cursor, encode_cursor};
use agora_http::{CorsOrigins, LoadLimits, MacKeys, Services, Settings, Stopping, Throttling, TrustedProxies};
use divan::Bencher;
use prometheus_client::registry::Registry;
use uuid::Uuid;

const AT: Timestamp = Timestamp::from_unix_millis(1_752_539_094_124);

/// Services that are not called.
fn services() -> Services {
    let (mut clock, ids) = (MockClock::new(), Arc::new(MockIdGenerator::new()));
    clock.expect_now().return_const(AT);
    let clock = Arc::new(clock);
    let (accounts, sessions) = (Arc::new(MockAccountRepository::new()), Arc::new(MockSessionRepository::new()));
    let (posts, follows) = (Arc::new(MockPostRepository::new()), Arc::new(MockFollowRepository::new()));
    let passwords = Arc::new(MockPasswordHasher::new());
    let limits = Limits { counters: Arc::new(MockCounters::new()), clock: clock.clone() };
    let images = ImagePorts {
        cleaner: Arc::new(MockImageCleaner::new()),
        store: Arc::new(MockImageStore::new()),
        unnamed: Arc::new(MockUnreferencedImages::new()),
    };
    let probe = Arc::new(MockProbe::new());
    let checks = PasswordChecks { accounts: accounts.clone(), passwords: passwords.clone(), limits: limits.clone() };
    Services {
        probes: Probes { database: probe.clone(), images: probe.clone(), migrations: probe },
        authentication: Authentication {
            checks: checks.clone(),
            sessions: sessions.clone(),
            tokens: Arc::new(MockTokenIssuer::new()),
            clock: clock.clone(),
            ids: ids.clone(),
        },
        search: Search { found: Arc::new(MockSearchRepository::new()), people: Arc::new(MockPeopleRepository::new()) },
        media: Media::new(images.clone(), clock.clone()),
        deletion: Deletion::new(
            Arc::new(MockDeletionRepository::new()),
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
        backups: Backups {
            source: Arc::new(MockBackupSource::new()),
            audit: Arc::new(MockAuditRepository::new()),
            clock: clock.clone(),
            ids: ids.clone(),
        },
        overview: Overview { repository: Arc::new(MockOverviewRepository::new()), clock: clock.clone() },
        outbox: OutboxCare { outbox: Arc::new(MockOutbox::new()), clock: clock.clone() },
        exports: Exports {
            accounts: Arc::new(MockAccountRepository::new()),
            sessions: Arc::new(MockSessionRepository::new()),
            posts: Arc::new(MockPostRepository::new()),
            exports: Arc::new(MockExportRepository::new()),
            images: Arc::new(MockImageStore::new()),
            limits: limits.clone(),
        },
        reports: Reports {
            reports: Arc::new(MockReportRepository::new()),
            posts: Arc::new(MockPostRepository::new()),
            comments: Arc::new(MockCommentRepository::new()),
            people: Arc::new(MockPeopleRepository::new()),
            accounts: Arc::new(MockAccountRepository::new()),
            clock: clock.clone(),
            ids: ids.clone(),
        },
        audit_log: AuditLog { audit: Arc::new(MockAuditRepository::new()) },
        comments: Comments {
            comments: Arc::new(MockCommentRepository::new()),
            posts,
            accounts: accounts.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
        },
        people: People { people: Arc::new(MockPeopleRepository::new()), follows: follows.clone() },
        follows: Follows { follows, clock: clock.clone(), ids: ids.clone() },
        products: Products { products: Arc::new(MockProductRepository::new()), clock: clock.clone(), ids: ids.clone() },
        limits,
        idempotency: Idempotency { records: Arc::new(MockIdempotencyRepository::new()), clock, ids: ids.clone() },
        ids,
    }
}

/// A post with so many likers.
fn post(likers: u128) -> PostView {
    let liker = |n| Liker {
        id: UserId::new(Uuid::from_u128(n)),
        username: Username::parse(&format!("somebody{n}")).unwrap(),
        profile_picture: None,
    };
    let author = UserId::new(Uuid::from_u128(1));
    PostView {
        post: Post {
            id: PostId::new(Uuid::from_u128(2)),
            author,
            text: PostText::parse("A post of ordinary length, as people write them: a sentence or two.").unwrap(),
            entities: None,
            attachments: Vec::new(),
            visibility: Visibility::Public,
            is_hidden: false,
            created_at: AT,
            updated_at: AT,
        },
        author: Author {
            id: author,
            username: Username::parse("author").unwrap(),
            email: Email::parse("author@example.org").unwrap(),
            display_name: None,
            biography: None,
            profile_picture: None,
        },
        liked_by: (0..likers).map(liker).collect(),
        like_count: 50,
        liked_by_viewer: false,
        comment_count: 3,
        bookmarked_by_viewer: false,
    }
}

/// A page of 20 posts, each with so many likers.
#[divan::bench(args = [0, 5, 50])]
fn page_of_posts(bencher: Bencher, likers: u128) {
    let settings = Settings {
        workers: 1,
        parallel_writes: false,
        public_url: "https://agora.example.org".to_owned(),
        max_image_bytes: 1024,
        request_time: Duration::from_secs(30),
        cors_origins: CorsOrigins::None,
        trusted_proxies: TrustedProxies::default(),
        throttling: Throttling::default(),
        load: LoadLimits::default(),
        mac_keys: MacKeys::new(b"a secret"),
        has_app: true,
        has_console: true,
        stopping: Stopping::default(),
        configuration: Vec::new(),
        metrics: None,
        remote_parent: None,
    };
    let rendering = Rendering::new(services(), settings).unwrap();
    let page = Page { items: (0..20).map(|_| post(likers)).collect(), keys: Vec::new(), prev: None, next: None };
    bencher.bench_local(|| assert!(rendering.posts(&page)));
}

#[divan::bench]
fn cursor(bencher: Bencher) {
    let mac_keys = MacKeys::new(b"a secret");
    let position = Position::After(Keyset { at: AT, id: Uuid::from_u128(7) });
    bencher.bench(|| {
        let cursor = encode_cursor(&mac_keys, divan::black_box(position)).unwrap();
        decode_cursor(&mac_keys, &cursor).unwrap()
    });
}

/// What counting a request costs, where metrics are shown.
#[divan::bench]
fn counted_request(bencher: Bencher) {
    let metrics = agora_http::metrics::HttpMetrics::register(&mut Registry::default());
    bencher.bench(|| count(&metrics, divan::black_box("/api/posts/by-id/{postId}")));
}

fn main() {
    divan::main();
}
