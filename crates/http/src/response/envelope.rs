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
    /// Only present in responses of the follow endpoints.
    #[serde(skip_serializing_if = "Option::is_none")]
    success: Option<bool>,
    message: &'static str,
    data: T,
}

/// The initial capacity of a body in bytes. Most responses with a single item need no more, and allocations of a kibibyte or more
/// take longer.
const INITIAL_CAPACITY: usize = 960;

/// A rendered body with its status and version, not yet a response.
pub(crate) struct Rendered {
    status: StatusCode,
    /// The version of the item that was created or edited, sent as `ETag`.
    version: Option<Timestamp>,
    body: Bytes,
}

impl Rendered {
    /// Renders a body of any shape.
    pub(crate) fn new<T: Serialize>(status: StatusCode, body: &T) -> agora_domain::Result<Self> {
        let mut json = Vec::with_capacity(INITIAL_CAPACITY);
        // Serializing the types of this crate never fails; if it did, that would be a defect.
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

    /// Adds the tag of this version, for the `If-Match` of the next edit.
    pub(crate) fn with_version(self, version: Timestamp) -> Self {
        Self { version: Some(version), ..self }
    }

    /// Returns the body.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Converts it into a response.
    pub(crate) fn into_response(self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        if let Some(version) = self.version {
            response.insert_header((header::ETAG, version_tag(version)));
        }
        response.insert_header((header::CONTENT_TYPE, "application/json")).body(self.body)
    }
}

/// Converts a rendered body into the result of a handler.
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
