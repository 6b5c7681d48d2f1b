//! Tickets that open one stream.

use reqwest::StatusCode;
use tokio::task::JoinSet;

use super::{Nodes, apis, publish, stop, ticket, with_ticket};
use crate::sse::EventStream;

async fn a_ticket_works_once(nodes: Nodes) {
    const CONCURRENT: usize = 20;
    let services = nodes.start_all(&[]);
    let apis = apis(&services);
    let alice = apis[0].user("alice").await;
    // Used repeatedly, one request after the other.
    for first in 0..apis.len() {
        let ticket = ticket(&apis[0], &alice).await;
        let mut stream = EventStream::of(with_ticket(&apis[first], &ticket)).await;
        for api in &apis {
            api.send(with_ticket(api, &ticket)).await.expect_failure(401);
        }
        // The first stream stays open.
        let post = publish(&apis[0], &alice, "Hello").await;
        while stream.expect("public").await["postId"] != post.as_str() {}
    }
    // Used by concurrent requests.
    let ticket = ticket(&apis[0], &alice).await;
    let mut attempts = JoinSet::new();
    for n in 0..CONCURRENT {
        let request = with_ticket(&apis[n % apis.len()], &ticket);
        attempts.spawn(async move { request.send().await.unwrap().status() });
    }
    let statuses = attempts.join_all().await;
    let opened = statuses.iter().filter(|status| **status == StatusCode::OK).count();
    let refused = statuses.iter().filter(|status| **status == StatusCode::UNAUTHORIZED).count();
    assert_eq!((opened, refused), (1, CONCURRENT - 1), "{statuses:?}");
    stop(services);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_opens_one_stream_on_sqlite() {
    a_ticket_works_once(Nodes::on_sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_opens_one_stream_even_if_it_is_used_at_two_nodes() {
    a_ticket_works_once(Nodes::on_postgres(2)).await;
}
