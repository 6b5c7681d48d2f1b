//! What came over a connection, as answers, each held to what the interface promises.

use serde_json::Value;

/// An answer on a connection.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Checks that it is one that a client may be given, whatever it sent.
    #[track_caller]
    fn judge(&self, asked: &str) {
        let what = || format!("{asked:?}: {self:?}");
        if matches!(self.status, 429 | 503) {
            assert!(self.header("retry-after").is_some(), "{}", what());
        }
        assert!(self.status < 500 || self.status == 503, "{}", what());
        // Heads that it could not read as HTTP are refused by actix-http itself, with the status alone.
        let alone = matches!(self.status, 400 | 431) && self.header("x-request-id").is_none();
        if self.status >= 400 && !alone && !asked.starts_with("HEAD ") {
            let envelope: Value = serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", what()));
            assert_eq!((&envelope["success"], &envelope["status"]), (&false.into(), &self.status.into()), "{}", what());
            assert!(envelope["message"].is_string(), "{}", what());
        }
    }
}

/// Takes apart what came, in answer to requests that begin with these words, one after the other. What is missing at
/// the end was cut off.
#[track_caller]
pub(super) fn read(mut came: &[u8], asked: &[String]) -> Vec<Answer> {
    let mut answers = Vec::new();
    while let Some(end) = came.windows(4).position(|window| window == b"\r\n\r\n") {
        let head = String::from_utf8(came[..end].to_vec()).expect("heads are ASCII");
        came = &came[end + 4..];
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest[..3].parse().ok());
        let status: u16 = status.unwrap_or_else(|| panic!("no answer: {head:?}, to one of {asked:?}"));
        if status == 100 {
            continue;
        }
        let asked = asked.get(answers.len()).or(asked.last()).map_or("", String::as_str);
        let mut answer = Answer { status, head, body: Vec::new() };
        let length = answer.header("content-length").map_or(0, |length| length.parse().expect("a length"));
        let has_body = !asked.starts_with("HEAD ") && status != 304;
        let Some(body) = came.get(..if has_body { length } else { 0 }) else { break };
        came = &came[body.len()..];
        answer.body = body.to_vec();
        answer.judge(asked);
        answers.push(answer);
    }
    answers
}
