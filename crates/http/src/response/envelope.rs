//! The success envelopes.

use actix_web::HttpResponse;
use actix_web::http::{StatusCode, header};
use agora_domain::clock::Timestamp;
use bytes::Bytes;
use serde::Serialize;

use crate::core::ApiError;
use crate::response::version_tag;

/// The message of most operations.
pub(crate) const SUCCESS: &str = "success";

/// What a handler returns.
pub(crate) type HandlerResult = Result<HttpResponse, ApiError>;

#[derive(Serialize)]
struct Envelope<T> {
    /// The follow endpoints alone say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    success: Option<bool>,
    message: &'static str,
    data: T,
}

/// The bytes that a body is given at first: most answers with one thing need no more, and from a kibibyte on allocations
/// take longer.
const BODY: usize = 960;

/// An answer before it is a response.
pub(crate) struct Rendered {
    status: StatusCode,
    /// The version of the thing that was written.
    version: Option<Timestamp>,
    body: Bytes,
}

impl Rendered {
    /// Renders a body of any shape.
    pub(crate) fn new<T: Serialize>(status: StatusCode, body: &T) -> agora_domain::Result<Self> {
        let mut json = Vec::with_capacity(BODY);
        // The types of this crate serialize without fail; if one did not, that would be a defect.
        serde_json::to_writer(&mut json, body).map_err(agora_domain::Error::internal)?;
        Ok(Self { status, version: None, body: json.into() })
    }

    /// Renders 200 `{message, data}`.
    pub(crate) fn ok<T: Serialize>(message: &'static str, data: T) -> agora_domain::Result<Self> {
        Self::new(StatusCode::OK, &Envelope { success: None, message, data })
    }

    /// Renders 201 `{message, data}`.
    pub(crate) fn created<T: Serialize>(message: &'static str, data: T) -> agora_domain::Result<Self> {
        Self::new(StatusCode::CREATED, &Envelope { success: None, message, data })
    }

    /// Renders 200 `{message, data: null}`.
    pub(crate) fn done(message: &'static str) -> agora_domain::Result<Self> {
        Self::new(StatusCode::OK, &Envelope { success: None, message, data: () })
    }

    /// Renders 202 `{message, data: null}`.
    pub(crate) fn accepted(message: &'static str) -> agora_domain::Result<Self> {
        Self::new(StatusCode::ACCEPTED, &Envelope { success: None, message, data: () })
    }

    /// Renders 200 `{success: true, message, data: null}`.
    pub(crate) fn follow_done(message: &'static str) -> agora_domain::Result<Self> {
        Self::new(StatusCode::OK, &Envelope { success: Some(true), message, data: () })
    }

    /// Adds the tag of this version, for the next edit.
    pub(crate) fn of_version(self, version: Timestamp) -> Self {
        Self { version: Some(version), ..self }
    }

    /// Returns the body.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Turns it into a response.
    pub(crate) fn into_response(self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        if let Some(version) = self.version {
            response.insert_header((header::ETAG, version_tag(version)));
        }
        response.insert_header((header::CONTENT_TYPE, "application/json")).body(self.body)
    }
}

/// Turns a rendered answer into what a handler returns.
pub(crate) fn respond(rendered: agora_domain::Result<Rendered>) -> HandlerResult {
    Ok(rendered?.into_response())
}

/// Renders 200 `{message, data}`.
pub(crate) fn ok<T: Serialize>(message: &'static str, data: T) -> HandlerResult {
    respond(Rendered::ok(message, data))
}

/// Renders 200 `{message, data: null}`.
pub(crate) fn done(message: &'static str) -> HandlerResult {
    respond(Rendered::done(message))
}

/// Returns `{message, data: []}`.
pub(crate) fn empty_list(message: &'static str) -> impl Serialize {
    Envelope { success: None, message, data: [(); 0] }
}

/// Returns `{success: true, message, data: []}`.
pub(crate) fn empty_follow_list(message: &'static str) -> impl Serialize {
    Envelope { success: Some(true), message, data: [(); 0] }
}

/// Renders a body of any shape.
pub(crate) fn json<T: Serialize>(status: StatusCode, body: &T) -> HandlerResult {
    respond(Rendered::new(status, body))
}
