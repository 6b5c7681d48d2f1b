//! Conditional responses: 304 if the client already has the current one.

use actix_web::http::header::HeaderValue;
use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse};
use agora_domain::clock::Timestamp;

use crate::core::extractor;
use crate::request::preconditions::has;
use crate::response::etag::tag;
use crate::response::{HandlerResult, Rendered};

/// Who may cache a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cache {
    /// No cache, neither a shared one nor that of a browser. A client that keeps the response on its own can revalidate it.
    Private,
    /// Every cache, which must revalidate the response before each use.
    Public,
}

impl Cache {
    const fn header_value(self) -> &'static str {
        match self {
            Self::Private => "no-store",
            Self::Public => "public, no-cache",
        }
    }
}

/// A request for something that the client may already have.
pub(crate) struct Conditional(HttpRequest);

impl Conditional {
    /// Creates it from a request, whose `If-None-Match` it reads.
    pub(crate) fn of(request: &HttpRequest) -> Self {
        Self(request.clone())
    }

    /// Returns the response with the tag of its body, or 304 if the client already has it.
    pub(crate) fn answer(&self, cache: Cache, version: Option<Timestamp>, rendered: Rendered) -> HandlerResult {
        let tag = tag(version, rendered.body());
        let response = self.not_modified(&tag).unwrap_or_else(|| rendered.into_response());
        Ok(with_cache_headers(response, cache, &tag))
    }

    /// Returns the response that `make` creates, with a tag that is known in advance. If the client already has it, returns 304
    /// without calling `make`.
    pub(crate) async fn answer_with_tag(
        &self,
        cache: Cache,
        tag: &str,
        make: impl AsyncFnOnce() -> HandlerResult,
    ) -> HandlerResult {
        let response = match self.not_modified(tag) {
            Some(not_modified) => not_modified,
            None => make().await?,
        };
        Ok(with_cache_headers(response, cache, tag))
    }

    fn not_modified(&self, tag: &str) -> Option<HttpResponse> {
        has(&self.0, tag).then(|| HttpResponse::build(StatusCode::NOT_MODIFIED).finish())
    }
}

fn with_cache_headers(mut response: HttpResponse, cache: Cache, tag: &str) -> HttpResponse {
    let headers =
        [(header::CACHE_CONTROL, cache.header_value()), (header::ETAG, tag), (header::VARY, "Accept-Encoding")];
    for (name, value) in headers {
        // The values are visible ASCII, so the conversion does not fail.
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

extractor!(Conditional, |request| Ok(Self::of(request)));
