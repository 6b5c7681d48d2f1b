//! Answers that a client may have already.

use actix_web::http::header::HeaderValue;
use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse};
use agora_domain::clock::Timestamp;

use crate::core::extractor;
use crate::request::preconditions::has;
use crate::response::etag::tag;
use crate::response::{HandlerResult, Rendered};

/// Who may keep an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cache {
    /// Nobody on the way, the store of a browser included. A client that keeps it by itself can ask whether it holds.
    Private,
    /// Anybody; each time, it is asked whether it still holds.
    Public,
}

impl Cache {
    const fn control(self) -> &'static str {
        match self {
            Self::Private => "no-store",
            Self::Public => "public, no-cache",
        }
    }
}

/// The request of a thing that the client may have already.
pub(crate) struct Conditional(HttpRequest);

impl Conditional {
    /// Reads the conditions of a request.
    pub(crate) fn of(request: &HttpRequest) -> Self {
        Self(request.clone())
    }

    /// Returns the answer with its tag, without its body if the client has it.
    pub(crate) fn answer(&self, cache: Cache, version: Option<Timestamp>, rendered: Rendered) -> HandlerResult {
        let tag = tag(version, rendered.body());
        let response = self.unchanged(&tag).unwrap_or_else(|| rendered.into_response());
        Ok(tagged(response, cache, &tag))
    }

    /// Returns the answer that `make` makes, under a tag that is known before; not made if the client has it.
    pub(crate) async fn answer_tagged(
        &self,
        cache: Cache,
        tag: &str,
        make: impl AsyncFnOnce() -> HandlerResult,
    ) -> HandlerResult {
        let response = match self.unchanged(tag) {
            Some(unchanged) => unchanged,
            None => make().await?,
        };
        Ok(tagged(response, cache, tag))
    }

    fn unchanged(&self, tag: &str) -> Option<HttpResponse> {
        has(&self.0, tag).then(|| HttpResponse::build(StatusCode::NOT_MODIFIED).finish())
    }
}

fn tagged(mut response: HttpResponse, cache: Cache, tag: &str) -> HttpResponse {
    let headers = [(header::CACHE_CONTROL, cache.control()), (header::ETAG, tag), (header::VARY, "Accept-Encoding")];
    for (name, value) in headers {
        // What it is made of is visible ASCII.
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

extractor!(Conditional, |request| Ok(Self::of(request)));
