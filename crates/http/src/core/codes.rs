//! The error codes by which clients tell failures apart without parsing messages (contract: Errors), and the HTTP status
//! of each.

use actix_web::http::StatusCode;
use agora_domain::Error;
use agora_domain::error::{Conflict, Disallowed, Forbidden, Resource, ViolationKind};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::{ObjectBuilder, Type};

/// Declares the codes, each with the status of the responses that carry it.
macro_rules! error_codes {
    ($($code:ident $status:ident,)+) => {
        /// The error code: a word that never changes, by which clients distinguish failures.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub(crate) enum ErrorCode {
            $($code,)+
        }

        impl ErrorCode {
            /// Returns the status of a response with this code.
            pub(crate) const fn status(self) -> StatusCode {
                match self {
                    $(Self::$code => StatusCode::$status,)+
                }
            }
        }
    };
}

error_codes! {
    ValidationFailed BAD_REQUEST,
    MalformedRequest BAD_REQUEST,
    Unauthenticated UNAUTHORIZED,
    InvalidCredentials UNAUTHORIZED,
    TokenExpired UNAUTHORIZED,
    Forbidden FORBIDDEN,
    RoleRequired FORBIDDEN,
    RouteNotFound NOT_FOUND,
    MethodNotAllowed METHOD_NOT_ALLOWED,
    UserNotFound NOT_FOUND,
    PostNotFound NOT_FOUND,
    CommentNotFound NOT_FOUND,
    ProductNotFound NOT_FOUND,
    NotificationNotFound NOT_FOUND,
    ReportNotFound NOT_FOUND,
    SessionNotFound NOT_FOUND,
    MailNotFound NOT_FOUND,
    ImageNotFound NOT_FOUND,
    UsernameTaken CONFLICT,
    EmailTaken CONFLICT,
    SkuTaken CONFLICT,
    Conflict CONFLICT,
    LastAdmin BAD_REQUEST,
    SelfNotAllowed BAD_REQUEST,
    InvalidState BAD_REQUEST,
    MailNotConfigured BAD_REQUEST,
    PreconditionFailed PRECONDITION_FAILED,
    PayloadTooLarge PAYLOAD_TOO_LARGE,
    UnsupportedMediaType UNSUPPORTED_MEDIA_TYPE,
    RequestTimeout REQUEST_TIMEOUT,
    RangeNotSatisfiable RANGE_NOT_SATISFIABLE,
    HeadersTooLarge REQUEST_HEADER_FIELDS_TOO_LARGE,
    IdempotencyKeyReused UNPROCESSABLE_ENTITY,
    IdempotencyInProgress CONFLICT,
    RateLimited TOO_MANY_REQUESTS,
    Overloaded SERVICE_UNAVAILABLE,
    Unavailable SERVICE_UNAVAILABLE,
    Internal INTERNAL_SERVER_ERROR,
}

impl From<&Error> for ErrorCode {
    fn from(error: &Error) -> Self {
        match error {
            Error::Invalid(_) => Self::ValidationFailed,
            Error::Disallowed(Disallowed::LastAdmin) => Self::LastAdmin,
            Error::Disallowed(Disallowed::FollowSelf | Disallowed::BlockSelf | Disallowed::MuteSelf) => {
                Self::SelfNotAllowed
            }
            Error::Disallowed(Disallowed::TooManyFollowed | Disallowed::TooManyBlocked | Disallowed::TooManyMuted) => {
                Self::InvalidState
            }
            Error::Disallowed(Disallowed::MailNotConfigured) => Self::MailNotConfigured,
            Error::TooLarge(_) => Self::PayloadTooLarge,
            Error::InvalidCredentials => Self::InvalidCredentials,
            Error::InvalidToken => Self::Unauthenticated,
            Error::ExpiredToken => Self::TokenExpired,
            Error::Forbidden(Forbidden::NoRole | Forbidden::NotAdmin) => Self::RoleRequired,
            Error::Forbidden(_) => Self::Forbidden,
            Error::NotFound(Resource::User) => Self::UserNotFound,
            Error::NotFound(Resource::Post) => Self::PostNotFound,
            Error::NotFound(Resource::Comment) => Self::CommentNotFound,
            Error::NotFound(Resource::Product) => Self::ProductNotFound,
            Error::NotFound(Resource::Notification) => Self::NotificationNotFound,
            Error::NotFound(Resource::Report) => Self::ReportNotFound,
            Error::NotFound(Resource::Session) => Self::SessionNotFound,
            Error::NotFound(Resource::Mail) => Self::MailNotFound,
            Error::NotFound(Resource::Image) => Self::ImageNotFound,
            Error::Conflict(Conflict::Username) => Self::UsernameTaken,
            Error::Conflict(Conflict::Email) => Self::EmailTaken,
            Error::Conflict(Conflict::Sku) => Self::SkuTaken,
            Error::Conflict(Conflict::Running) => Self::IdempotencyInProgress,
            Error::Conflict(Conflict::Unforeseen) => Self::Conflict,
            Error::Stale => Self::PreconditionFailed,
            Error::KeyReused => Self::IdempotencyKeyReused,
            Error::TooMany(_) => Self::RateLimited,
            Error::Unavailable(_) => Self::Unavailable,
            Error::Internal(_) => Self::Internal,
        }
    }
}

/// Returns the error code for the kind of rule that a field breaks.
pub(crate) const fn field_code(kind: ViolationKind) -> &'static str {
    match kind {
        ViolationKind::Required => "required",
        ViolationKind::TooShort => "too_short",
        ViolationKind::TooLong => "too_long",
        ViolationKind::InvalidFormat => "invalid_format",
        ViolationKind::WrongType => "wrong_type",
        ViolationKind::OutOfRange => "out_of_range",
        ViolationKind::Duplicate => "duplicate",
        ViolationKind::NotAllowed => "not_allowed",
        ViolationKind::Incorrect => "incorrect",
        ViolationKind::Mismatch => "mismatch",
    }
}

/// Returns the schema of the codes of [`field_code`].
pub(crate) fn field_code_schema() -> ObjectBuilder {
    let description = "The kind of rule that a field violates: a word that never changes.";
    let schema = ObjectBuilder::new().schema_type(Type::String).description(Some(description));
    schema.enum_values(Some(ViolationKind::ALL.map(field_code)))
}
