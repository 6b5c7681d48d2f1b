//! Parses received bytes as responses, and checks each.

use crate::client::Response;

/// Checks that a response is valid, whatever the request was.
#[track_caller]
fn verify(answer: &Response, request: &str) {
    let status = answer.status;
    if matches!(status, 429 | 503) {
        assert!(answer.header("retry-after").is_some(), "{request:?}: {answer:?}");
    }
    assert!(status < 500 || status == 503, "{request:?}: {answer:?}");
    // actix-http itself refuses malformed heads, with a status and no body.
    let is_bare = matches!(status, 400 | 431) && answer.header("x-request-id").is_none();
    if status >= 400 && !is_bare && !request.starts_with("HEAD ") {
        answer.clone().expect_failure(status);
    }
}

/// Moves all complete responses from the received bytes to `answers`. `requests` are the lines of the requests, in order.
#[track_caller]
pub(super) fn take(received: &mut Vec<u8>, requests: &[String], answers: &mut Vec<Response>) {
    loop {
        let request = requests.get(answers.len()).or(requests.last()).map_or("", String::as_str);
        match Response::take(received, request.split(' ').next().unwrap_or_default()) {
            None => return,
            Some(Response { status: 100, .. }) => {}
            Some(answer) => {
                verify(&answer, request);
                answers.push(answer);
            }
        }
    }
}
