//! An hour's worth of attacks of every kind, in a minute: what they leave behind is nothing.

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

/// How many things each of the bounded memories of limits holds, about.
const COUNTED: usize = 100_000;

/// Attacks at once.
const AT_ONCE: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn an_hour_of_mixed_attacks_leaves_the_memory_as_it_was() {
    // Until the caches of SQLite, of 8 MiB for each connection, have what these rounds touch.
    const WARM_UP: usize = 6;
    const ROUNDS: usize = 8;
    let home = Home::new();
    let service = home.start_with(&[
        ("AGORA_TRUSTED_PROXIES", "127.0.0.1"),
        ("AGORA_REQUESTS_PER_ADDRESS", "600"),
        ("AGORA_REQUESTS_PER_ACCOUNT", "1000000"),
        ("AGORA_CLIENT_TIMEOUT", "2s"),
        // As docs/operations.md says: large blocks go back to the system when they are free. By default, glibc keeps more
        // and more of them for the next time, which here would be most of the difference.
        ("MALLOC_MMAP_THRESHOLD_", "131072"),
    ]);
    let attacker = Arc::new(attacker(&service).await);
    let mut requests = flood(&attacker, COUNTED * 11 / 10).await;
    heavy(&attacker).await;
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

/// Somebody with an account, a post and an image to download.
async fn attacker(service: &Service) -> Attacker {
    let account = service.api.user("mallory").await;
    let post = service.api.post(&account, "Look", Some(&noise(1300))).await;
    let (post, image) = (text(&post["id"]), key(&post["image"]));
    Attacker { address: service.address.clone(), account, post, image, used: 0.into() }
}

/// Floods what limits count; how many requests that took.
async fn flood(attacker: &Arc<Attacker>, logins: usize) -> usize {
    const IN_A_ROW: usize = 1000;
    let mut floods = JoinSet::new();
    let mut answered = 0;
    for n in 0..logins / IN_A_ROW {
        if n >= AT_ONCE {
            answered += floods.join_next().await.unwrap().unwrap();
        }
        let attacker = Arc::clone(attacker);
        floods.spawn(async move { attacker.pipeline(&attacker.flood(IN_A_ROW)).await.len() });
    }
    answered + floods.join_all().await.into_iter().sum::<usize>()
}

/// Every kind of attack, and somebody honest beside them; how many requests came to be answered.
async fn round(api: &Client, attacker: &Arc<Attacker>, n: usize) -> usize {
    let mut attacks = JoinSet::new();
    for _ in 0..AT_ONCE {
        let attacker = Arc::clone(attacker);
        attacks.spawn(async move {
            let mut answered = 0;
            for _ in 0..3 {
                answered += attacker.one_by_one(&attacker.wrong_requests()).await;
                attacker.gone().await;
            }
            attacker.malformed().await;
            answered
        });
    }
    for kind in 0..4 {
        let attacker = Arc::clone(attacker);
        attacks.spawn(async move {
            match kind {
                0 => attacker.one_by_one(&attacker.wrong_images()).await,
                1 => attacker.oversized().await,
                2 => attacker.one_by_one(&attacker.wrong_jsons()).await,
                _ => attacker.slow().await,
            }
        });
    }
    honest(api, n).await;
    flood(attacker, 10_000).await + attacks.join_all().await.into_iter().sum::<usize>()
}

/// Somebody who is served as if nothing were.
async fn honest(api: &Client, n: usize) {
    let alice = api.user(&format!("alice-{n}")).await;
    let post = api.post(&alice, "Look", Some(&picture())).await;
    expect_picture(&api.image(&post["image"]).await);
    let id = text(&post["id"]);
    api.send(api.commenting(&alice, &id, "Nice")).await.expect(201);
    assert_eq!(api.view(&alice, &id).await["commentCount"], 1);
}

/// All that takes much memory, many times at once: what the allocator keeps for the next time is there afterwards.
async fn heavy(attacker: &Arc<Attacker>) {
    let mut attacks = JoinSet::new();
    for _ in 0..AT_ONCE {
        let attacker = Arc::clone(attacker);
        attacks.spawn(async move {
            for _ in 0..3 {
                attacker.one_by_one(&attacker.wrong_images()).await;
                attacker.oversized().await;
                attacker.gone().await;
            }
        });
    }
    attacks.join_all().await;
}

/// The memory once it no longer changes.
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
