//! The failures that endpoints respond with, for the OpenAPI document: each is described once, with examples made from the
//! errors themselves.

use std::collections::BTreeMap;

use agora_domain::error::{Conflict, Disallowed, FieldName, Forbidden, Resource, Violation, ViolationKind};
use agora_domain::limits::{Allowance, Limit};
use agora_domain::{Error, FieldErrors};
use utoipa::IntoResponses;
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

use crate::core::{ApiError, FailureBody, schema};
use crate::response::ResponseHeader;

/// The response for one kind of failure.
pub(crate) struct Failure {
    /// The name by which operations refer to it.
    pub(crate) name: &'static str,
    description: &'static str,
    headers: &'static [ResponseHeader],
    /// Examples of the errors it stands for, each with a name. All have the same status.
    pub(crate) examples: Vec<(&'static str, ApiError)>,
}

impl Failure {
    /// Returns the status.
    pub(crate) fn status(&self) -> String {
        self.examples.first().map(|(_, error)| error.status().as_str().to_owned()).unwrap_or_default()
    }

    fn describe(&self) -> Response {
        let examples = self.examples.iter().map(|(name, error)| {
            let value = serde_json::to_value(error.body()).ok();
            (*name, ExampleBuilder::new().summary(error.to_string()).value(value))
        });
        let content =
            ContentBuilder::new().schema(Some(schema::reference::<FailureBody>())).examples_from_iter(examples);
        let mut response =
            ResponseBuilder::new().description(self.description).content("application/json", content.build()).build();
        ResponseHeader::add_everywhere(&mut response);
        for header in self.headers {
            header.add_to(&mut response);
        }
        response
    }
}

/// Returns a reference to the failure of this name.
pub(crate) fn reference(name: &str) -> RefOr<Response> {
    RefOr::Ref(Ref::from_response_name(name))
}

/// Returns all failures as components of the OpenAPI document, by name.
pub(crate) fn components() -> impl Iterator<Item = (String, RefOr<Response>)> {
    all().into_iter().map(|failure| (failure.name.to_owned(), RefOr::T(failure.describe())))
}

/// Declares the failures that handlers list explicitly, since only some endpoints of a kind have them.
macro_rules! named {
    ($($(#[doc = $doc:literal])+ $name:ident($status:literal);)+) => {$(
        $(#[doc = $doc])+
        pub(crate) enum $name {}

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                BTreeMap::from([($status.to_owned(), reference(stringify!($name)))])
            }
        }
    )+};
}

named! {
    /// There is no resource that the request names.
    NotFound("404");
    /// The credentials are wrong.
    Unauthorized("401");
}

/// The state of a rate limit that is used up.
const EXHAUSTED_ALLOWANCE: Allowance =
    Allowance { limit: Limit { most: 60, period_seconds: 60 }, remaining: 0, reset_seconds: 42 };

fn invalid_fields() -> Error {
    let mut fields = FieldErrors::default();
    fields.add(FieldName::Email, Violation::new(ViolationKind::InvalidFormat, "Email must be a valid email address"));
    fields.add(FieldName::Username, Violation::new(ViolationKind::Required, "Username is required"));
    fields.into()
}

/// Declares the failures: the component's name, a description, the headers, and named examples of errors, which all have the
/// same status.
macro_rules! failures {
    ($($name:ident $description:literal [$($header:ident)*] { $($example:ident: $error:expr,)+ })+) => {
        /// Returns every failure.
        pub(crate) fn all() -> Vec<Failure> {
            vec![$(Failure {
                name: stringify!($name),
                description: $description,
                headers: &[$(ResponseHeader::$header),*],
                examples: vec![$((stringify!($example), ApiError::from($error))),+],
            }),+]
        }
    };
}

#[rustfmt::skip]
failures! {
    BadRequest
    "The request is malformed, fields of it are invalid (`data` names each of them), or the present state forbids the operation."
    [CONTENT_ENCODING] {
        invalidFields: invalid_fields(),
        malformedId: ApiError::Malformed("postId must be a UUID".to_owned()),
        malformedJson: ApiError::Malformed("Malformed JSON at line 1 column 17".to_owned()),
        forbiddenByState: Error::Disallowed(Disallowed::FollowSelf),
    }
    Unauthorized
    "The token is missing, invalid or expired, or its session has ended; at login, the credentials are wrong."
    [CHALLENGE] {
        noToken: ApiError::NoToken,
        invalidToken: Error::InvalidToken,
        expiredToken: Error::ExpiredToken,
        wrongCredentials: Error::InvalidCredentials,
    }
    Forbidden "The caller lacks the required role, or may not do this to this resource." [REPLAYED] {
        missingRole: Error::Forbidden(Forbidden::NotAdmin),
    }
    NotFound "There is no such resource, or no such route." [REPLAYED] {
        post: Error::NotFound(Resource::Post),
        comment: Error::NotFound(Resource::Comment),
        user: Error::NotFound(Resource::User),
        product: Error::NotFound(Resource::Product),
        image: Error::NotFound(Resource::Image),
        notification: Error::NotFound(Resource::Notification),
        route: ApiError::UnknownRoute,
    }
    MethodNotAllowed "The path does not support this method. Every path answers unsupported methods like this." [ALLOW] {
        otherMethod: ApiError::MethodNotAllowed("GET, HEAD, PUT".to_owned()),
    }
    RequestTimeout "The body did not arrive in time. The connection is closed." [] {
        tooSlow: ApiError::TooSlow,
    }
    Conflict
    "A username, an email address or a SKU is taken, in some letter case; or the same request is still being carried out under \
     its `Idempotency-Key`; or the request conflicts with stored data in another way."
    [RETRY_WHEN_RUNNING] {
        username: Error::Conflict(Conflict::Username),
        email: Error::Conflict(Conflict::Email),
        sku: Error::Conflict(Conflict::Sku),
        running: Error::Conflict(Conflict::Running),
        unforeseen: Error::Conflict(Conflict::Unforeseen),
    }
    PreconditionFailed "The post or product was changed since the version that `If-Match` names." [] {
        stale: Error::Stale,
    }
    PayloadTooLarge "The body, a text in a form or an image exceeds its limit." [] {
        body: ApiError::TooLarge("The body must be at most 64 KiB".to_owned()),
        image: ApiError::TooLarge("image must be at most 5 MiB".to_owned()),
    }
    UnsupportedMediaType "The endpoint does not accept this content type." [] {
        notJson: ApiError::UnsupportedMediaType("application/json"),
    }
    RangeNotSatisfiable "The range lies outside the image." [CONTENT_RANGE] {
        outside: ApiError::RangeNotSatisfiable(146_515),
    }
    KeyReused "The `Idempotency-Key` was used for another request in the last 24 hours." [] {
        otherRequest: Error::KeyReused,
    }
    TooManyRequests
    "Too many requests: from this client address, by this account, or with wrong passwords."
    [RETRY_AFTER] {
        tooMany: Error::TooMany(EXHAUSTED_ALLOWANCE),
    }
    InternalServerError "A defect of the service. The response does not reveal its cause; the log has it under the \
                         `x-request-id`." [] {
        defect: ApiError::Panicked,
    }
    ServiceUnavailable "The service is overloaded, a dependency is unreachable, or the request took too long." [RETRY_AFTER] {
        unavailable: Error::unavailable("an example"),
        tooSlow: ApiError::TimedOut,
        overload: ApiError::Busy,
    }
}
