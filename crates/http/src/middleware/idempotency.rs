//! `Idempotency-Key`: requests that a client may repeat without effect beyond the first time.

use std::iter;
use std::panic::AssertUnwindSafe;

use actix_web::body::MessageBody;
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{HttpMessage, HttpRequest, web};
use agora_domain::Error;
use agora_domain::accounts::Caller;
use agora_domain::idempotency::{Attempt, AttemptId, Fingerprint, Fingerprints, IdempotencyKey, RequestName};
use bytes::Bytes;
use futures_util::FutureExt;
use memchr::memmem;

use crate::core::{
    ApiError, EndpointPolicy, IdempotencySupport, JSON_LIMIT, MacKeys, Purpose, RequestContext, State, extractor,
};
use crate::middleware::RequestLog;
use crate::middleware::completion::{Response, run_to_completion};
use crate::request::{Body, multipart};

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The most bytes of a body whose digest is computed on the worker thread. Larger ones are digested on another thread.
const MAX_INLINE: usize = 64 * 1024;

/// The number of copies of a body in memory: it is kept as received while the handler parses it.
const COPIES: usize = 2;

/// Returns the key of a request, if it has one and the endpoint supports keys.
pub(crate) fn key(support: IdempotencySupport, headers: &HeaderMap) -> Result<Option<IdempotencyKey>, ApiError> {
    if support == IdempotencySupport::None {
        return Ok(None);
    }
    let mut given = headers.get_all(KEY);
    let Some(value) = given.next() else { return Ok(None) };
    if given.next().is_some() {
        return Err(ApiError::Malformed("Idempotency-Key must be given once".to_owned()));
    }
    let key = IdempotencyKey::parse(value.to_str().unwrap_or_default());
    let message = || format!("Idempotency-Key must be 1 to {} visible ASCII characters", IdempotencyKey::MAX);
    key.map(Some).ok_or_else(|| ApiError::Malformed(message()))
}

/// Calls the handler of a request with a key. If the same request was carried out before, the handler only reports again what
/// it did.
///
/// Once the request is recorded, it runs to completion even if the client disconnects, so that a retry finds the outcome.
pub(crate) async fn once(
    state: web::Data<State>,
    request_log: web::Data<RequestLog>,
    policy: EndpointPolicy,
    key: IdempotencyKey,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<Response, ApiError> {
    let context = RequestContext::of(request.request())?;
    let payload = request.take_payload();
    let body = Body::new(request.request(), payload);
    // The limit of the handler.
    let is_upload = policy.idempotency == IdempotencySupport::Image;
    let most = if is_upload { multipart::most_bytes(state.max_image_bytes) } else { JSON_LIMIT };
    body.reserve_memory(most, COPIES).await?;
    let body = body.bytes(most).await?;
    let caller = request.extensions().get::<Caller>().map(|caller| caller.user);
    let name = RequestName { caller, route: format!("{} {}", request.method(), policy.path), key };
    let fingerprints = fingerprints(&state.mac_keys, request.request(), body.clone()).await?;
    let shared = state.clone();
    let work = async move { record_and_call(&shared, (&name, fingerprints), (request, body), next).await };
    run_to_completion(state, request_log, (policy, context), caller, work).await
}

async fn record_and_call(
    state: &State,
    (name, fingerprints): (&RequestName, Fingerprints),
    (mut request, body): (ServiceRequest, Bytes),
    next: Next<impl MessageBody + 'static>,
) -> Result<Response, ApiError> {
    let attempt = state.services.idempotency.begin(name, fingerprints).await?;
    request.extensions_mut().insert(attempt);
    request.set_payload(Payload::from(body));
    let handled = AssertUnwindSafe(next.call(request)).catch_unwind();
    let mut outcome = match tokio::time::timeout(state.request_time, handled).await {
        Ok(Ok(response)) => Ok(response.map(ServiceResponse::map_into_boxed_body)),
        Ok(Err(_panic)) => Err(ApiError::Panicked),
        Err(_elapsed) => Err(ApiError::TimedOut),
    };
    match (&mut outcome, attempt) {
        (Ok(Ok(response)), Attempt::Replay(_)) if !response.status().is_server_error() => {
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        }
        // The handler has stored its outcome in the transaction of its writes.
        (Ok(Ok(response)), _) if response.status().is_success() => {}
        (_, Attempt::First(attempt)) => abandon(state, attempt).await,
        _ => {}
    }
    outcome
}

/// Deletes the record of a request that was refused or failed, so that it may be retried. If it was carried out all the same,
/// its record stays.
async fn abandon(state: &State, attempt: AttemptId) {
    if let Err(error) = state.services.idempotency.abandon(attempt).await {
        // Retries are answered that the request is in progress, until the attempt expires.
        tracing::warn!(cause = error.cause(), "could not delete an idempotency record");
    }
}

/// Computes the fingerprints of a request: digests of its method and URI, the media type of its body and the body.
async fn fingerprints(mac_keys: &MacKeys, request: &HttpRequest, body: Bytes) -> Result<Fingerprints, ApiError> {
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let head = format!("{} {}", request.method(), request.uri());
    let (mac_keys, content_type) = (mac_keys.clone(), content_type.unwrap_or_default().to_owned());
    let is_large = body.len() > MAX_INLINE;
    let digest = move || {
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let boundary = (essence == "multipart/form-data").then(|| boundary(&content_type)).flatten();
        let content = [head.as_bytes(), essence.as_bytes()].into_iter().chain(parts(boundary, &body));
        let (own, accepted) = mac_keys.macs(Purpose::Request, content);
        Fingerprints { own: Fingerprint(own), accepted: accepted.map(Fingerprint) }
    };
    if is_large { Ok(web::block(digest).await.map_err(Error::internal)?) } else { Ok(digest()) }
}

pub(crate) fn boundary(content_type: &str) -> Option<&str> {
    let mut parameters = content_type.split(';').filter_map(|parameter| parameter.trim().split_once('='));
    let (_, boundary) = parameters.find(|(name, _)| name.eq_ignore_ascii_case("boundary"))?;
    Some(boundary.trim_matches('"')).filter(|boundary| !boundary.is_empty())
}

/// Returns the parts of a form between its boundaries, or the whole body if it is no form. The boundaries do not count, since
/// clients generate a new one each time they send the same form.
pub(crate) fn parts<'a>(boundary: Option<&str>, body: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + Clone {
    let delimiter = boundary.map(|boundary| format!("--{boundary}").into_bytes());
    let mut rest = Some(body);
    iter::from_fn(move || {
        let body = rest.take()?;
        let found = delimiter.as_ref().and_then(|it| Some((memmem::find(body, it)?, it.len())));
        let Some((at, length)) = found else { return Some(body) };
        rest = body.get(at + length..);
        body.get(..at)
    })
}

/// The attempt that a request is: the first or a later one under its key, or [`Attempt::Unnamed`] without a key.
pub(crate) struct RequestAttempt(pub(crate) Attempt);

extractor!(RequestAttempt, |request| Ok(Self(request.extensions().get().copied().unwrap_or(Attempt::Unnamed))));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_form_do_not_depend_on_its_boundary() {
        let form = |boundary: &str| format!("--{boundary}\r\nname\r\n\r\nvalue\r\n--{boundary}--\r\n");
        let (one, two) = (form("one"), form("another"));
        let of = |content_type: &str, body: &str| {
            parts(boundary(content_type), body.as_bytes()).map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        let known = of("multipart/form-data; boundary=one", &one);
        assert_eq!(known, of("multipart/form-data; charset=utf-8; Boundary=\"another\"", &two));
        assert_ne!(known, of("multipart/form-data; boundary=one", &two));
        for none in ["application/json", "multipart/form-data; boundary=", "multipart/form-data"] {
            assert_eq!(of(none, "--one"), [b"--one"]);
        }
    }
}
