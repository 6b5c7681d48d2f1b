//! Limits on how often a client may call: who it is, what it may, and what it is told of that.
//!
//! The rules are the domain's; they are applied here because they come before everything else. A general limit on requests
//! is the operator's choice: none unless configured.

mod refusals;

use std::num::NonZeroU32;
use std::sync::Arc;

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::{HttpMessage, HttpRequest, ResponseError};
use agora_domain::accounts::Caller;
use agora_domain::limits::{Allowance, Counted};
use refusals::Refusal;
pub(crate) use refusals::Refusals;

use crate::core::{ApiError, Client, LIMIT, RateLimitClass, State, is_health_probe, shared, write_allowance};

/// Applies the rate limit of the client address to every request but health probes, and adds to the response what is left
/// of the limits that applied.
pub(crate) async fn limit(
    request: ServiceRequest,
    next: impl AsyncFnOnce(ServiceRequest) -> Result<ServiceResponse<BoxBody>, actix_web::Error>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let (state, limiter) = (shared::<State>(request.request())?, shared::<RateLimiter>(request.request())?);
    if let Err(error) = limiter.check_address(state, request.request()) {
        return Ok(request.into_response(error.error_response()));
    }
    let mut response = next(request).await?;
    let allowance = response.request().extensions().get::<Allowance>().copied();
    if let Some(allowance) = allowance.filter(|_| !response.headers().contains_key(LIMIT)) {
        write_allowance(response.headers_mut(), allowance);
    }
    Ok(response)
}

/// Keeps with a request what is left of the limits that applied to it: of the one with the least.
fn record(request: &HttpRequest, allowance: Option<Allowance>) {
    let Some(allowance) = allowance else { return };
    let mut extensions = request.extensions_mut();
    if extensions.get::<Allowance>().is_none_or(|other| allowance.remaining < other.remaining) {
        extensions.insert(allowance);
    }
}

/// How many requests a minute are served; without a number, as many as come.
#[derive(Debug, Clone, Copy, Default)]
pub struct Throttling {
    /// Those of one client address.
    pub per_address: Option<NonZeroU32>,
    /// Those of one account, wherever they come from.
    pub per_account: Option<NonZeroU32>,
}

/// The limits on how often clients may call, and how many requests were refused for them.
pub(crate) struct RateLimiter {
    throttling: Throttling,
    refusals: Arc<Refusals>,
}

impl RateLimiter {
    /// Creates the limits that the operator has set.
    pub(crate) fn new(throttling: Throttling) -> Self {
        Self { throttling, refusals: Arc::default() }
    }

    /// Returns the counters of refused requests.
    pub(crate) fn refusals(&self) -> Arc<Refusals> {
        Arc::clone(&self.refusals)
    }

    fn check_address(&self, state: &State, request: &HttpRequest) -> Result<(), ApiError> {
        let Some(most) = self.throttling.per_address.filter(|_| !is_health_probe(request.path())) else {
            return Ok(());
        };
        let Client(client) = Client::of(state, request);
        let admitted = state.services.limits.admit(&Counted::Requests(client, most));
        record(request, self.refusals.count(Refusal::Address, admitted)?);
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
        let (refusal, counted) = match class {
            RateLimitClass::Login => (Refusal::Login, Counted::Logins(client)),
            RateLimitClass::Registration => (Refusal::Registration, Counted::Registrations(client)),
            RateLimitClass::Recovery => (Refusal::Recovery, Counted::Recoveries(client)),
        };
        record(request, self.refusals.count(refusal, limits.admit(&counted))?);
        Ok(())
    }

    /// Counts an answer of a handler as a refusal by one of the limits that are met there: those of wrong passwords and of changes of one,
    /// and of what else an account may do only so often.
    pub(crate) fn count_in_handlers<B>(&self, answered: &Result<ServiceResponse<B>, actix_web::Error>) {
        if answered.as_ref().is_ok_and(|response| response.status() == StatusCode::TOO_MANY_REQUESTS) {
            self.refusals.add(Refusal::Password);
        }
    }

    /// Applies the rate limit of the account.
    pub(crate) fn check_account(&self, state: &State, caller: &Caller, request: &HttpRequest) -> Result<(), ApiError> {
        let Some(most) = self.throttling.per_account else { return Ok(()) };
        let admitted = state.services.limits.admit(&Counted::AccountRequests(caller.user, most));
        record(request, self.refusals.count(Refusal::Account, admitted)?);
        Ok(())
    }
}
