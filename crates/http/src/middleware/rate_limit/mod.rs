//! Rate limits of client addresses and accounts, and the headers that report them.
//!
//! The rules are the domain's; they are applied here because they come before everything else. A general limit on requests
//! is up to the operator: there is none unless it is configured.

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

/// Applies the rate limit of the client address to every request except health probes, and adds the `RateLimit` headers of the
/// limit with the least remaining to the response.
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

/// Stores the allowance of a limit in the request's extensions, unless one with less remaining is there already.
fn keep_strictest(request: &HttpRequest, allowance: Option<Allowance>) {
    let Some(allowance) = allowance else { return };
    let mut extensions = request.extensions_mut();
    if extensions.get::<Allowance>().is_none_or(|other| allowance.remaining < other.remaining) {
        extensions.insert(allowance);
    }
}

/// The general limits on requests per minute; `None` for no limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Throttling {
    /// The requests of one client address.
    pub per_address: Option<NonZeroU32>,
    /// The requests of one account, from any address.
    pub per_account: Option<NonZeroU32>,
}

/// Applies the rate limits, and counts the requests that they refuse.
pub(crate) struct RateLimiter {
    throttling: Throttling,
    refusals: Arc<Refusals>,
}

impl RateLimiter {
    /// Creates a limiter with the operator's general limits.
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
        keep_strictest(request, self.refusals.count_if_limited(Refusal::Address, admitted)?);
        Ok(())
    }

    /// Applies the endpoint's own rate limit to the client address.
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
        keep_strictest(request, self.refusals.count_if_limited(refusal, limits.admit(&counted))?);
        Ok(())
    }

    /// Counts the response of a handler as a refusal if its status is 429. Handlers apply the limits on wrong passwords, on
    /// changes of passwords, and on other actions of an account.
    pub(crate) fn count_handler_refusal<B>(&self, answered: &Result<ServiceResponse<B>, actix_web::Error>) {
        if answered.as_ref().is_ok_and(|response| response.status() == StatusCode::TOO_MANY_REQUESTS) {
            self.refusals.add(Refusal::Password);
        }
    }

    /// Applies the rate limit of the account.
    pub(crate) fn check_account(&self, state: &State, caller: &Caller, request: &HttpRequest) -> Result<(), ApiError> {
        let Some(most) = self.throttling.per_account else { return Ok(()) };
        let admitted = state.services.limits.admit(&Counted::AccountRequests(caller.user, most));
        keep_strictest(request, self.refusals.count_if_limited(Refusal::Account, admitted)?);
        Ok(())
    }
}
