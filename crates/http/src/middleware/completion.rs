//! Work that runs to completion even if the client disconnects.

use actix_web::body::BoxBody;
use actix_web::dev::ServiceResponse;
use actix_web::{rt, web};
use agora_domain::id::UserId;
use tokio::sync::oneshot;
use tracing::Instrument;

use crate::core::{ApiError, Causes, EndpointPolicy, RequestContext, State};
use crate::middleware::RequestLog;

/// The result of calling a handler's service.
pub(crate) type Response = Result<ServiceResponse<BoxBody>, actix_web::Error>;

/// Runs the work on a request in a task of its own, to completion even if the client disconnects or the request times out, and
/// records afterwards that the caller may have written. A failure that can no longer be sent to the client is logged.
pub(crate) async fn run_to_completion(
    state: web::Data<State>,
    request_log: web::Data<RequestLog>,
    (policy, context): (EndpointPolicy, RequestContext),
    caller: Option<UserId>,
    work: impl Future<Output = Result<Response, ApiError>> + 'static,
) -> Result<Response, ApiError> {
    let (reply, answer) = oneshot::channel();
    // As part of the same trace.
    let work = work.in_current_span();
    rt::spawn(async move {
        let outcome = context.instrument(policy.path, work).await;
        if let Some(caller) = caller {
            state.record_write(caller).await;
        }
        if let Err(outcome) = reply.send(outcome) {
            log_undelivered_failure(&request_log, policy, context, outcome);
        }
    });
    answer.await.unwrap_or(Err(ApiError::Panicked))
}

fn log_undelivered_failure(
    request_log: &RequestLog,
    policy: EndpointPolicy,
    context: RequestContext,
    outcome: Result<Response, ApiError>,
) {
    let (status, causes) = match outcome {
        Ok(Ok(mut response)) => (response.status(), response.response_mut().extensions_mut().remove::<Causes>()),
        Ok(Err(_)) => return,
        Err(error) => (error.status(), error.causes()),
    };
    let Some(Causes(causes)) = causes else { return };
    if request_log.should_log(status, &causes) {
        let (id, route, status) = (context.id(), policy.path, status.as_u16());
        tracing::error!(request_id = %id, route, status, causes, "a request failed after its client had disconnected");
    }
}
