//! What every response carries, what the log says of it, and what is measured of it.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use actix_web::{
    HttpMessage, HttpRequest,
    body::{BodySize, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{
        StatusCode,
        header::{HeaderName, HeaderValue},
    },
    middleware::Next,
    rt, web,
};
use agora_domain::accounts::Caller;
use bytes::Bytes;
use tracing::{Instrument, Level};

use crate::{
    error::Causes,
    health,
    limits::Client,
    overload::{close_if_over, connection::Answering},
    state::State,
};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The target of a line for each request: at `debug`, and at `trace` for what asks how the service is. So it can be
/// asked for alone, and is not with what is logged by default.
const ACCESS: &str = "agora_http::access";

/// Gives the response an id, under which the log names the causes of a failure. Counts it, and logs it if that is asked
/// for.
pub(crate) async fn observe(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + Unpin>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let answering = Answering::begin(&mut request);
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
        if state.as_ref().is_none_or(|state| is_told_by_itself(state, status, &causes)) {
            tracing::error!(request_id = id, %method, route, status = status.as_u16(), causes);
        } else {
            tracing::debug!(request_id = id, %method, route, status = status.as_u16(), causes);
        }
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
    close_if_over(&mut response);
    Ok(response.map_body(|_, body| Answer { body, _answering: answering }))
}

/// The body of an answer. While it is sent, the next head is not waited for.
struct Answer<B> {
    body: B,
    _answering: Option<Answering>,
}

impl<B: MessageBody + Unpin> MessageBody for Answer<B> {
    type Error = B::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(cx)
    }
}

/// Whether the log is to be told of a failure by itself. Of those that end with 503, an attack or a dependency that is
/// away makes thousands a second: of each cause the first is, then how many more there were, every ten seconds.
pub(crate) fn is_told_by_itself(state: &State, status: StatusCode, causes: &str) -> bool {
    if status != StatusCode::SERVICE_UNAVAILABLE {
        return true;
    }
    let Some(watch) = state.failures.count(causes) else { return false };
    rt::spawn(watch.run());
    true
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
