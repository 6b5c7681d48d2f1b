//! Limits on how often a client may call: who it is, what it may, and what it is told of that.
//!
//! The rules of logins and registrations are the domain's; they are applied here because they come before everything
//! else. A general limit on requests is the operator's choice: none unless configured.

mod refusals;
mod throttle;

use std::sync::Arc;

use actix_web::{
    HttpMessage, HttpRequest, ResponseError,
    body::BoxBody,
    dev::{ServiceRequest, ServiceResponse},
    http::StatusCode,
};
use agora_domain::{accounts::Caller, limits::Allowance};
use refusals::Refusal;
pub(crate) use refusals::Refusals;
use throttle::Throttles;
pub use throttle::Throttling;

use crate::core::{ApiError, Client, LIMIT, RateLimitClass, State, is_health_probe, shared, write_allowance};

/// Applies the rate limit of the client address to every request but health probes, and adds to the response what is left
/// of the limits that applied.
pub(crate) async fn limit(
    request: ServiceRequest,
    next: impl AsyncFnOnce(ServiceRequest) -> Result<ServiceResponse<BoxBody>, actix_web::Error>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let (state, limiter) = (shared::<State>(request.request())?, shared::<RateLimiter>(request.request())?);
    if let Err(error) = limiter.check_address(&state, request.request()) {
        return Ok(request.into_response(error.error_response()));
    }
    let mut response = next(request).await?;
    let snapshot = response.request().extensions().get::<RateLimitSnapshot>().map(|snapshot| snapshot.0);
    if let Some(allowance) = snapshot.filter(|_| !response.headers().contains_key(LIMIT)) {
        write_allowance(response.headers_mut(), allowance);
    }
    Ok(response)
}

/// What is left of the limits that applied to a request: of the one with the least.
struct RateLimitSnapshot(Allowance);

fn record(request: &HttpRequest, allowance: Option<Allowance>) {
    let Some(allowance) = allowance else { return };
    let mut extensions = request.extensions_mut();
    if extensions.get::<RateLimitSnapshot>().is_none_or(|snapshot| allowance.remaining < snapshot.0.remaining) {
        extensions.insert(RateLimitSnapshot(allowance));
    }
}

/// The limits on how often clients may call, and how many requests were refused for them.
pub(crate) struct RateLimiter {
    throttles: Throttles,
    refusals: Arc<Refusals>,
}

impl RateLimiter {
    /// Creates the limits that the operator has set.
    pub(crate) fn new(throttling: Throttling) -> Self {
        Self { throttles: throttling.into(), refusals: Arc::default() }
    }

    /// Returns the counters of refused requests.
    pub(crate) fn refusals(&self) -> Arc<Refusals> {
        Arc::clone(&self.refusals)
    }

    fn check_address(&self, state: &State, request: &HttpRequest) -> Result<(), ApiError> {
        let Some(throttle) = &self.throttles.per_address else { return Ok(()) };
        if is_health_probe(request.path()) {
            return Ok(());
        }
        let Client(client) = Client::of(state, request);
        if !client.is_loopback() {
            record(request, Some(self.refusals.count(Refusal::Address, throttle.admit(client))?));
        }
        Ok(())
    }

    /// Applies the limit that the endpoint has for client addresses.
    pub(crate) fn check_endpoint(
        &self,
        class: Option<RateLimitClass>,
        state: &State,
        request: &HttpRequest,
    ) -> Result<(), ApiError> {
        let Some(class) = class else { return Ok(()) };
        let (limits, Client(client)) = (&state.services.limits, Client::of(state, request));
        record(
            request,
            match class {
                RateLimitClass::Login => self.refusals.count(Refusal::Login, limits.admit_login(client))?,
                RateLimitClass::Registration => {
                    self.refusals.count(Refusal::Registration, limits.admit_registration(client))?
                }
            },
        );
        Ok(())
    }

    /// Counts an answer of a handler as a refusal of one who has guessed or changed passwords too often: the limits that are
    /// met there.
    pub(crate) fn count_guesses<B>(&self, answered: &Result<ServiceResponse<B>, actix_web::Error>) {
        if answered.as_ref().is_ok_and(|response| response.status() == StatusCode::TOO_MANY_REQUESTS) {
            self.refusals.add(Refusal::Password);
        }
    }

    /// Applies the rate limit of the account.
    pub(crate) fn check_account(&self, caller: &Caller, request: &HttpRequest) -> Result<(), ApiError> {
        if let Some(throttle) = &self.throttles.per_account {
            record(request, Some(self.refusals.count(Refusal::Account, throttle.admit(caller.user))?));
        }
        Ok(())
    }
}
