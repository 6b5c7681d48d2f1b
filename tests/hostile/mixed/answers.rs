//! What came over a connection, as answers, each held to what the interface promises.

use memchr::memmem;
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
            assert!(envelope["message"].is_string() && envelope["code"].is_string(), "{}", what());
        }
    }
}

/// Takes the whole answers off the beginning of what came, to requests that begin with these words, one after another.
#[track_caller]
pub(super) fn take(came: &mut Vec<u8>, asked: &[String], answers: &mut Vec<Answer>) {
    while let Some(end) = memmem::find(came, b"\r\n\r\n") {
        let head = String::from_utf8(came[..end].to_vec()).expect("heads are ASCII");
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let status: u16 = status.unwrap_or_else(|| panic!("no answer: {head:?}, to one of {asked:?}"));
        let asked = asked.get(answers.len()).or(asked.last()).map_or("", String::as_str);
        let mut answer = Answer { status, head, body: Vec::new() };
        let has_body = !asked.starts_with("HEAD ") && !matches!(status, 100 | 304);
        let length = answer.header("content-length").filter(|_| has_body);
        let whole = end + 4 + length.map_or(0, |length| length.parse::<usize>().expect("a length"));
        if came.len() < whole {
            return;
        }
        answer.body = came.drain(..whole).skip(end + 4).collect();
        if status != 100 {
            answer.judge(asked);
            answers.push(answer);
        }
    }
}
