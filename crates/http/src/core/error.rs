//! The errors of the interface, and how each becomes a response. The status follows from the error code.

use std::collections::BTreeMap;
use std::fmt;

use actix_web::body::BoxBody;
use actix_web::http::header::HeaderName;
use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, ResponseError};
use agora_domain::Error;
use agora_domain::error::{Conflict, Violation};
use serde::Serialize;
use utoipa::ToSchema;

use crate::core::{ErrorCode, HEAD_LIMIT, field_code, schema, spelling, write_allowance};

/// The `Retry-After` of temporary failures, in seconds.
pub(crate) const RETRY_AFTER: &str = "1";

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum ApiError {
    /// A use case returned an error.
    Domain(Error),
    /// No endpoint has this path.
    UnknownRoute,
    /// No endpoint of this path has this method. The `Allow` header lists those that there are.
    MethodNotAllowed(String),
    /// A protected endpoint was called without a token.
    NoToken,
    /// The request cannot be parsed.
    Malformed(String),
    /// The body exceeds a limit of `request::body` or `request::multipart`. An image whose content turns out to be too large
    /// is [`Error::TooLarge`].
    TooLarge(String),
    /// The content type is not one that the endpoint accepts, which are these.
    UnsupportedMediaType(&'static str),
    /// The range lies outside the image, which has this many bytes.
    RangeNotSatisfiable(u64),
    /// The head of the request exceeds its limit.
    HeadTooLarge,
    /// The client took too long to send the request.
    TooSlow,
    /// The service took too long to handle the request.
    TimedOut,
    /// A limit on concurrency or memory is reached.
    Busy,
    /// A handler panicked.
    Panicked,
}

impl<E: Into<Error>> From<E> for ApiError {
    fn from(error: E) -> Self {
        Self::Domain(error.into())
    }
}

/// The causes of a failure, for the log. The response carries it as an extension, never in its body.
pub(crate) struct Causes(pub(crate) String);

/// A failure.
#[derive(Serialize, ToSchema)]
#[schema(as = Failure)]
pub(crate) struct FailureBody {
    #[schema(schema_with = schema::failed)]
    success: bool,
    #[schema(schema_with = schema::error_status)]
    status: u16,
    code: ErrorCode,
    /// A message for people that says what failed.
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = schema::field_errors)]
    data: Option<BTreeMap<&'static str, Vec<String>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = schema::field_codes)]
    codes: Option<BTreeMap<&'static str, Vec<&'static str>>>,
}

impl ApiError {
    /// Returns the status of the response.
    pub(crate) fn status(&self) -> StatusCode {
        self.code().status()
    }

    fn code(&self) -> ErrorCode {
        match self {
            Self::Domain(error) => error.into(),
            Self::UnknownRoute => ErrorCode::RouteNotFound,
            Self::MethodNotAllowed(_) => ErrorCode::MethodNotAllowed,
            Self::NoToken => ErrorCode::Unauthenticated,
            Self::Malformed(_) => ErrorCode::MalformedRequest,
            Self::TooLarge(_) => ErrorCode::PayloadTooLarge,
            Self::UnsupportedMediaType(_) => ErrorCode::UnsupportedMediaType,
            Self::RangeNotSatisfiable(_) => ErrorCode::RangeNotSatisfiable,
            Self::HeadTooLarge => ErrorCode::HeadersTooLarge,
            Self::TooSlow => ErrorCode::RequestTimeout,
            Self::TimedOut => ErrorCode::Unavailable,
            Self::Busy => ErrorCode::Overloaded,
            Self::Panicked => ErrorCode::Internal,
        }
    }

    /// Returns the header that a failure of this kind carries besides those of every response.
    pub(crate) fn header(&self) -> Option<(HeaderName, String)> {
        let (name, value) = match self {
            Self::MethodNotAllowed(allowed) => (header::ALLOW, allowed.clone()),
            Self::NoToken | Self::Domain(Error::InvalidCredentials) => (header::WWW_AUTHENTICATE, "Bearer".to_owned()),
            Self::Domain(Error::InvalidToken | Error::ExpiredToken) => {
                (header::WWW_AUTHENTICATE, "Bearer error=\"invalid_token\"".to_owned())
            }
            Self::Domain(Error::Unavailable(_) | Error::Conflict(Conflict::Running)) | Self::TimedOut | Self::Busy => {
                (header::RETRY_AFTER, RETRY_AFTER.to_owned())
            }
            Self::Domain(Error::TooMany(allowance)) => (header::RETRY_AFTER, allowance.reset_seconds.to_string()),
            Self::RangeNotSatisfiable(size) => (header::CONTENT_RANGE, format!("bytes */{size}")),
            _ => return None,
        };
        Some((name, value))
    }

    /// Returns the body of the response.
    pub(crate) fn body(&self) -> FailureBody {
        FailureBody {
            success: false,
            status: self.status().as_u16(),
            code: self.code(),
            message: self.to_string(),
            data: self.map_violations(ToString::to_string),
            codes: self.map_violations(|violation| field_code(violation.kind())),
        }
    }

    /// Maps the violations of each invalid field, by the spelling of the field; `None` unless this is a validation error.
    fn map_violations<T>(&self, map: impl Fn(&Violation) -> T) -> Option<BTreeMap<&'static str, Vec<T>>> {
        let Self::Domain(Error::Invalid(fields)) = self else { return None };
        Some(
            fields.iter().map(|(field, violations)| (spelling(field), violations.iter().map(&map).collect())).collect(),
        )
    }

    /// Returns the whole chain of causes of a failure that is the service's fault, for the log.
    pub(crate) fn causes(&self) -> Option<Causes> {
        match self {
            Self::TimedOut => Some(Causes("the request took too long".to_owned())),
            Self::Panicked => Some(Causes("a handler panicked".to_owned())),
            Self::Domain(error @ (Error::Unavailable(_) | Error::Internal(_))) => {
                Some(Causes(format!("{error}: {}", error.cause())))
            }
            _ => None,
        }
    }
}

/// Writes the message for the client.
impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Domain(Error::KeyReused) => f.write_str("Idempotency-Key was used for another request"),
            Self::Domain(Error::Conflict(Conflict::Running)) => {
                f.write_str("A request with this Idempotency-Key is under way")
            }
            Self::Domain(error) => error.fmt(f),
            Self::UnknownRoute => f.write_str("Route not found"),
            Self::MethodNotAllowed(_) => f.write_str("Method not allowed"),
            Self::NoToken => f.write_str("An access token is required"),
            Self::Malformed(message) | Self::TooLarge(message) => f.write_str(message),
            Self::UnsupportedMediaType(accepted) => write!(f, "Content-Type must be {accepted}"),
            Self::RangeNotSatisfiable(_) => f.write_str("The range lies outside the image"),
            Self::HeadTooLarge => {
                write!(f, "The head of a request must be below {} KiB, with at most 96 fields", HEAD_LIMIT / 1024)
            }
            Self::TooSlow => f.write_str("The request took too long to arrive"),
            Self::TimedOut => f.write_str("The request took too long"),
            Self::Busy => f.write_str("The service is overloaded"),
            Self::Panicked => f.write_str("Internal server error"),
        }
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.status()
    }

    fn error_response(&self) -> HttpResponse<BoxBody> {
        let mut response = HttpResponse::build(self.status());
        if let Some(header) = self.header() {
            response.insert_header(header);
        }
        let mut response = response.json(self.body());
        if let Self::Domain(Error::TooMany(allowance)) = self {
            write_allowance(response.headers_mut(), *allowance);
        }
        if let Some(causes) = self.causes() {
            response.extensions_mut().insert(causes);
        }
        response
    }
}
