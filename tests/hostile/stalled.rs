//! Hundreds of connections that come to nothing, and ordinary clients beside them.

use std::time::Duration;

use tokio::task::JoinSet;

use crate::{
    api::{key, picture},
    process::Home,
    raw::Raw,
    slow::unread,
    uploads::noise,
};

/// When the last of them must have been cut.
const CUT: Duration = Duration::from_secs(45);

#[tokio::test(flavor = "multi_thread")]
async fn ordinary_requests_are_answered_beside_600_stalled_connections_which_are_all_cut() {
    let home = Home::new();
    let service = home.start();
    let (api, address) = (service.api.clone(), service.address.clone());
    let alice = api.user("alice").await;
    let image = key(&api.post(&alice, "Look", Some(&noise())).await["image"]);
    let half_body = format!(
        "POST /api/posts/create HTTP/1.1\r\nHost: agora\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{\"text\": ",
        alice.token
    );
    let mut stalled = JoinSet::new();
    for n in 0..600 {
        let begin = match n % 3 {
            0 => Vec::new(),
            1 => b"GET /api/products/findAll HTTP/1.1\r\nHost: ".to_vec(),
            _ if n % 20 == 5 => unread(&image),
            _ => half_body.clone().into_bytes(),
        };
        let reads_nothing = n % 3 == 2 && n % 20 == 5;
        let raw = Raw::sending(&address, &begin).await;
        stalled.spawn(async move {
            if reads_nothing {
                (n, raw.cut().await, None)
            } else {
                let farewell = raw.farewell().await;
                (n, farewell.after, Some(farewell))
            }
        });
    }
    for n in 0..50 {
        match n % 5 {
            0 => drop(api.login("alice", crate::api::PASSWORD).await.expect(200)),
            1 => drop(api.post(&alice, "Hello", Some(&picture())).await),
            2 => drop(api.post(&alice, "Hello", None).await),
            3 => drop(api.get(&alice, "/api/posts/following/all").await.expect(200)),
            _ => drop(api.get(&alice, &format!("/api/posts/user/{}", alice.id)).await.expect(200)),
        }
    }
    while let Some(cut) = stalled.join_next().await {
        let (n, after, farewell) = cut.unwrap();
        assert!(after < CUT, "{n}: {after:?}");
        match (n % 3, farewell) {
            (0, Some(farewell)) => assert_eq!(farewell.text, ""),
            (_, Some(farewell)) => drop(farewell.expect_error(408)),
            (_, None) => {}
        }
    }
    let log = service.stop().stderr;
    assert!(log.lines().count() < 20, "a flood: {log}");
}
