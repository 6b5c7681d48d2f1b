//! Answers as they stand on the wire, taken apart by the letter: no byte between them or behind the last.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{process::HANG, raw::Raw};

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Its version and status, such as `1.1 200`.
    pub(crate) status: String,
    /// Names in small letters, and values.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// Whether it says that the connection ends with it.
    pub(crate) fn closes(&self) -> bool {
        self.header("connection") == Some("close")
    }

    /// Checks that it has this status; a failure has the form that every failure has.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> &Self {
        assert_eq!(self.status, format!("1.1 {status}"), "{self:?}");
        for usual in ["date", "x-request-id", "x-content-type-options", "content-security-policy", "referrer-policy"] {
            assert!(self.header(usual).is_some(), "{usual} is missing: {self:?}");
        }
        if status >= 400 {
            assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
            assert_eq!(self.header("cache-control"), Some("no-store"), "{self:?}");
            let envelope: Value = serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{self:?}"));
            assert_eq!((&envelope["success"], &envelope["status"]), (&false.into(), &status.into()), "{self:?}");
            assert!(envelope["message"].is_string(), "{self:?}");
        }
        self
    }

    /// Takes the first of the bytes apart; an answer to a HEAD has no body.
    #[track_caller]
    fn first<'a>(bytes: &'a [u8], method: &str) -> (Self, &'a [u8]) {
        let what = || String::from_utf8_lossy(bytes).into_owned();
        let end =
            bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_else(|| panic!("no head: {}", what()));
        let (head, rest) = (std::str::from_utf8(&bytes[..end]).unwrap(), &bytes[end + 4..]);
        let (first, fields) = head.split_once("\r\n").unwrap_or((head, ""));
        let status = first.strip_prefix("HTTP/").unwrap_or_else(|| panic!("no answer begins here: {}", what()));
        let status = status.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let field = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("{line:?} in {head:?}"));
            (name.to_ascii_lowercase(), value.to_owned())
        };
        let headers = fields.lines().map(field).collect();
        let mut answer = Self { status, headers, body: Vec::new() };
        let is_empty = method == "HEAD" || answer.status.ends_with(" 304") || answer.status.ends_with(" 100");
        let length = if is_empty { 0 } else { answer.header("content-length").expect("no length").parse().unwrap() };
        assert!(length <= rest.len(), "it is cut short: {}", what());
        let (body, rest) = rest.split_at(length);
        answer.body = body.to_vec();
        (answer, rest)
    }
}

impl Raw {
    /// Sends this in these pieces, then nothing more; what was answered to requests of these methods, which is all that
    /// came. The service closes the connection, and cleanly.
    pub(crate) async fn exchange<'a>(
        address: &str,
        pieces: impl IntoIterator<Item = &'a [u8]>,
        methods: &[&str],
    ) -> Vec<Answer> {
        let stream = Self::open(address).await.into_stream();
        let (mut reading, mut writing) = stream.into_split();
        let mut bytes = Vec::new();
        let read = tokio::time::timeout(HANG, reading.read_to_end(&mut bytes));
        let write = async {
            for piece in pieces {
                // Once the service has closed the connection, nothing can be sent.
                if writing.write_all(piece).await.is_err() {
                    return;
                }
                tokio::task::yield_now().await;
            }
            let _ = writing.shutdown().await;
        };
        let (read, ()) = tokio::join!(read, write);
        read.expect("it is never closed").expect("an answer may be lost");
        let mut rest = bytes.as_slice();
        let mut answers = Vec::new();
        for method in methods {
            if rest.is_empty() {
                break;
            }
            let (answer, after) = Answer::first(rest, method);
            answers.push(answer);
            rest = after;
        }
        assert!(rest.is_empty(), "more than was asked: {:?}", String::from_utf8_lossy(rest));
        answers
    }

    /// The only answer to what is sent whole. What stands behind it is none of its business.
    pub(crate) async fn only(address: &str, bytes: &[u8]) -> Answer {
        let mut answers = Self::exchange(address, [bytes], &["GET"]).await;
        answers.pop().unwrap_or_else(|| panic!("no answer to {:?}", String::from_utf8_lossy(bytes)))
    }
}
