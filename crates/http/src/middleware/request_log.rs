//! The outermost middleware: request ids, security headers, the log of failures, the access log, metrics and traces.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::time::Duration;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{HttpMessage, HttpRequest};
use agora_domain::accounts::Caller;
use tracing::field::Empty;
use tracing::{Instrument, Level, Span};

use crate::core::{
    Causes, Client, LogSampler, MatchedRoute, Paths, RequestContext, RequestId, State, is_health_probe,
    security_headers, shared,
};
use crate::middleware::load_shedding::{ResponseBody, close_if_unusable};
use crate::middleware::{HttpMetrics, Traffic};
use crate::transport::ResponseGuard;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The target of the access log, which has a line for each request: at level `debug`, and at `trace` for health probes. So it
/// can be enabled separately, and is off by default.
const ACCESS: &str = "agora_http::access";

/// Gives the response its request id, under which the log has the causes of a failure, and the security headers. Counts it, and
/// logs it if the access log is enabled. Its body keeps the permits of the request until it was sent.
pub(crate) async fn observe(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + Unpin>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let guard = ResponseGuard::begin(&mut request);
    let http = request.request();
    let (state, request_log) = (shared::<State>(http)?.clone(), shared::<RequestLog>(http)?.clone());
    let given = request.headers().get(REQUEST_ID).filter(|_| state.trusted_proxies.is_forwarded(request.request()));
    let context = RequestContext::begin(given.and_then(RequestId::parse), state.services.ids.as_ref());
    request.extensions_mut().insert(context);
    let route = shared::<Paths>(request.request())?.find(request.request()).map(|route| route.path);
    let span = request_log.span(request.request(), route, context);
    let mut response = next.call(request).instrument(span.clone()).await?;
    let (status, id) = (response.status(), context.id());
    span.record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
    let causes = response.response_mut().extensions_mut().remove::<Causes>();
    let http = response.request();
    if let Some(Causes(causes)) = causes {
        let (method, route) = (http.method(), route.unwrap_or("-"));
        if request_log.should_log(status, &causes) {
            tracing::error!(request_id = %id, %method, route, status = status.as_u16(), causes);
        } else {
            tracing::debug!(request_id = %id, %method, route, status = status.as_u16(), causes);
        }
    }
    let time = context.elapsed();
    request_log.traffic.count(status);
    if let Some(metrics) = &request_log.metrics {
        metrics.requests.count(route, http.method(), status, time);
    }
    if tracing::enabled!(target: ACCESS, Level::DEBUG) {
        log_access(&state, http, id, Some(status), time);
    }
    if let Ok(id) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    security_headers::protect(response.headers_mut());
    close_if_unusable(&mut response);
    Ok(ResponseBody::of(response, guard))
}

/// A function that makes the span of a request part of the trace that its headers name.
pub type RemoteParent = fn(&Span, &HeaderMap);

/// The counters and the log samplers of requests.
pub(crate) struct RequestLog {
    metrics: Option<Arc<HttpMetrics>>,
    traffic: Arc<Traffic>,
    remote_parent: Option<RemoteParent>,
    failures: Arc<LogSampler>,
}

impl RequestLog {
    /// Creates a log that counts requests in the given metrics, and continues traces by `remote_parent`, if there is one.
    pub(crate) fn new(
        metrics: Option<Arc<HttpMetrics>>,
        traffic: Arc<Traffic>,
        remote_parent: Option<RemoteParent>,
    ) -> Self {
        let log = |causes: &str, suppressed| {
            tracing::error!(status = 503, causes, "suppressed {suppressed} identical failures");
        };
        Self { metrics, traffic, remote_parent, failures: LogSampler::new(log) }
    }

    /// Returns the span of a request, for traces. Health probes have none.
    fn span(&self, request: &HttpRequest, route: Option<&'static str>, context: RequestContext) -> Span {
        let method = METHODS.into_iter().find(|known| *known == request.method().as_str());
        let Some(remote_parent) = self.remote_parent.filter(|_| !is_health_probe(request.path())) else {
            return Span::none();
        };
        let span = tracing::info_span!(
            "request",
            otel.name = %SpanName(method, route),
            otel.kind = "server",
            otel.status_code = Empty,
            http.request.method = method.unwrap_or("_OTHER"),
            http.route = route,
            http.response.status_code = Empty,
            request.id = %context.id(),
        );
        if !span.is_disabled() {
            remote_parent(&span, request.headers());
        }
        span
    }

    /// Returns whether a failure should get a log line of its own. An attack or an unavailable dependency can cause thousands of
    /// 503 responses a second, so of those only the first of each cause does; then the number of further ones is logged every ten
    /// seconds.
    pub(crate) fn should_log(&self, status: StatusCode, causes: &str) -> bool {
        status != StatusCode::SERVICE_UNAVAILABLE || self.failures.is_first(causes)
    }
}

/// The methods of HTTP (RFC 9110, RFC 5789). Others are not recorded by name, since clients can invent any number of them.
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// The name of the span of a request by the conventions of OpenTelemetry: the method, if it is one of [`METHODS`], and the
/// route, if there is one.
struct SpanName(Option<&'static str>, Option<&'static str>);

impl Display for SpanName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.unwrap_or("HTTP"))?;
        self.1.map_or(Ok(()), |route| write!(f, " {route}"))
    }
}

/// A guard that counts and logs a request whose future is dropped before it was answered: the client disconnected.
pub(crate) struct CancelledRequestGuard<'a> {
    state: &'a State,
    request_log: &'a RequestLog,
    request: &'a HttpRequest,
    context: RequestContext,
    is_answered: bool,
}

impl<'a> CancelledRequestGuard<'a> {
    /// Creates a guard for a request that is not answered yet.
    pub(crate) fn new(
        state: &'a State,
        request_log: &'a RequestLog,
        request: &'a HttpRequest,
        context: RequestContext,
    ) -> Self {
        Self { state, request_log, request, context, is_answered: false }
    }

    /// Drops the guard without effect, since the request was answered.
    pub(crate) fn disarm(mut self) {
        self.is_answered = true;
    }
}

impl Drop for CancelledRequestGuard<'_> {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        if let Some(metrics) = &self.request_log.metrics {
            metrics.requests.count_abandoned();
        }
        if tracing::enabled!(target: ACCESS, Level::DEBUG) {
            log_access(self.state, self.request, self.context.id(), None, self.context.elapsed());
        }
    }
}

/// Writes a line of the access log: the caller, the endpoint and the status, or that the client disconnected. It has the route
/// instead of the URI, which may contain confidential data.
fn log_access(state: &State, request: &HttpRequest, id: RequestId, status: Option<StatusCode>, time: Duration) {
    let (method, route) = (request.method(), MatchedRoute::of(request).map_or("-", |route| route.path));
    let (status, abandoned) = (status.map(|status| status.as_u16()), status.is_none().then_some(true));
    let milliseconds = (time.as_secs_f64() * 1000.0 * 1000.0).round() / 1000.0;
    let user = request.extensions().get::<Caller>().map(|caller| tracing::field::display(caller.user.uuid()));
    let client = Client::address(state, request);
    if is_health_probe(request.path()) {
        tracing::trace!(target: ACCESS, request_id = %id, %method, route, status, abandoned, milliseconds, user, %client);
    } else {
        tracing::debug!(target: ACCESS, request_id = %id, %method, route, status, abandoned, milliseconds, user, %client);
    }
}
