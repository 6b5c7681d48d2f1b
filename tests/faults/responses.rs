//! The responses that are allowed during a fault.

use std::time::Duration;

use reqwest::RequestBuilder;
use reqwest::header::RETRY_AFTER;
use tokio::task::block_in_place;

use crate::client::{Response, eventually};
use crate::private_postgres::Server;

/// The timeout of a request. The service gives up after 30 seconds.
const TIMEOUT: Duration = Duration::from_secs(45);

/// The message of a 503 if a dependency fails. That after the timeout of the request is a different one.
const UNAVAILABLE: &str = "The service is temporarily unavailable";

/// Sends a request. Returns the response, or `None` if it is a well-formed 503.
pub(crate) async fn attempt(request: RequestBuilder) -> Option<Response> {
    let response = request.timeout(TIMEOUT).send().await.expect("a response");
    let answer = Response::receive(response).await.expect("a complete response");
    if answer.status < 500 {
        return Some(answer);
    }
    let answer = answer.expect_error(503, UNAVAILABLE).expect_code(503, "unavailable");
    assert!(answer.header(RETRY_AFTER).unwrap().parse::<u32>().is_ok(), "{answer:?}");
    assert_eq!(answer.json().as_object().unwrap().len(), 4, "{answer:?}");
    None
}

/// Checks that a request was refused with a 503.
#[track_caller]
pub(crate) fn expect_refused(attempted: Option<Response>) {
    assert!(attempted.is_none(), "{attempted:?}");
}

/// Waits until the service has at most `max` connections, all of them idle and outside a transaction.
pub(crate) async fn expect_no_leak(server: &Server, database: &str, max: usize) {
    let count = |condition: &str| -> usize {
        let ours = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'agora'";
        let sql = format!("SELECT count(*) {ours} AND {condition};");
        block_in_place(|| server.session(database).run(&sql)).trim().parse().unwrap()
    };
    eventually("no connection is leaked", async || {
        (count("true") <= max && count("state <> 'idle'") == 0).then_some(())
    })
    .await;
}
