//! The success envelopes.

use actix_web::HttpResponse;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::ServiceResponse;
use actix_web::http::{StatusCode, header};
use agora_domain::clock::Timestamp;
use agora_domain::idempotency::Answer as Stored;
use bytes::{Buf, BufMut, Bytes, BytesMut};
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

/// The bytes of what is stored of an answer besides its body.
const HEAD: usize = 2 + 8;

/// The bytes that a body is given at first: most answers with one thing need no more, and from a kibibyte on allocations
/// take longer.
const BODY: usize = 960;

/// An answer before it is a response: what a retry of the request is answered as well.
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

    /// Returns what a response holds, and the response again.
    pub(crate) fn read(response: ServiceResponse<BoxBody>) -> Result<(Self, ServiceResponse<BoxBody>), ApiError> {
        let (request, response) = response.into_parts();
        let (response, body) = response.into_parts();
        let streamed = |_| agora_domain::Error::internal("an answer of this interface is not whole");
        let body = body.try_into_bytes().map_err(streamed)?;
        let rendered = Self { status: response.status(), version: None, body: body.clone() };
        Ok((rendered, ServiceResponse::new(request, response.set_body(BoxBody::new(body)))))
    }

    /// Encodes it for the record: the status, the version or the least number there is, then the body.
    pub(crate) fn store(self) -> Stored {
        let mut bytes = BytesMut::with_capacity(HEAD + self.body.len());
        bytes.put_u16(self.status.as_u16());
        bytes.put_i64(self.version.map_or(i64::MIN, Timestamp::unix_millis));
        bytes.put(self.body);
        Stored(bytes.freeze())
    }

    /// Decodes it from the record.
    pub(crate) fn restore(Stored(bytes): &Stored) -> Result<Self, ApiError> {
        let invalid = || agora_domain::Error::internal("the record of an answer is invalid");
        let mut body = bytes.clone();
        let (status, version) = (body.try_get_u16().ok(), body.try_get_i64().ok());
        let status = status.and_then(|status| StatusCode::from_u16(status).ok()).ok_or_else(invalid)?;
        let version = Some(version.ok_or_else(invalid)?).filter(|millis| *millis != i64::MIN);
        Ok(Self { status, version: version.map(Timestamp::from_unix_millis), body })
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
