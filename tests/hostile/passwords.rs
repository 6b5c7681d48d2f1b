//! An account that has passwords hashed without a pause: others log in as before.

use std::thread;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::client::PASSWORD;
use crate::process::{HANG, Home};

/// More than run and wait at a time.
const BEYOND: usize = 20;

/// Has an account send this change of its password over more connections than the queue has places, each without a pause,
/// and eight others log in meanwhile.
async fn others_log_in_beside(change: Value) {
    let home = Home::new();
    // A hash takes long enough for the queue to be full.
    let service = home.start_with(&[("AGORA_BCRYPT_COST", "10")]);
    let eve = service.api.user("eve").await;
    let others: Vec<_> = (0..8).map(|n| format!("user-{n}")).collect();
    for name in &others {
        service.api.register(name).await.expect(201);
    }
    let at_once = thread::available_parallelism().unwrap().get().saturating_sub(1).max(1);
    let (answered, mut answers) = mpsc::unbounded_channel();
    let mut attack = JoinSet::new();
    for _ in 0..at_once * 101 + BEYOND {
        let (api, eve, change, answered) = (service.api.clone(), eve.clone(), change.clone(), answered.clone());
        attack.spawn(async move {
            loop {
                let change = api.call_json(&eve, Method::PUT, "/api/users/me/password", change.clone());
                answered.send(change.await.status).unwrap();
            }
        });
    }
    for _ in 0..BEYOND {
        timeout(HANG, answers.recv()).await.expect("it waits").unwrap();
    }
    let mut logins = JoinSet::new();
    for name in others {
        let api = service.api.clone();
        logins.spawn(async move { api.login(&name, PASSWORD).await.status });
    }
    let statuses = timeout(HANG, logins.join_all()).await.expect("they wait");
    assert_eq!(statuses, [200; 8]);
    attack.abort_all();
    service.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_kept_from_logging_in_by_invalid_password_changes() {
    others_log_in_beside(json!({ "currentPassword": PASSWORD, "newPassword": "short" })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_kept_from_logging_in_by_password_changes_that_succeed() {
    others_log_in_beside(json!({ "currentPassword": PASSWORD, "newPassword": PASSWORD })).await;
}
