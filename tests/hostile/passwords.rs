//! An account that causes password hashes continuously: others can still log in.

use std::thread;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::client::PASSWORD;
use crate::process::{HANG, Home};

/// The number of requests beyond the capacity of the queue.
const BEYOND: usize = 20;

/// Sends this change of password continuously, over more connections than the queue has places. Checks that eight other accounts
/// can log in meanwhile.
async fn expect_logins_during(change: Value) {
    let home = Home::new();
    // A hash takes long enough to fill the queue.
    let service = home.start_with(&[("AGORA_BCRYPT_COST", "10")]);
    let eve = service.api.user("eve").await;
    let others: Vec<_> = (0..8).map(|n| format!("user-{n}")).collect();
    for name in &others {
        service.api.register(name).await.expect(201);
    }
    let hashing_threads = thread::available_parallelism().unwrap().get().saturating_sub(1).max(1);
    let (answered, mut answers) = mpsc::unbounded_channel();
    let mut attack = JoinSet::new();
    for _ in 0..hashing_threads * 101 + BEYOND {
        let (api, eve, change, answered) = (service.api.clone(), eve.clone(), change.clone(), answered.clone());
        attack.spawn(async move {
            loop {
                let change = api.call_json(&eve, Method::PUT, "/api/users/me/password", change.clone());
                answered.send(change.await.status).unwrap();
            }
        });
    }
    for _ in 0..BEYOND {
        timeout(HANG, answers.recv()).await.expect("a response").unwrap();
    }
    let mut logins = JoinSet::new();
    for name in others {
        let api = service.api.clone();
        logins.spawn(async move { api.login(&name, PASSWORD).await.status });
    }
    let statuses = timeout(HANG, logins.join_all()).await.expect("all logins complete");
    assert_eq!(statuses, [200; 8]);
    attack.abort_all();
    service.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_password_changes_of_one_account_do_not_block_logins_of_others() {
    expect_logins_during(json!({ "currentPassword": PASSWORD, "newPassword": "short" })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn valid_password_changes_of_one_account_do_not_block_logins_of_others() {
    expect_logins_during(json!({ "currentPassword": PASSWORD, "newPassword": PASSWORD })).await;
}
