//! What every response carries, what the log says of it, and what is measured of it.

use std::time::{Duration, Instant};

use actix_web::{
    HttpMessage, HttpRequest,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{
        StatusCode,
        header::{HeaderName, HeaderValue},
    },
    middleware::Next,
    web,
};
use agora_domain::accounts::Caller;
use tracing::{Instrument, Level};

use crate::{error::Causes, health, limits::Client, state::State};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The target of a line for each request: at `debug`, and at `trace` for what asks how the service is. So it can be
/// asked for alone, and is not with what is logged by default.
const ACCESS: &str = "agora_http::access";

/// Gives the response an id, under which the log names the causes of a failure. Counts it, and logs it if that is asked
/// for.
pub(crate) async fn observe(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let begun = Instant::now();
    let state = request.app_data::<web::Data<State>>().cloned();
    let id = state.as_ref().map(|state| state.services.ids.generate().simple().to_string()).unwrap_or_default();
    // For whatever else is logged on the way; where nobody asks for `debug`, there is none.
    let span = tracing::debug_span!("request", id);
    let mut response = next.call(request).instrument(span).await?;
    let status = response.status();
    let causes = response.response_mut().extensions_mut().remove::<Causes>();
    let http = response.request();
    if let Some(Causes(causes)) = causes {
        let (method, route) = (http.method(), http.match_name().unwrap_or("-"));
        tracing::error!(request_id = id, %method, route, status = status.as_u16(), causes);
    }
    if let Some(state) = &state {
        let time = begun.elapsed();
        if let Some(metrics) = &state.settings.metrics {
            metrics.requests.count(http.match_name(), http.method(), status, time);
        }
        if tracing::enabled!(target: ACCESS, Level::DEBUG) {
            log(state, http, &id, status, time);
        }
    }
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    Ok(response)
}

/// Says who asked for what and how it was answered. Of the address, only which endpoint it is: what is in it may be for
/// nobody else.
fn log(state: &State, request: &HttpRequest, id: &str, status: StatusCode, time: Duration) {
    let (method, route, status) = (request.method(), request.match_name().unwrap_or("-"), status.as_u16());
    let milliseconds = (time.as_secs_f64() * 1000.0 * 1000.0).round() / 1000.0;
    let user = request.extensions().get::<Caller>().map(|caller| tracing::field::display(caller.user.uuid()));
    let client = Client::address(state, request);
    if health::is_asked_for(request.path()) {
        tracing::trace!(target: ACCESS, request_id = id, %method, route, status, milliseconds, user, %client);
    } else {
        tracing::debug!(target: ACCESS, request_id = id, %method, route, status, milliseconds, user, %client);
    }
}
