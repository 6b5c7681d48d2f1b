//! What every response carries and the log says of it.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use actix_web::{
    body::{BodySize, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{
        StatusCode,
        header::{HeaderName, HeaderValue},
    },
    middleware::Next,
    rt, web,
};

use bytes::Bytes;

use crate::{
    error::Causes,
    overload::{close_if_over, connection::Answering},
    state::State,
};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives the response an id, under which the log names the causes of a failure.
pub(crate) async fn observe(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + Unpin>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let answering = Answering::begin(&mut request);
    let state = request.app_data::<web::Data<State>>().cloned();
    let id = state.as_ref().map(|state| state.services.ids.generate().simple().to_string()).unwrap_or_default();
    let mut response = next.call(request).await?;
    let status = response.status();
    let causes = response.response_mut().extensions_mut().remove::<Causes>();
    let (method, route) = (response.request().method(), response.request().match_pattern());
    let route = route.as_deref().unwrap_or("-");
    match causes {
        Some(Causes(causes)) if state.is_none_or(|state| is_told_by_itself(&state, status, &causes)) => {
            tracing::error!(request_id = id, %method, route, status = status.as_u16(), causes);
        }
        Some(Causes(causes)) => tracing::debug!(request_id = id, %method, route, status = status.as_u16(), causes),
        None => tracing::debug!(request_id = id, %method, route, status = status.as_u16()),
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
