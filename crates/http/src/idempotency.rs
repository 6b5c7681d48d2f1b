//! `Idempotency-Key`: requests that a client may send again without their taking effect twice.

use std::{
    future::{Ready, ready},
    panic::AssertUnwindSafe,
};

use actix_web::{
    FromRequest, HttpMessage, HttpRequest,
    body::{BoxBody, MessageBody},
    dev::{Payload, ServiceRequest, ServiceResponse},
    http::header::{self, HeaderMap, HeaderName, HeaderValue},
    middleware::Next,
    rt, web,
};
use agora_domain::{
    accounts::Caller,
    idempotency::{AttemptId, Fingerprint, IdempotencyKey, Once, RequestName, Start},
};
use bytes::Bytes;
use futures_util::FutureExt;
use memchr::memmem;

use crate::{
    body::{Body, JSON_LIMIT},
    envelope::Rendered,
    error::ApiError,
    seal::{Purpose, Seal},
    state::State,
};

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// What a body may have beyond the image: as many bytes as the texts of any form may take, and more.
const BESIDES_IMAGE: usize = 16 * JSON_LIMIT;

/// A body beyond so many bytes is digested on another thread than those that serve requests.
const LARGE: usize = 64 * 1024;

/// The key under which a request was sent, if it was.
pub(crate) fn key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, ApiError> {
    let mut given = headers.get_all(KEY);
    let Some(value) = given.next() else { return Ok(None) };
    if given.next().is_some() {
        return Err(ApiError::Malformed("Idempotency-Key must be given once".to_owned()));
    }
    let key = IdempotencyKey::parse(value.to_str().unwrap_or_default());
    key.map(Some).map_err(|violation| ApiError::Malformed(violation.to_string()))
}

/// What a handler's service gives.
pub(crate) type Response = Result<ServiceResponse<BoxBody>, actix_web::Error>;

/// Answers a request that was sent under a key: calls its handler, unless the same request was answered before.
///
/// It is carried out to its end even if the client goes away, so that the retry of an impatient one finds the answer.
pub(crate) async fn once(
    state: web::Data<State>,
    path: &'static str,
    key: IdempotencyKey,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<Response, ApiError> {
    let body = Body { headers: request.headers().clone(), payload: request.take_payload() };
    let body = body.bytes(state.settings.max_image_bytes.saturating_add(BESIDES_IMAGE)).await?;
    let caller = request.extensions().get::<Caller>().map(|caller| caller.user);
    let name = RequestName { caller, route: format!("{} {path}", request.method()), key };
    let fingerprint = fingerprint(&state.settings.seal, request.request(), body.clone()).await?;
    let attempt = match state.services.idempotency.begin(&name, fingerprint).await? {
        Start::First(attempt) => attempt,
        Start::Again(answer) => {
            let mut response = Rendered::restore(&answer)?.into_response();
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
            return Ok(Ok(request.into_response(response)));
        }
    };
    request.extensions_mut().insert(attempt);
    request.set_payload(Payload::from(body));
    let carried_out = rt::spawn(async move {
        let handled = AssertUnwindSafe(next.call(request)).catch_unwind();
        let outcome = match tokio::time::timeout(state.settings.request_time, handled).await {
            Ok(Ok(response)) => Ok(response.map(ServiceResponse::map_into_boxed_body)),
            Ok(Err(_panic)) => Err(ApiError::Panicked),
            Err(_elapsed) => Err(ApiError::TimedOut),
        };
        settle(&state, attempt, outcome).await
    });
    carried_out.await.unwrap_or(Err(ApiError::Panicked))
}

/// Remembers a refusal, and forgets a failure. What was carried out has stored its answer with what it wrote.
async fn settle(state: &State, attempt: AttemptId, outcome: Result<Response, ApiError>) -> Result<Response, ApiError> {
    let idempotency = &state.services.idempotency;
    let (settled, outcome) = match outcome {
        Ok(Ok(response)) if response.status().is_success() => return Ok(Ok(response)),
        Ok(Ok(response)) if response.status().is_client_error() => {
            let (refusal, response) = Rendered::read(response)?;
            (idempotency.finish(attempt, &refusal.store()).await, Ok(Ok(response)))
        }
        outcome => (idempotency.abandon(attempt).await, outcome),
    };
    if let Err(error) = settled {
        // A retry is told that it is under way, until the attempt is given up for lost.
        tracing::warn!(%error, cause = ?std::error::Error::source(&error), "what became of a request is not on record");
    }
    outcome
}

/// A digest of what a request says: its method and address, the type of its body and the body.
async fn fingerprint(seal: &Seal, request: &HttpRequest, body: Bytes) -> Result<Fingerprint, ApiError> {
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let head = format!("{} {}", request.method(), request.uri());
    let (seal, content_type) = (seal.clone(), content_type.unwrap_or_default().to_owned());
    let is_large = body.len() > LARGE;
    let digest = move || {
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let parts = [head.as_bytes(), essence.as_bytes()].into_iter().chain(parts(&content_type, &body));
        Fingerprint(seal.code(Purpose::Request, parts))
    };
    if is_large { web::block(digest).await.map_err(|_| ApiError::Panicked) } else { Ok(digest()) }
}

/// The body without the boundaries of its form: a client draws a new one each time it sends the same form.
fn parts<'a>(content_type: &str, body: &'a [u8]) -> Vec<&'a [u8]> {
    let boundary = content_type
        .split(';')
        .filter_map(|parameter| parameter.trim().split_once('='))
        .find(|(name, _)| name.eq_ignore_ascii_case("boundary"))
        .map(|(_, value)| value.trim_matches('"'))
        .filter(|boundary| !boundary.is_empty());
    let Some(boundary) = boundary else { return vec![body] };
    let delimiter = format!("--{boundary}");
    let mut parts = Vec::new();
    let mut start = 0;
    for found in memmem::find_iter(body, delimiter.as_bytes()) {
        parts.extend(body.get(start..found));
        start = found + delimiter.len();
    }
    parts.extend(body.get(start..));
    parts
}

/// The attempt that a request is carried out as, if it was sent under a key.
pub(crate) struct Attempt(Option<AttemptId>);

impl Attempt {
    /// Makes a write part of it, with what the request is answered given what the write gave.
    pub(crate) fn once<T>(
        &self,
        answer: impl Fn(&T) -> agora_domain::Result<Rendered> + Send + Sync + 'static,
    ) -> Option<Once<T>> {
        self.0.map(|attempt| Once::new(attempt, move |given| Ok(answer(given)?.store())))
    }
}

impl FromRequest for Attempt {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(request.extensions().get::<AttemptId>().copied())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_form_is_known_whatever_its_boundary() {
        let form = |boundary: &str| format!("--{boundary}\r\nname\r\n\r\nvalue\r\n--{boundary}--\r\n");
        let (one, two) = (form("one"), form("another"));
        let of = |boundary: &str, body: &'static str| {
            parts(&format!("multipart/form-data; boundary={boundary}"), body.as_bytes())
        };
        let (one, two): (&'static str, &'static str) = (one.leak(), two.leak());
        assert_eq!(of("one", one), of("\"another\"", two));
        assert_ne!(of("one", one), of("one", two));
        assert_eq!(parts("application/json", b"{}"), vec![b"{}".as_slice()]);
        assert_eq!(parts("multipart/form-data; boundary=", b"--x"), vec![b"--x".as_slice()]);
    }
}
