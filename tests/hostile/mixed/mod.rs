//! Attacks of every kind, mixed, as many in a minute as in an hour of real ones: the memory does not grow.

mod answers;
mod attacker;
mod bodies;

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use self::attacker::Attacker;
use crate::client::{Client, eventually, key, text};
use crate::picture::{expect_picture, noise, picture};
use crate::process::{Home, Service};

/// The approximate capacity of each map in which rate limits count.
const MAP_CAPACITY: usize = 100_000;

/// The number of concurrent attacks.
const CONCURRENT: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn memory_does_not_grow_during_mixed_attacks() {
    // Until the caches of SQLite, 8 MiB for each connection, are filled.
    const WARM_UP: usize = 6;
    const ROUNDS: usize = 8;
    let home = Home::new();
    let service = home.start_with(&[
        ("AGORA_TRUSTED_PROXIES", "127.0.0.1"),
        ("AGORA_REQUESTS_PER_ADDRESS", "600"),
        ("AGORA_REQUESTS_PER_ACCOUNT", "1000000"),
        ("AGORA_CLIENT_TIMEOUT", "2s"),
        // As in docs/operations.md: large blocks are returned to the system when they are freed. By default, glibc keeps more and
        // more of them, which would be most of the growth here.
        ("MALLOC_MMAP_THRESHOLD_", "131072"),
    ]);
    let attacker = Arc::new(attacker(&service).await);
    let mut requests = flood(&attacker, MAP_CAPACITY * 11 / 10).await;
    fill_allocator(&attacker).await;
    for n in 0..WARM_UP {
        requests += round(&service.api, &attacker, n).await;
    }
    let before = settled(&service).await;
    for n in WARM_UP..WARM_UP + ROUNDS {
        requests += round(&service.api, &attacker, n).await;
    }
    let after = settled(&service).await;
    assert!(after < before + before / 10, "{} KiB became {} in {requests} requests", before >> 10, after >> 10);
    service.stop();
}

/// Returns an attacker with an account, a post and an image to download.
async fn attacker(service: &Service) -> Attacker {
    let account = service.api.user("mallory").await;
    let post = service.api.post(&account, "Look", Some(&noise(1300))).await;
    let (post, image) = (text(&post["id"]), key(&post["image"]));
    Attacker { address: service.address.clone(), account, post, image, used: 0.into() }
}

/// Fills the maps of the rate limits. Returns the number of requests.
async fn flood(attacker: &Arc<Attacker>, logins: usize) -> usize {
    const PIPELINED: usize = 1000;
    let mut floods = JoinSet::new();
    let mut answered = 0;
    for n in 0..logins / PIPELINED {
        if n >= CONCURRENT {
            answered += floods.join_next().await.unwrap().unwrap();
        }
        let attacker = Arc::clone(attacker);
        floods.spawn(async move { attacker.pipeline(&attacker.flood(PIPELINED)).await.len() });
    }
    answered + floods.join_all().await.into_iter().sum::<usize>()
}

/// Runs attacks of every kind, and an ordinary client. Returns the number of requests that got a response.
async fn round(api: &Client, attacker: &Arc<Attacker>, n: usize) -> usize {
    let mut attacks = JoinSet::new();
    for _ in 0..CONCURRENT {
        let attacker = Arc::clone(attacker);
        attacks.spawn(async move {
            let mut answered = 0;
            for _ in 0..3 {
                answered += attacker.one_by_one(&attacker.invalid_requests()).await;
                attacker.disconnect().await;
            }
            attacker.malformed().await;
            answered
        });
    }
    for kind in 0..4 {
        let attacker = Arc::clone(attacker);
        attacks.spawn(async move {
            match kind {
                0 => attacker.one_by_one(&attacker.invalid_images()).await,
                1 => attacker.oversized().await,
                2 => attacker.one_by_one(&attacker.invalid_json()).await,
                _ => attacker.slow().await,
            }
        });
    }
    use_normally(api, n).await;
    flood(attacker, 10_000).await + attacks.join_all().await.into_iter().sum::<usize>()
}

/// Checks that an ordinary client is served.
async fn use_normally(api: &Client, n: usize) {
    let alice = api.user(&format!("alice-{n}")).await;
    let post = api.post(&alice, "Look", Some(&picture())).await;
    expect_picture(&api.image(&post["image"]).await);
    let id = text(&post["id"]);
    api.send(api.commenting(&alice, &id, "Nice")).await.expect(201);
    assert_eq!(api.view(&alice, &id).await["commentCount"], 1);
}

/// Runs the attacks that use much memory, so that the memory that the allocator keeps does not grow later.
async fn fill_allocator(attacker: &Arc<Attacker>) {
    let mut attacks = JoinSet::new();
    for _ in 0..CONCURRENT {
        let attacker = Arc::clone(attacker);
        attacks.spawn(async move {
            for _ in 0..3 {
                attacker.one_by_one(&attacker.invalid_images()).await;
                attacker.oversized().await;
                attacker.disconnect().await;
            }
        });
    }
    attacks.join_all().await;
}

/// Returns the memory of the service once it no longer changes.
async fn settled(service: &Service) -> u64 {
    let last = Cell::new(0);
    eventually("the memory settles", async || {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = service.memory();
        let settled = now.abs_diff(last.replace(now)) < now / 200;
        settled.then_some(now)
    })
    .await
}
