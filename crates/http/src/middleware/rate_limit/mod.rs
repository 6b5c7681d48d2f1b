//! Limits on how often a client may call: who it is, what it may, and what it is told of that.
//!
//! The rules of logins and registrations are the domain's; they are applied here because they come before everything
//! else. A general limit on requests is the operator's choice: none unless configured.

mod refusals;
mod throttle;

use std::{
    future::{Ready, ready},
    net::{IpAddr, Ipv4Addr},
};

use actix_web::{
    FromRequest, HttpMessage, HttpRequest, ResponseError,
    body::BoxBody,
    dev::{Payload, ServiceRequest, ServiceResponse},
    http::{
        StatusCode,
        header::{HeaderMap, HeaderName, HeaderValue},
    },
    web,
};
use agora_domain::{
    accounts::Caller,
    limits::{Allowance, ClientAddress},
};
pub(crate) use refusals::{Refusal, Refusals};
pub(crate) use throttle::Throttles;
pub use throttle::Throttling;

use crate::{
    core::{error::ApiError, state::State},
    endpoints::health,
    routes::Limited,
};

const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// Where the request comes from.
pub(crate) struct Client(pub(crate) ClientAddress);

impl Client {
    /// The address that the request comes from.
    pub(crate) fn address(state: &State, request: &HttpRequest) -> IpAddr {
        // A connection without an address is one of this machine.
        let peer = request.peer_addr().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.ip());
        state.settings.trusted_proxies.client(peer, request.headers())
    }

    /// What limits count the request as.
    pub(crate) fn of(state: &State, request: &HttpRequest) -> Self {
        Self(ClientAddress::of(Self::address(state, request)))
    }
}

impl FromRequest for Client {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(request.app_data::<web::Data<State>>().map(|state| Self::of(state, request)).ok_or(ApiError::Panicked))
    }
}

/// Holds every request, but for those that ask how the service is, to the limit of its address, and tells in the
/// response what is left of the limits it met.
pub(crate) async fn limit(
    request: ServiceRequest,
    next: impl AsyncFnOnce(ServiceRequest) -> Result<ServiceResponse<BoxBody>, actix_web::Error>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let admitted = match request.app_data::<web::Data<State>>() {
        Some(state) => admit_address(state, request.request()),
        None => Err(ApiError::Panicked),
    };
    if let Err(error) = admitted {
        let response = error.error_response();
        return Ok(request.into_response(response));
    }
    let mut response = next(request).await?;
    let told = response.request().extensions().get::<Told>().map(|told| told.0);
    if let Some(allowance) = told.filter(|_| !response.headers().contains_key(LIMIT)) {
        tell(response.headers_mut(), allowance);
    }
    Ok(response)
}

/// Of the limits that a request met, the one of which the least is left.
struct Told(Allowance);

fn note(request: &HttpRequest, allowance: Option<Allowance>) {
    let Some(allowance) = allowance else { return };
    let mut extensions = request.extensions_mut();
    if extensions.get::<Told>().is_none_or(|told| allowance.remaining < told.0.remaining) {
        extensions.insert(Told(allowance));
    }
}

fn admit_address(state: &State, request: &HttpRequest) -> Result<(), ApiError> {
    let Some(throttle) = &state.throttles.per_address else { return Ok(()) };
    if health::is_asked_for(request.path()) {
        return Ok(());
    }
    let Client(client) = Client::of(state, request);
    if !client.is_loopback() {
        note(request, Some(state.refusals.count(Refusal::Address, throttle.admit(client))?));
    }
    Ok(())
}

/// Holds a request to the limit that its endpoint has for addresses.
pub(crate) fn admit_to(limited: Option<Limited>, state: &State, request: &HttpRequest) -> Result<(), ApiError> {
    let Some(limited) = limited else { return Ok(()) };
    let (limits, Client(client)) = (&state.services.limits, Client::of(state, request));
    note(
        request,
        match limited {
            Limited::Login => state.refusals.count(Refusal::Login, limits.admit_login(client))?,
            Limited::Registration => state.refusals.count(Refusal::Registration, limits.admit_registration(client))?,
        },
    );
    Ok(())
}

/// Counts an answer of a handler as a refusal of one who has guessed or changed passwords too often: the limits that are
/// met there.
pub(crate) fn note_guesses<B>(state: &State, answered: &Result<ServiceResponse<B>, actix_web::Error>) {
    if answered.as_ref().is_ok_and(|response| response.status() == StatusCode::TOO_MANY_REQUESTS) {
        state.refusals.add(Refusal::Password);
    }
}

/// Holds a request to the limit of its account.
pub(crate) fn admit_caller(caller: &Caller, state: &State, request: &HttpRequest) -> Result<(), ApiError> {
    if let Some(throttle) = &state.throttles.per_account {
        note(request, Some(state.refusals.count(Refusal::Account, throttle.admit(caller.user))?));
    }
    Ok(())
}

/// Tells what is left of a limit.
pub(crate) fn tell(headers: &mut HeaderMap, Allowance { limit, remaining, reset_seconds }: Allowance) {
    for (name, value) in [(LIMIT, limit.most), (REMAINING, remaining), (RESET, reset_seconds)] {
        headers.insert(name, HeaderValue::from(value));
    }
}
