//! What every response carries and the log says of it.

use actix_web::{
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::header::{HeaderName, HeaderValue},
    middleware::Next,
    web,
};

use crate::{error::Causes, state::State};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives the response an id, under which the log names the causes of a failure.
pub(crate) async fn observe(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let state = request.app_data::<web::Data<State>>().cloned();
    let id = state.map(|state| state.services.ids.generate().simple().to_string()).unwrap_or_default();
    let mut response = next.call(request).await?;
    let status = response.status();
    let causes = response.response_mut().extensions_mut().remove::<Causes>();
    let (method, route) = (response.request().method(), response.request().match_pattern());
    let route = route.as_deref().unwrap_or("-");
    match causes {
        Some(Causes(causes)) => tracing::error!(request_id = id, %method, route, status = status.as_u16(), causes),
        None => tracing::debug!(request_id = id, %method, route, status = status.as_u16()),
    }
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    Ok(response)
}
