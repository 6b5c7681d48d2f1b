//! Reads request bodies, within their limits.
//!
//! Handlers read the body themselves, after the checks that the contract puts before it: whether the resource exists and
//! whether the caller may change it.

use std::future::{Ready, ready};
use std::rc::Rc;

use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use actix_web::http::header;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use garde::Validate;
use serde::de::DeserializeOwned;

use crate::core::{ApiError, Capacity, Client, DRAIN_LIMIT, JSON_LIMIT, State, shared};
use crate::request::{BodyDeadline, is_too_slow, violations};

/// The body of a request, not yet read.
pub(crate) struct Body {
    pub(crate) request: HttpRequest,
    pub(crate) payload: Payload,
    /// The deadline of the body; `None` if the request has no body.
    deadline: Option<Rc<BodyDeadline>>,
}

impl FromRequest for Body {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        ready(Ok(Self::new(request, payload.take())))
    }
}

/// The declared content type of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentType {
    /// No `Content-Type` header.
    None,
    /// `application/json`.
    Json,
    /// `multipart/form-data`.
    Form,
    /// Anything else.
    Other,
}

impl Body {
    /// Creates the body of a request from its payload.
    pub(crate) fn new(request: &HttpRequest, payload: Payload) -> Self {
        Self { request: request.clone(), payload, deadline: BodyDeadline::of(request) }
    }

    /// Waits until memory is reserved for this body, of which at most `most` bytes are kept, in this number of copies.
    pub(crate) async fn reserve_memory(&self, most: usize, copies: usize) -> Result<(), ApiError> {
        let Some(deadline) = &self.deadline else { return Ok(()) };
        let (state, capacity) = (shared::<State>(&self.request)?, shared::<Capacity>(&self.request)?);
        let Client(client) = Client::of(state, &self.request);
        deadline.reserve_memory(&capacity.uploads, client, most, copies).await
    }

    /// Returns how many bytes to expect, of which at most `most` are kept. A buffer of that capacity is never reallocated, and
    /// takes no physical memory before it is filled.
    pub(crate) fn expected(&self, most: usize) -> usize {
        self.deadline.as_ref().map_or(0, |deadline| deadline.expected(most))
    }

    pub(crate) fn content_type(&self) -> ContentType {
        if !self.request.headers().contains_key(header::CONTENT_TYPE) {
            return ContentType::None;
        }
        match self.request.content_type().to_ascii_lowercase().as_str() {
            "application/json" => ContentType::Json,
            "multipart/form-data" => ContentType::Form,
            _ => ContentType::Other,
        }
    }

    /// Reads the whole body, of at most `limit` bytes.
    pub(crate) async fn bytes(mut self, limit: usize) -> Result<Bytes, ApiError> {
        let mut body = BytesMut::with_capacity(self.expected(limit));
        let mut total = 0_usize;
        while let Some(chunk) = self.payload.next().await {
            let chunk = chunk.map_err(unreadable)?;
            total = total.saturating_add(chunk.len());
            if total <= limit {
                body.extend_from_slice(&chunk);
            } else if total > DRAIN_LIMIT {
                break;
            }
        }
        if total > limit {
            return Err(ApiError::TooLarge(format!("The body must be at most {} KiB", limit / 1024)));
        }
        Ok(body.freeze())
    }

    /// Reads the JSON object of the body.
    pub(crate) async fn json<T: DeserializeOwned>(self) -> Result<T, ApiError> {
        let content_type = self.content_type();
        let bytes = self.bytes(JSON_LIMIT).await?;
        if content_type != ContentType::Json {
            return Err(ApiError::UnsupportedMediaType("application/json"));
        }
        parse_object(&bytes)
    }

    /// Reads the JSON object of the body, and validates its fields.
    pub(crate) async fn valid_json<T: DeserializeOwned + Validate<Context = ()>>(self) -> Result<T, ApiError> {
        valid(self.json::<T>().await?)
    }

    /// Like [`valid_json`](Self::valid_json), for a body whose fields are all optional: an empty body counts as `{}`.
    pub(crate) async fn valid_json_or_empty<T: DeserializeOwned + Validate<Context = ()>>(self) -> Result<T, ApiError> {
        let content_type = self.content_type();
        let bytes = self.bytes(JSON_LIMIT).await?;
        match content_type {
            ContentType::None | ContentType::Json if bytes.is_empty() => valid(parse_object(b"{}")?),
            ContentType::Json => valid(parse_object(&bytes)?),
            _ => Err(ApiError::UnsupportedMediaType("application/json")),
        }
    }
}

fn valid<T: Validate<Context = ()>>(body: T) -> Result<T, ApiError> {
    violations(&body)?.into_result()?;
    Ok(body)
}

/// Parses a JSON object. Other JSON values are rejected.
pub(crate) fn parse_object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if first != Some(&b'{') {
        return Err(ApiError::Malformed("The body must be a JSON object".to_owned()));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| ApiError::Malformed("The body must be UTF-8 text".to_owned()))?;
    serde_json::from_str(text).map_err(|error| {
        ApiError::Malformed(format!("Malformed JSON at line {} column {}", error.line(), error.column()))
    })
}

/// Returns the error for a body that took too long, ended early or is encoded incorrectly.
pub(crate) fn unreadable(error: PayloadError) -> ApiError {
    if is_too_slow(&error) { ApiError::TooSlow } else { ApiError::Malformed("The body could not be read".to_owned()) }
}
