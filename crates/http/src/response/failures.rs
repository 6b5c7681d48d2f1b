//! The failures that endpoints answer with, each described once, with examples made from the failures themselves.

use std::collections::BTreeMap;

use agora_domain::{
    Error, FieldErrors,
    error::{Conflict, Disallowed, Forbidden, Resource, Violation, ViolationKind},
    limits::{Allowance, Limit},
};
use utoipa::{
    IntoResponses,
    openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder, example::ExampleBuilder},
};

use crate::{
    core::{ApiError, FailureBody, schema},
    response::ResponseHeader,
};

/// One status that failures have.
pub(crate) struct Failure {
    /// The name by which operations refer to it.
    pub(crate) name: &'static str,
    description: &'static str,
    headers: Vec<ResponseHeader>,
    /// What it can be, each with a name. All have the same status.
    pub(crate) examples: Vec<(&'static str, ApiError)>,
}

impl Failure {
    /// The status.
    pub(crate) fn status(&self) -> String {
        self.examples.first().map(|(_, error)| error.status().as_str().to_owned()).unwrap_or_default()
    }

    fn describe(&self) -> Response {
        let examples = self.examples.iter().map(|(name, error)| {
            let value = serde_json::to_value(error.body()).ok();
            (*name, ExampleBuilder::new().summary(error.to_string()).value(value))
        });
        let content =
            ContentBuilder::new().schema(Some(schema::reference::<FailureBody<'_>>())).examples_from_iter(examples);
        let mut response =
            ResponseBuilder::new().description(self.description).content("application/json", content.build()).build();
        ResponseHeader::add_everywhere(&mut response);
        for header in &self.headers {
            header.add_to(&mut response);
        }
        response
    }
}

/// A reference to the failures of this name.
pub(crate) fn reference(name: &str) -> RefOr<Response> {
    RefOr::Ref(Ref::from_response_name(name))
}

/// The failures as components of the document.
pub(crate) fn components() -> impl Iterator<Item = (String, RefOr<Response>)> {
    all().into_iter().map(|failure| (failure.name.to_owned(), RefOr::T(failure.describe())))
}

/// The failures that handlers name themselves, since not every endpoint of their kind has them.
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
    /// Something that the request names is not there.
    NotFound("404");
    /// The credentials are wrong.
    Unauthorized("401");
    /// The range lies outside the image.
    RangeNotSatisfiable("416");
}

/// What is left of a limit that is used up.
const ALLOWANCE: Allowance =
    Allowance { limit: Limit { most: 60, period_seconds: 60 }, remaining: 0, reset_seconds: 42 };

fn invalid_fields() -> ApiError {
    let mut fields = FieldErrors::default();
    fields.add("email", Violation::new(ViolationKind::InvalidFormat, "Email must be a valid email address"));
    fields.add("username", Violation::new(ViolationKind::Required, "Username is required"));
    Error::from(fields).into()
}

/// Every failure.
pub(crate) fn all() -> Vec<Failure> {
    let not_found = |resource| ApiError::from(Error::NotFound(resource));
    let conflict = |conflict| ApiError::from(Error::Conflict(conflict));
    vec![
        Failure {
            name: "BadRequest",
            description: "The request cannot be understood, fields of it are invalid (each is named in `data`), or a \
                          state forbids the operation.",
            headers: vec![ResponseHeader::Replayed, ResponseHeader::ContentEncoding],
            examples: vec![
                ("invalidFields", invalid_fields()),
                ("malformedId", ApiError::Malformed("postId must be a UUID".to_owned())),
                ("malformedJson", ApiError::Malformed("Malformed JSON at line 1 column 17".to_owned())),
                ("forbiddenByState", Error::Disallowed(Disallowed::FollowSelf).into()),
            ],
        },
        Failure {
            name: "Unauthorized",
            description: "There is no token, or it is invalid or has expired, or its session has ended; at login, the \
                          credentials are wrong.",
            headers: vec![ResponseHeader::Challenge],
            examples: vec![
                ("noToken", ApiError::NoToken),
                ("invalidToken", Error::InvalidToken.into()),
                ("expiredToken", Error::ExpiredToken.into()),
                ("wrongCredentials", Error::InvalidCredentials.into()),
            ],
        },
        Failure {
            name: "Forbidden",
            description: "The caller lacks the role, or may not do this to this thing.",
            headers: vec![ResponseHeader::Replayed],
            examples: vec![("missingRole", Error::Forbidden(Forbidden::NotAdmin).into())],
        },
        Failure {
            name: "NotFound",
            description: "There is no such thing, or no such route.",
            headers: vec![ResponseHeader::Replayed],
            examples: vec![
                ("post", not_found(Resource::Post)),
                ("comment", not_found(Resource::Comment)),
                ("user", not_found(Resource::User)),
                ("product", not_found(Resource::Product)),
                ("image", not_found(Resource::Image)),
                ("route", ApiError::UnknownRoute),
            ],
        },
        Failure {
            name: "MethodNotAllowed",
            description: "The path has other methods. Every path answers other methods like this.",
            headers: vec![ResponseHeader::Allow],
            examples: vec![("otherMethod", ApiError::MethodNotAllowed("GET, HEAD, PUT".to_owned()))],
        },
        Failure {
            name: "RequestTimeout",
            description: "The body did not arrive in time. The connection is closed.",
            headers: vec![],
            examples: vec![("tooSlow", ApiError::TooSlow)],
        },
        Failure {
            name: "Conflict",
            description: "A username, an email address or a SKU is taken in some letter case; or the same request is \
                          under way under its `Idempotency-Key`; or the request conflicts with what is stored in a way \
                          that no rule foresaw.",
            headers: vec![ResponseHeader::RetryWhenRunning, ResponseHeader::Replayed],
            examples: vec![
                ("username", conflict(Conflict::Username)),
                ("email", conflict(Conflict::Email)),
                ("sku", conflict(Conflict::Sku)),
                ("running", conflict(Conflict::Running)),
                ("unforeseen", conflict(Conflict::Unforeseen)),
            ],
        },
        Failure {
            name: "PreconditionFailed",
            description: "The post or product was edited since the version that `If-Match` names.",
            headers: vec![],
            examples: vec![("stale", Error::Stale.into())],
        },
        Failure {
            name: "PayloadTooLarge",
            description: "The body, a text in a form or an image is beyond its limit.",
            headers: vec![ResponseHeader::Replayed],
            examples: vec![
                ("body", ApiError::TooLarge("The body must be at most 64 KiB".to_owned())),
                ("image", ApiError::TooLarge("image must be at most 5 MiB".to_owned())),
            ],
        },
        Failure {
            name: "UnsupportedMediaType",
            description: "The content type is not one that the endpoint takes.",
            headers: vec![ResponseHeader::Replayed],
            examples: vec![("notJson", ApiError::UnsupportedMediaType("application/json"))],
        },
        Failure {
            name: "RangeNotSatisfiable",
            description: "The range lies outside the image.",
            headers: vec![ResponseHeader::ContentRange],
            examples: vec![("outside", ApiError::RangeNotSatisfiable(146_515))],
        },
        Failure {
            name: "KeyReused",
            description: "The `Idempotency-Key` was used for another request in the last 24 hours.",
            headers: vec![],
            examples: vec![("otherRequest", Error::KeyReused.into())],
        },
        Failure {
            name: "TooManyRequests",
            description: "Requests are limited, and these were too many: of this client address, of this account, or of \
                          wrong passwords.",
            headers: vec![ResponseHeader::RetryAfter],
            examples: vec![("tooMany", Error::TooMany(ALLOWANCE).into())],
        },
        Failure {
            name: "InternalServerError",
            description: "A defect. Nothing about it is told; the log names its cause under the `x-request-id`.",
            headers: vec![],
            examples: vec![("defect", ApiError::Panicked)],
        },
        Failure {
            name: "ServiceUnavailable",
            description: "Too much is asked at once, a dependency is out of reach, or the request took too long.",
            headers: vec![ResponseHeader::RetryAfter],
            examples: vec![
                ("unavailable", Error::unavailable("an example").into()),
                ("tooSlow", ApiError::TimedOut),
                ("overload", ApiError::Busy),
            ],
        },
    ]
}
