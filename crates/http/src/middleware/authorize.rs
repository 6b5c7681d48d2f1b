//! Authenticates and authorizes the caller, then calls the handler within its deadline and catches panics.

use std::panic::AssertUnwindSafe;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{Method, StatusCode, header};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{HttpMessage, HttpRequest, ResponseError};
use agora_domain::accounts::Caller;
use futures_util::FutureExt;
use tracing::{Instrument, Span};
use url::form_urlencoded;

use crate::core::{Access, ApiError, EndpointPolicy, FromReplica, RequestContext, State, is_health_probe, shared};
use crate::middleware::{
    AccountConcurrency, AccountPermit, CancelledRequestGuard, RateLimiter, RequestLog, completion, idempotency,
};
use crate::request::{BodyDeadline, TICKET, with_deadline};

/// The time limit of a deletion, as a multiple of that of other requests. The response is not waited for that long: only the
/// work continues.
const DELETION_TIME_FACTOR: u32 = 10;

/// Applies the policy of an endpoint to a request, then calls its handler within the time that a request may take.
pub(crate) async fn authorize(
    policy: EndpointPolicy,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let http = request.request().clone();
    let (state, request_log) = (shared::<State>(&http)?, shared::<RequestLog>(&http)?);
    let context = RequestContext::of(&http).map_err(ApiError::from)?;
    let unanswered = CancelledRequestGuard::new(state, request_log, &http, context);
    let work = context.instrument(policy.path, check_and_call(policy, state, request_log, request, next));
    let outcome =
        with_deadline(AssertUnwindSafe(work).catch_unwind(), state.request_time, BodyDeadline::of(&http)).await;
    unanswered.disarm();
    match outcome {
        Some(Ok(Ok(response))) => response,
        Some(Ok(Err(error))) => Ok(respond_with_error(http, &error)),
        Some(Err(_panic)) => Ok(respond_with_error(http, &ApiError::Panicked)),
        None => Ok(respond_with_error(http, &ApiError::TimedOut)),
    }
}

/// Calls the handler unless the policy refuses the request. With an `Idempotency-Key`, the call takes effect at most once.
async fn check_and_call(
    policy: EndpointPolicy,
    state: &Data<State>,
    request_log: &Data<RequestLog>,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<completion::Response, ApiError> {
    let http = &request.request().clone();
    let limiter = shared::<RateLimiter>(http)?.clone();
    limiter.check_endpoint(policy.rate_limit, state, http)?;
    let caller = authenticate(policy.access, state, &limiter, http).await?;
    reject_nul(http)?;
    if let Some(caller) = caller {
        // Kept in the request's extensions: work that runs to completion holds the permit even after its client disconnected.
        let acquired = shared::<AccountConcurrency>(http)?.acquire(caller.user, policy.takes_form, &mut request);
        if let Some(permit) = acquired.await? {
            request.extensions_mut().insert(permit);
        }
    }
    let is_safe = request.method().is_safe();
    if policy.is_replicated && is_safe {
        select_replica(state, caller, http).await;
    }
    // Reads from the replica depend on the record of this write, so the request runs until that is made, even without its
    // client.
    let is_recorded = !is_safe && caller.is_some() && state.replica.is_some();
    let is_deletion = request.method() == Method::DELETE;
    let mut answered = match idempotency::key(policy.idempotency, request.headers())? {
        Some(key) => {
            let once = idempotency::once(state.clone(), request_log.clone(), policy, key, request, next);
            once.instrument(use_case_span(policy)).await?
        }
        None if is_deletion || is_recorded => {
            let write = write_to_completion(state.clone(), request_log.clone(), policy, request, next);
            write.instrument(use_case_span(policy)).await?
        }
        None => call_with_replica_fallback(request, &next).instrument(use_case_span(policy)).await,
    };
    limiter.count_handler_refusal(&answered);
    let permit = http.extensions_mut().remove::<AccountPermit>();
    if let (Ok(answered), Some(permit)) = (&mut answered, permit) {
        // Held until the response is compressed.
        answered.response_mut().extensions_mut().insert(permit);
    }
    Ok(answered)
}

/// Calls the handler of a write and runs it to completion, even if the client disconnects. Otherwise a deletion, which takes
/// several transactions, would be left half done, and the database might execute a write that is not recorded.
///
/// There is a time limit all the same, since others may keep adding to what is being deleted.
async fn write_to_completion(
    state: Data<State>,
    request_log: Data<RequestLog>,
    policy: EndpointPolicy,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<completion::Response, ApiError> {
    let context = RequestContext::of(request.request())?;
    let caller = request.extensions().get::<Caller>().map(|caller| caller.user);
    let is_deletion = request.method() == Method::DELETE;
    let limit = state.request_time * if is_deletion { DELETION_TIME_FACTOR } else { 1 };
    let body = BodyDeadline::of(request.request());
    completion::run_to_completion(state, request_log, (policy, context), caller, async move {
        let handled = AssertUnwindSafe(next.call(request)).catch_unwind();
        match with_deadline(handled, limit, body).await {
            Some(Ok(answered)) => Ok(answered.map(ServiceResponse::map_into_boxed_body)),
            Some(Err(_panic)) => Err(ApiError::Panicked),
            None => Err(ApiError::TimedOut),
        }
    })
    .await
}

/// Calls the handler. If it read from the replica and the result is 404 or 403, calls it once more over the primary database:
/// the replica may only be behind.
async fn call_with_replica_fallback(
    request: ServiceRequest,
    next: &Next<impl MessageBody + 'static>,
) -> completion::Response {
    let http = request.request().clone();
    let answered = next.call(request).await?;
    let is_refused = matches!(answered.status(), StatusCode::NOT_FOUND | StatusCode::FORBIDDEN);
    let was_replica = is_refused && http.extensions_mut().remove::<FromReplica>().is_some();
    let answered = if was_replica { next.call(ServiceRequest::from_request(http)).await? } else { answered };
    Ok(answered.map_into_boxed_body())
}

/// Returns the span of a use case, for traces. Health probes have none.
fn use_case_span(policy: EndpointPolicy) -> Span {
    if is_health_probe(policy.path) {
        return Span::none();
    }
    tracing::info_span!("use case", otel.name = policy.operation, otel.kind = "internal")
}

/// Marks the request to read from the replica, if there is one and it shows all that the caller has written. A public endpoint
/// does not look up the caller, so a request with a token is never marked there: its caller may have written.
async fn select_replica(state: &State, caller: Option<Caller>, request: &HttpRequest) {
    let Some(replica) = &state.replica else { return };
    let is_anonymous = caller.is_none() && !request.headers().contains_key(header::AUTHORIZATION);
    if (caller.is_some() || is_anonymous) && replica.replica.serves(caller.map(|caller| caller.user)).await {
        request.extensions_mut().insert(FromReplica(replica.state.clone()));
    }
}

fn respond_with_error(request: HttpRequest, error: &ApiError) -> ServiceResponse<BoxBody> {
    ServiceResponse::new(request, error.error_response())
}

/// Checks the token, the rate limit of the account and the role that the endpoint requires. Stores the caller in the request's
/// extensions for the handler. Returns `None` for a public endpoint.
async fn authenticate(
    access: Access,
    state: &State,
    limiter: &RateLimiter,
    request: &HttpRequest,
) -> Result<Option<Caller>, ApiError> {
    if access == Access::Public {
        return Ok(None);
    }
    let authentication = &state.services.authentication;
    let ticket = || (access == Access::MemberOrTicket).then(|| ticket(request)).flatten();
    let authenticated = match bearer_token(request) {
        Some(token) => authentication.authenticate(token).await?,
        None => authentication.redeem_ticket(&ticket().ok_or(ApiError::NoToken)?).await?,
    };
    let caller = authenticated.caller;
    // Before any refusal, so that the log names the caller.
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(authenticated);
    limiter.check_account(state, &caller, request)?;
    match access {
        Access::Public | Access::Account => {}
        Access::Member | Access::MemberOrTicket => caller.member().map(drop)?,
        Access::Admin => caller.admin().map(drop)?,
    }
    Ok(Some(caller))
}

pub(crate) fn bearer_token(request: &HttpRequest) -> Option<&str> {
    let (scheme, token) = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Returns the ticket in the query.
fn ticket(request: &HttpRequest) -> Option<String> {
    let mut parameters = form_urlencoded::parse(request.query_string().as_bytes());
    parameters.find(|(name, _)| name == TICKET).map(|(_, ticket)| ticket.into_owned())
}

/// Rejects a NUL character in path or query, which no endpoint accepts.
fn reject_nul(request: &HttpRequest) -> Result<(), ApiError> {
    let (path, query) = (request.uri().path(), request.query_string());
    if path.contains("%00") || query.contains("%00") {
        return Err(ApiError::Malformed("The address must not contain a NUL character".to_owned()));
    }
    Ok(())
}
