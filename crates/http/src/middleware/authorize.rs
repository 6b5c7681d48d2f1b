//! What stands before every handler: who calls, how long it may take, and what becomes of a panic.

use std::panic::AssertUnwindSafe;

use actix_web::{
    HttpMessage, HttpRequest, ResponseError,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::header,
    middleware::Next,
    web,
};
use agora_domain::accounts::Caller;
use futures_util::FutureExt;

use crate::{
    core::{
        access::{Access, Rule, TakesKey},
        error::ApiError,
        request_context::Trail,
        state::State,
    },
    middleware::{
        account_limits::AccountLimits,
        idempotency,
        rate_limit::RateLimiter,
        request_log::{RequestLog, Unanswered},
    },
    request::body_deadline::{Incoming, in_time},
};

/// Admits or refuses a request, then calls its handler within the time a request may take.
pub(crate) async fn guard(
    rule: Rule,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let http = request.request().clone();
    let (Some(state), Some(limiter), Some(account_limits), Some(request_log), Some(trail)) = (
        request.app_data::<web::Data<State>>().cloned(),
        request.app_data::<web::Data<RateLimiter>>().cloned(),
        request.app_data::<web::Data<AccountLimits>>().cloned(),
        request.app_data::<web::Data<RequestLog>>().cloned(),
        Trail::of(&http),
    ) else {
        return Ok(refuse(http, &ApiError::Panicked));
    };
    let unanswered = Unanswered::new(&state, &request_log, &http, trail);
    let work = trail.follow(rule.path, async {
        limiter.admit_to(rule.limited, &state, request.request())?;
        let caller = admit(rule.access, &state, &limiter, request.request()).await?;
        refuse_nul(request.request())?;
        let permit = match caller {
            Some(caller) => account_limits.acquire(caller.user, &request).await?,
            None => None,
        };
        let key = if rule.takes_key == TakesKey::No { None } else { idempotency::key(request.headers())? };
        let mut answered = match key {
            Some(key) => idempotency::once(state.clone(), request_log.clone(), rule, key, request, next).await?,
            None => {
                let answered = next.call(request).await.map(ServiceResponse::map_into_boxed_body);
                limiter.note_guesses(&answered);
                answered
            }
        };
        if let (Ok(answered), Some(permit)) = (&mut answered, permit) {
            // Until the answer is compressed.
            answered.response_mut().extensions_mut().insert(permit);
        }
        Ok(answered)
    });
    let work = AssertUnwindSafe(work).catch_unwind();
    let outcome = in_time(work, state.request_time, Incoming::of(&http)).await;
    unanswered.was_answered();
    match outcome {
        Some(Ok(Ok(response))) => response,
        Some(Ok(Err(error))) => Ok(refuse(http, &error)),
        Some(Err(_panic)) => Ok(refuse(http, &ApiError::Panicked)),
        None => Ok(refuse(http, &ApiError::TimedOut)),
    }
}

fn refuse(request: HttpRequest, error: &ApiError) -> ServiceResponse<BoxBody> {
    ServiceResponse::new(request, error.error_response())
}

/// Checks the token and the roles that the endpoint needs, and leaves the caller, if it needs one, for the handler too.
async fn admit(
    access: Access,
    state: &State,
    limiter: &RateLimiter,
    request: &HttpRequest,
) -> Result<Option<Caller>, ApiError> {
    if access == Access::Public {
        return Ok(None);
    }
    let token = bearer_token(request).ok_or(ApiError::NoToken)?;
    let caller = state.services.authentication.authenticate(token).await?;
    // Before what may refuse it: the log tells who that was.
    request.extensions_mut().insert(caller);
    limiter.admit_caller(&caller, request)?;
    match access {
        Access::Public | Access::Account => {}
        Access::Member => caller.member().map(drop)?,
        Access::Admin => caller.admin().map(drop)?,
    }
    Ok(Some(caller))
}

pub(crate) fn bearer_token(request: &HttpRequest) -> Option<&str> {
    let (scheme, token) = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// A NUL character in path or query means nothing to any endpoint.
fn refuse_nul(request: &HttpRequest) -> Result<(), ApiError> {
    let (path, query) = (request.uri().path(), request.query_string());
    if path.contains("%00") || query.contains("%00") {
        return Err(ApiError::Malformed("The address must not contain a NUL character".to_owned()));
    }
    Ok(())
}
