//! A response that was read completely, and the checks of it in tests.

use std::io::{ErrorKind, Read};
use std::{fmt, io};

use reqwest::Version;
use reqwest::header::{AsHeaderName, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, LINK};
use serde_json::{Value, json};

/// The public URL with which the services of in-process tests are configured. Links begin with it, whatever the `Host` header.
pub(crate) const PUBLIC_URL: &str = "https://agora.example.org";

/// A response of the service.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) version: Version,
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} {:?} {:?}", self.version, self.status, self.headers, self.text())
    }
}

impl Response {
    /// Reads a response to its end. Fails if the connection ends before.
    pub(crate) async fn receive(response: reqwest::Response) -> reqwest::Result<Self> {
        let (version, status, headers) = (response.version(), response.status().as_u16(), response.headers().clone());
        Ok(Self { version, status, headers, body: response.bytes().await?.to_vec() })
    }

    /// Returns the body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the body, which must be JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the field `data` of the body.
    #[track_caller]
    pub(crate) fn data(&self) -> Value {
        self.json()["data"].take()
    }

    /// Returns the first value of a header.
    #[track_caller]
    pub(crate) fn header(&self, name: impl AsHeaderName) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Returns the target of a link of this relation, as a path with its query below a base URL.
    #[track_caller]
    pub(crate) fn link(&self, relation: &str, base: &str) -> Option<String> {
        let end = format!(">; rel=\"{relation}\"");
        let target = self.header(LINK)?.split(", ").find_map(|link| link.strip_prefix('<')?.strip_suffix(&end))?;
        target.strip_prefix(base).map(str::to_owned)
    }

    /// Returns the path of the next page.
    pub(crate) fn next(&self) -> Option<String> {
        self.link("next", PUBLIC_URL)
    }

    /// Returns the path of the page before this one.
    pub(crate) fn prev(&self) -> Option<String> {
        self.link("prev", PUBLIC_URL)
    }

    /// Checks the status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Checks that this is the error envelope of a status, whatever its message says.
    #[track_caller]
    pub(crate) fn expect_failure(self, status: u16) -> Self {
        let response = self.expect(status);
        assert_eq!(response.header(CONTENT_TYPE), Some("application/json"), "{response:?}");
        let envelope = response.json();
        assert_eq!((&envelope["success"], &envelope["status"]), (&json!(false), &json!(status)), "{envelope}");
        assert!(envelope["message"].as_str().is_some_and(|message| !message.is_empty()), "{envelope}");
        assert!(envelope["code"].is_string(), "{envelope}");
        // Each message has a code.
        let lengths = |of: &Value| {
            let fields = of.as_object().into_iter().flatten();
            fields.map(|(field, all)| (field.clone(), all.as_array().map(Vec::len))).collect::<Vec<_>>()
        };
        assert_eq!(lengths(&envelope["data"]), lengths(&envelope["codes"]), "{envelope}");
        response
    }

    /// Checks that this is the error envelope of a status and a message.
    #[track_caller]
    pub(crate) fn expect_error(self, status: u16, message: &str) -> Self {
        let response = self.expect_failure(status);
        assert_eq!(response.json()["message"], message);
        response
    }

    /// Checks that this is the error envelope of a status and a code.
    #[track_caller]
    pub(crate) fn expect_code(self, status: u16, code: &str) -> Self {
        let response = self.expect_failure(status);
        assert_eq!(response.json()["code"], code, "{response:?}");
        response
    }

    /// Checks that this is a validation failure of exactly these fields.
    #[track_caller]
    pub(crate) fn expect_invalid(self, fields: &[&str]) -> Self {
        let response = self.expect_error(400, "Validation failed");
        let data = response.data();
        let invalid: Vec<_> = data.as_object().expect("fields").keys().map(String::as_str).collect();
        assert_eq!(invalid, fields, "{data}");
        response
    }

    /// Removes the response to a request of this method from the beginning of `received`; `None` while it is incomplete. Panics
    /// if the bytes are no response with a length.
    #[track_caller]
    pub(crate) fn take(received: &mut Vec<u8>, method: &str) -> Option<Self> {
        let end = received.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = String::from_utf8(received[..end].to_vec()).expect("a head in UTF-8");
        let mut lines = head.split("\r\n");
        let (version, status) = match lines.next().map(|line| line.split(' ').collect::<Vec<_>>()).as_deref() {
            Some(["HTTP/1.1", status, ..]) => (Version::HTTP_11, status.parse().unwrap()),
            Some(["HTTP/1.0", status, ..]) => (Version::HTTP_10, status.parse().unwrap()),
            _ => panic!("no response begins with {head:?}"),
        };
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("{line:?} in {head:?}"));
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        let mut response = Self { version, status, headers, body: Vec::new() };
        let has_body = method != "HEAD" && !matches!(status, 100 | 304);
        let length =
            response.header(CONTENT_LENGTH).filter(|_| has_body).map(|length| length.parse::<usize>().unwrap());
        assert_eq!(length.is_some(), has_body, "no length: {head:?}");
        let total = end + 4 + length.unwrap_or_default();
        if received.len() < total {
            return None;
        }
        let rest = received.split_off(total);
        response.body = received.split_off(end + 4);
        *received = rest;
        Some(response)
    }

    /// Reads the response to a request of this method. `received` has the bytes that were read beyond the previous response.
    pub(crate) fn read(stream: &mut impl Read, received: &mut Vec<u8>, method: &str) -> io::Result<Self> {
        loop {
            if let Some(response) = Self::take(received, method) {
                return Ok(response);
            }
            let mut bytes = [0; 4096];
            match stream.read(&mut bytes)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => received.extend_from_slice(&bytes[..count]),
            }
        }
    }
}
