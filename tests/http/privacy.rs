//! Privacy: checks what each user sees after random histories against a model of the contract, on each database.

mod images;
mod model;
mod reads;
mod steps;
mod streams;
mod world;

use std::time::Duration;

use proptest::collection::vec;
use proptest::test_runner::{Config, RngSeed, TestError, TestRunner};
use tokio::runtime::Builder;

use self::model::PEOPLE;
use self::steps::{Step, step};
use self::world::World;
use crate::private_postgres;
use crate::support::Server;

/// The time between two sweeps, which erase deleted accounts.
const SWEEP_INTERVAL: Duration = Duration::from_millis(50);

/// Carries out a history and checks what each user sees: the feed after each step, so that cached feeds are covered, and
/// everything at the end.
async fn run_history(server: Server, history: &[Step]) {
    let mut world = World::new(server).await;
    for (n, step) in history.iter().enumerate() {
        world.perform(step).await;
        for viewer in [n, n + 1] {
            world.expect_feed(viewer % PEOPLE).await;
        }
    }
    world.expect_everything().await;
    world.expect_gone().await;
    world.expect_streams().await;
}

/// The endpoints whose responses are checked here. A test compares them with the route table, so that none is left out.
const CHECKED: &[&str] = &[
    "/api/users/all",
    "/api/users/by-id/{id}",
    "/api/users/lookup",
    "/api/users/profiles",
    "/api/users/directory",
    "/api/users/{userId}/profile",
    "/api/users/{userId}/followers",
    "/api/users/{userId}/followed",
    "/api/users/me/blocks",
    "/api/users/me/mutes",
    "/api/users/me/bookmarks",
    "/api/posts/all",
    "/api/posts/following/all",
    "/api/posts/{userId}/all",
    "/api/posts/user/{userId}",
    "/api/posts/by-id/{postId}",
    "/api/posts/{postId}/likes",
    "/api/posts/public",
    "/api/tags/{tag}/posts",
    "/api/comments/all/{postId}",
    "/api/posts/{postId}/comments",
    "/api/comments/{commentId}/replies",
    "/api/comments/{commentId}/likes",
    "/api/follow/followers/{userId}",
    "/api/follow/followed/{userId}",
    "/api/notifications",
    "/api/notifications/unread",
    "/api/notifications/{notificationId}/actors",
    "/api/events",
    "/api/search",
];

/// The endpoints that need no check: each shows only the caller's own data, is for administrators only, or is the same for all.
const EXEMPT: &[&str] = &[
    "/api/users/me",
    "/api/users/me/export",
    "/api/users/me/sessions",
    "/api/notifications/settings",
    "/api/admin/audit",
    "/api/admin/users/{userId}/sessions",
    "/api/admin/overview",
    "/api/admin/configuration",
    "/api/admin/mails",
    "/api/admin/reports",
    "/api/admin/reports/{reportId}",
    "/api/products/findAll",
    "/api/products/category/{category}",
    "/api/products",
    "/api/products/{id}",
    "/media/{key}",
    "/health/live",
    "/health/ready",
    "/api-docs/openapi.json",
    "/docs",
    "/docs/",
    "/docs/{file}",
    "/app",
    "/app/",
    "/app/{file}",
    "/console",
    "/console/",
    "/console/{file}",
];

#[test]
fn every_endpoint_that_reads_is_checked_or_exempt() {
    let reads =
        agora_http::routes::endpoints().into_iter().filter(|endpoint| endpoint.method == reqwest::Method::GET.as_str());
    let unchecked: Vec<_> =
        reads.map(|read| read.path).filter(|path| !CHECKED.contains(path) && !EXEMPT.contains(path)).collect();
    assert!(
        unchecked.is_empty(),
        "no check of who sees what: add {unchecked:?} to reads.rs or to the exempt endpoints"
    );
}

/// Checks random histories, each on a new server.
fn check_histories(cases: u32, start: impl AsyncFn() -> Server) {
    let mut config = Config { cases, failure_persistence: None, ..Config::default() };
    // About a minute of shrinking, unless PROPTEST_MAX_SHRINK_ITERS is lower.
    config.max_shrink_iters = config.max_shrink_iters.min(200);
    let seed = match config.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => getrandom::u64().unwrap(),
    };
    config.rng_seed = RngSeed::Fixed(seed);
    let outcome = TestRunner::new(config).run(&vec(step(), 20..60), |history| {
        // The server stops when its runtime is dropped.
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async { run_history(start().await, &history).await });
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, history)) => {
            panic!("reproduce with PROPTEST_RNG_SEED={seed}: {reason}\nafter {history:#?}")
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn each_user_sees_exactly_what_the_rules_allow_on_sqlite() {
    check_histories(12, async || Server::start_with(|config| config.sweep_interval = SWEEP_INTERVAL).await);
}

#[test]
fn each_user_sees_exactly_what_the_rules_allow_on_postgres() {
    check_histories(8, async || {
        let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
        Server::start_with(|config| {
            config.database_url = Some(url.into());
            config.database_connections = 4;
            config.sweep_interval = SWEEP_INTERVAL;
        })
        .await
    });
}
