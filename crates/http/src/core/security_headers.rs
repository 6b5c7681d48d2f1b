//! Response headers that restrict what browsers may do with a response.

use actix_web::http::header;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};

/// The headers of every response that does not set them itself. Browsers do not guess content types and send no `Referer`; a
/// response opened as a page loads nothing, runs nothing and cannot be framed; and nothing is cached.
pub(crate) const HEADERS: [(HeaderName, HeaderValue); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    ),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// Adds those of the [`HEADERS`] that the response does not set itself.
pub(crate) fn protect(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        if !headers.contains_key(&name) {
            headers.insert(name, value);
        }
    }
}
