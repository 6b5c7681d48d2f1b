//! What browsers are told that they may do with a response.

use actix_web::http::header;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};

/// What a response carries unless it says otherwise itself. Types are not guessed, addresses not passed on; what is
/// opened as a page loads nothing, runs nothing and is in nobody's frame; and nothing is kept.
pub(crate) const HEADERS: [(HeaderName, HeaderValue); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    ),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// Tells browsers what they may do with a response.
pub(crate) fn protect(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        if !headers.contains_key(&name) {
            headers.insert(name, value);
        }
    }
}
