//! The success envelopes.

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
};
use agora_domain::page::Page;
use serde::Serialize;

use crate::{cursor::List, error::ApiError, paging::Query, state::Settings};

/// The message of most operations.
pub(crate) const SUCCESS: &str = "success";

/// What a handler returns.
pub(crate) type Answer = Result<HttpResponse, ApiError>;

#[derive(Serialize)]
struct Envelope<T> {
    message: &'static str,
    data: T,
}

/// The envelope of the follow endpoints.
#[derive(Serialize)]
struct FollowEnvelope<T> {
    success: bool,
    message: &'static str,
    data: T,
}

/// 200 `{message, data}`.
pub(crate) fn ok<T: Serialize>(message: &'static str, data: T) -> Answer {
    json(StatusCode::OK, &Envelope { message, data })
}

/// 200 `{message, data: null}`.
pub(crate) fn done(message: &'static str) -> Answer {
    ok(message, ())
}

/// 201 `{message, data}`.
pub(crate) fn created<T: Serialize>(message: &'static str, data: T) -> Answer {
    json(StatusCode::CREATED, &Envelope { message, data })
}

/// 200 `{success: true, message, data}`.
pub(crate) fn follow_ok<T: Serialize>(message: &'static str, data: T) -> Answer {
    json(StatusCode::OK, &FollowEnvelope { success: true, message, data })
}

/// A body of any shape.
pub(crate) fn json<T: Serialize>(status: StatusCode, body: &T) -> Answer {
    // The types of this crate serialize without fail; if one did not, that would be a defect.
    let bytes = serde_json::to_vec(body).map_err(agora_domain::Error::internal)?;
    Ok(HttpResponse::build(status).insert_header((header::CONTENT_TYPE, "application/json")).body(bytes))
}

/// Adds the links to the pages before and after `page`, if there are any.
pub(crate) fn linked<T>(answer: Answer, query: &Query, settings: &Settings, list: List, page: &Page<T>) -> Answer {
    let mut response = answer?;
    if let Some(link) = query.links(settings, list, page)
        && let Ok(value) = header::HeaderValue::from_str(&link)
    {
        response.headers_mut().insert(header::LINK, value);
    }
    Ok(response)
}
