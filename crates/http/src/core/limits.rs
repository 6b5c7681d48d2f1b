//! The limits of the service, and what clients are told of those on how often they may call.

use std::time::Duration;

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use agora_domain::limits::Allowance;

/// The most bytes of the head of a request.
pub(crate) const HEAD_LIMIT: usize = 64 * 1024;

/// The most bytes of a JSON body.
pub(crate) const JSON_LIMIT: usize = 64 * 1024;

/// The most parts of a form.
pub(crate) const MAX_PARTS: usize = 64;

/// How much of a body beyond its limit is read and thrown away, so that a client that sends all before it reads sees
/// the refusal. A client that sends still more is cut off.
pub(crate) const DRAIN_LIMIT: usize = 64 * 1024 * 1024;

/// How much the service serves at once, and how long a client may take for its part of a request.
#[derive(Debug, Clone, Copy)]
pub struct LoadLimits {
    /// The most connections at once. One more is answered 503 and closed.
    pub connections: usize,
    /// The most requests in flight: those whose head is there and whose answer is not yet made. One more is answered
    /// 503.
    pub requests: usize,
    /// The most bytes of large request bodies that are in memory at once, at least as many as the largest body has. A
    /// body that finds no room waits for it, and is answered 503 when there is none in time.
    pub upload_bytes: usize,
    /// The most bytes of large answers that are in memory at once. One that finds no room waits for it, and is answered
    /// 503 when there is none in time. It has its room until the client has taken it.
    pub answer_bytes: usize,
    /// How long a client may take to send the head of a request, once it began or the connection was made; then it is
    /// answered 408, if there was anything, and cut.
    pub head_time: Duration,
    /// How long a client may take to send the body of a request; then it is answered 408 and cut.
    pub body_time: Duration,
    /// How long a client may take nothing, or next to nothing, of an answer; then it is cut.
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

/// Writes what is left of a limit into the headers of a response.
pub(crate) fn write_allowance(headers: &mut HeaderMap, Allowance { limit, remaining, reset_seconds }: Allowance) {
    for (name, value) in [(LIMIT, limit.most), (REMAINING, remaining), (RESET, reset_seconds)] {
        headers.insert(name, HeaderValue::from(value));
    }
}
