//! What came over a connection, as answers, each held to what the interface promises.

use crate::client::Response;

/// Checks that it is an answer that a client may be given, whatever it sent.
#[track_caller]
fn judge(answer: &Response, asked: &str) {
    let status = answer.status;
    if matches!(status, 429 | 503) {
        assert!(answer.header("retry-after").is_some(), "{asked:?}: {answer:?}");
    }
    assert!(status < 500 || status == 503, "{asked:?}: {answer:?}");
    // Heads that it could not read as HTTP are refused by actix-http itself, with the status alone.
    let alone = matches!(status, 400 | 431) && answer.header("x-request-id").is_none();
    if status >= 400 && !alone && !asked.starts_with("HEAD ") {
        answer.clone().expect_failure(status);
    }
}

/// Takes the whole answers off the beginning of what came, to requests that begin with these words, one after another.
#[track_caller]
pub(super) fn take(came: &mut Vec<u8>, asked: &[String], answers: &mut Vec<Response>) {
    loop {
        let asked = asked.get(answers.len()).or(asked.last()).map_or("", String::as_str);
        match Response::take(came, asked.split(' ').next().unwrap_or_default()) {
            None => return,
            Some(Response { status: 100, .. }) => {}
            Some(answer) => {
                judge(&answer, asked);
                answers.push(answer);
            }
        }
    }
}
