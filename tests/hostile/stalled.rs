//! Hundreds of stalled connections, together with ordinary clients.

use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;

use super::raw::Raw;
use super::slow::large_downloads;
use crate::client::{JSON, PASSWORD, key};
use crate::picture::{noise, picture};
use crate::process::Home;

/// The maximum memory of the service, without the pages of its program, while clients do not read responses. Without
/// `AGORA_ANSWER_MEMORY` it would use about 400 MiB.
const MAX_MEMORY: u64 = 200 << 20;

/// The maximum time until a stalled connection is closed.
const MAX_CLOSE: Duration = Duration::from_secs(45);

#[tokio::test(flavor = "multi_thread")]
async fn ordinary_requests_are_served_beside_600_stalled_connections_which_are_all_closed() {
    let home = Home::new();
    let service = home.start();
    let (api, address) = (service.api.clone(), service.address.clone());
    let alice = api.user("alice").await;
    let image = key(&api.post(&alice, "Look", Some(&noise(1300))).await["image"]);
    let half_body = format!(
        "POST /api/posts/create HTTP/1.1\r\nHost: agora\r\n{}{JSON}Content-Length: 100\r\n\r\n{{\"text\": ",
        alice.authorization()
    );
    let mut stalled = JoinSet::new();
    for n in 0..600 {
        let begin = match n % 3 {
            0 => Vec::new(),
            1 => b"GET /api/products/findAll HTTP/1.1\r\nHost: ".to_vec(),
            _ if n % 20 == 5 => large_downloads(&image),
            _ => half_body.clone().into_bytes(),
        };
        let reads_nothing = n % 3 == 2 && n % 20 == 5;
        let raw = Raw::sending(&address, &begin).await;
        stalled.spawn(async move {
            if reads_nothing {
                (n, raw.until_cut().await, None)
            } else {
                let closed = raw.until_closed().await;
                (n, closed.after, Some(closed))
            }
        });
    }
    for n in 0..50 {
        match n % 5 {
            0 => drop(api.login("alice", PASSWORD).await.expect(200)),
            1 => drop(api.post(&alice, "Hello", Some(&picture())).await),
            2 => drop(api.post(&alice, "Hello", None).await),
            3 => drop(api.get(&alice, "/api/posts/following/all").await.expect(200)),
            _ => drop(api.get(&alice, &format!("/api/posts/user/{}", alice.id)).await.expect(200)),
        }
    }
    while let Some(cut) = stalled.join_next().await {
        let (n, after, closed) = cut.unwrap();
        assert!(after < MAX_CLOSE, "{n}: {after:?}");
        match (n % 3, closed) {
            (0, Some(closed)) => assert_eq!(closed.text, ""),
            (_, Some(closed)) => drop(closed.expect_error(408)),
            (_, None) => {}
        }
    }
    let log = service.stop().stderr;
    assert!(log.lines().count() < 20, "too many lines: {log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_bounded_while_clients_do_not_read_responses() {
    const CLIENTS: usize = 300;
    let home = Home::new();
    let service = home.start_with_root();
    let (api, root) = (service.api.clone(), service.api.log_in("root").await);
    for n in 0..200 {
        // JSON escapes make it six times as long in a response.
        let description = format!("a{}b", "\u{1}".repeat(4998));
        api.product(&root, json!({ "sku": format!("S-{n}"), "description": description })).await;
    }
    // More responses than the buffers of a connection hold.
    let requests = b"GET /api/products/findAll HTTP/1.1\r\nHost: agora\r\n\r\n".repeat(16);
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let mut raw = Raw::sending(&service.address, &requests).await;
        clients.spawn(async move {
            raw.until("HTTP/1.1 ").await;
            raw
        });
    }
    let mut held = Vec::new();
    while let Some(raw) = clients.join_next().await {
        held.push(raw.unwrap());
    }
    for n in 0..50 {
        api.get(&root, "/api/users/me").await.expect(200);
        api.post(&root, &format!("Post {n}"), None).await;
        api.get(&root, "/api/products/findAll?size=1").await.expect(200);
    }
    let used = service.memory();
    assert!(used < MAX_MEMORY, "{} MiB", used >> 20);
    drop(held);
    service.stop();
}
