//! The limits on load and on the size of requests, and the headers that report rate limits to clients.

use std::time::Duration;

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use agora_domain::limits::Allowance;

/// The most bytes of the head of a request.
pub(crate) const HEAD_LIMIT: usize = 64 * 1024;

/// The most bytes of a JSON body.
pub(crate) const JSON_LIMIT: usize = 64 * 1024;

/// The most parts of a form.
pub(crate) const MAX_PARTS: usize = 64;

/// How many bytes of a body beyond its limit are read and discarded, so that a client that sends everything before it reads
/// still sees the refusal. A client that sends more is disconnected.
pub(crate) const DRAIN_LIMIT: usize = 64 * 1024 * 1024;

/// The limits on how much the service handles at once, and on how long a client may take for its part of a request.
#[derive(Debug, Clone, Copy)]
pub struct LoadLimits {
    /// The most connections at once. One more is answered 503 and closed.
    pub connections: usize,
    /// The most requests in flight: from the end of the head until the answer was sent. One more is answered 503.
    pub requests: usize,
    /// The most bytes of large request bodies in memory at once; at least the size of the largest body. A body for which there
    /// is no memory waits, and is answered 503 if none becomes available in time.
    pub upload_bytes: usize,
    /// The most bytes of large answers in memory at once. An answer for which there is no memory waits, and is replaced by a
    /// 503 if none becomes available in time. It keeps its memory until the client has read it.
    pub answer_bytes: usize,
    /// How long a client may take to send the head of a request, from its first byte or from the start of the connection. After
    /// that it is answered 408, if it has sent anything, and disconnected.
    pub head_time: Duration,
    /// How long a client may take to send the body of a request. After that it is answered 408 and disconnected.
    pub body_time: Duration,
    /// How long a client may read nothing, or next to nothing, of an answer before it is disconnected.
    pub answer_time: Duration,
}

impl Default for LoadLimits {
    fn default() -> Self {
        Self {
            connections: 4096,
            requests: 2048,
            upload_bytes: 32 << 20,
            answer_bytes: 64 << 20,
            head_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            answer_time: Duration::from_secs(30),
        }
    }
}

pub(crate) const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// Writes the state of a rate limit into the `RateLimit` headers of a response.
pub(crate) fn write_allowance(headers: &mut HeaderMap, Allowance { limit, remaining, reset_seconds }: Allowance) {
    for (name, value) in [(LIMIT, limit.most), (REMAINING, remaining), (RESET, reset_seconds)] {
        headers.insert(name, HeaderValue::from(value));
    }
}
