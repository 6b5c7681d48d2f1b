//! What the service may answer while something is wrong.

use std::time::Duration;

use reqwest::RequestBuilder;
use reqwest::header::RETRY_AFTER;
use tokio::task::block_in_place;

use crate::client::{Response, eventually};
use crate::private_postgres::Server;

/// A request that takes longer hangs: 30 seconds is what the service gives it.
const LIMIT: Duration = Duration::from_secs(45);

/// The message of a 503 for which a dependency is to blame; one that ran out of its time says something else.
const UNAVAILABLE: &str = "The service is temporarily unavailable";

/// The answer; nothing when the service said, as it should, that it cannot do it now.
pub(crate) async fn attempt(request: RequestBuilder) -> Option<Response> {
    let response = request.timeout(LIMIT).send().await.expect("an answer, whatever it says");
    let answer = Response::receive(response).await.expect("a whole answer");
    if answer.status < 500 {
        return Some(answer);
    }
    let answer = answer.expect_error(503, UNAVAILABLE).expect_code(503, "unavailable");
    assert!(answer.header(RETRY_AFTER).unwrap().parse::<u32>().is_ok(), "{answer:?}");
    assert_eq!(answer.json().as_object().unwrap().len(), 4, "{answer:?}");
    None
}

/// Checks that a request is refused with an honest 503.
#[track_caller]
pub(crate) fn expect_refused(attempted: Option<Response>) {
    assert!(attempted.is_none(), "{attempted:?}");
}

/// Checks that the service ends with so many connections at most, and with none in the middle of something.
pub(crate) async fn expect_no_leak(server: &Server, database: &str, most: usize) {
    let count = |condition: &str| -> usize {
        let ours = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'agora'";
        let sql = format!("SELECT count(*) {ours} AND {condition};");
        block_in_place(|| server.session(database).run(&sql)).trim().parse().unwrap()
    };
    eventually("what was left behind is gone", async || {
        (count("true") <= most && count("state <> 'idle'") == 0).then_some(())
    })
    .await;
}
