//! The headers of responses, each described once.

use serde_json::json;
use utoipa::openapi::{
    ObjectBuilder, Ref, RefOr, Response, Type,
    extensions::Extensions,
    header::{Header, HeaderBuilder},
};

use crate::core::schema::format;

/// A header of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseHeader {
    RequestId,
    Link,
    Challenge,
    Allow,
    RetryAfter,
    ContentRange,
    AcceptRanges,
    CacheControl,
    ETag,
    Location,
    ContentTypeOptions,
    ContentSecurityPolicy,
    ReferrerPolicy,
    /// The tag of a version, for the next edit.
    Version,
    /// When to try again, where that is worth while.
    RetryWhenRunning,
    Replayed,
    Vary,
    ContentEncoding,
    ImageTag,
    RateLimit,
    RateLimitRemaining,
    RateLimitReset,
}

impl ResponseHeader {
    const ALL: [Self; 22] = [
        Self::RequestId,
        Self::Link,
        Self::Challenge,
        Self::Allow,
        Self::RetryAfter,
        Self::ContentRange,
        Self::AcceptRanges,
        Self::CacheControl,
        Self::ETag,
        Self::Location,
        Self::ContentTypeOptions,
        Self::ContentSecurityPolicy,
        Self::ReferrerPolicy,
        Self::Version,
        Self::RetryWhenRunning,
        Self::Replayed,
        Self::Vary,
        Self::ContentEncoding,
        Self::ImageTag,
        Self::RateLimit,
        Self::RateLimitRemaining,
        Self::RateLimitReset,
    ];

    /// What is told of a limit.
    const RATE: [Self; 3] = [Self::RateLimit, Self::RateLimitRemaining, Self::RateLimitReset];

    /// What every response has, or may have.
    const EVERYWHERE: [Self; 6] = [
        Self::RequestId,
        Self::ContentTypeOptions,
        Self::ReferrerPolicy,
        Self::ContentSecurityPolicy,
        Self::CacheControl,
        Self::Vary,
    ];

    /// Its name, and the name under which the document describes it.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::RequestId => ("x-request-id", "RequestId"),
            Self::Link => ("Link", "Link"),
            Self::Challenge => ("WWW-Authenticate", "Challenge"),
            Self::Allow => ("Allow", "Allow"),
            Self::RetryAfter => ("Retry-After", "RetryAfter"),
            Self::ContentRange => ("Content-Range", "ContentRange"),
            Self::AcceptRanges => ("Accept-Ranges", "AcceptRanges"),
            Self::CacheControl => ("Cache-Control", "CacheControl"),
            Self::ETag => ("ETag", "ETag"),
            Self::Location => ("Location", "Location"),
            Self::ContentTypeOptions => ("X-Content-Type-Options", "ContentTypeOptions"),
            Self::ContentSecurityPolicy => ("Content-Security-Policy", "ContentSecurityPolicy"),
            Self::ReferrerPolicy => ("Referrer-Policy", "ReferrerPolicy"),
            Self::Version => ("ETag", "VersionTag"),
            Self::RetryWhenRunning => ("Retry-After", "RetryWhenRunning"),
            Self::Replayed => ("Idempotency-Replayed", "Replayed"),
            Self::Vary => ("Vary", "Vary"),
            Self::ContentEncoding => ("Content-Encoding", "ContentEncoding"),
            Self::ImageTag => ("ETag", "ImageTag"),
            Self::RateLimit => ("RateLimit-Limit", "RateLimitLimit"),
            Self::RateLimitRemaining => ("RateLimit-Remaining", "RateLimitRemaining"),
            Self::RateLimitReset => ("RateLimit-Reset", "RateLimitReset"),
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::RequestId => "Names the request in the log of the service.",
            Self::Link => {
                "The addresses of the pages beside this one, to be followed as they are (RFC 8288): that before with \
                 `rel=\"prev\"`, that after with `rel=\"next\"`. Absent when there are none."
            }
            Self::Challenge => "`Bearer`, with `error=\"invalid_token\"` when a token was sent.",
            Self::Allow => "The methods that the path has, separated by commas.",
            Self::RetryAfter => "Seconds after which to try again.",
            Self::ContentRange => "Which bytes of how many these are; or how many there are.",
            Self::AcceptRanges => "`bytes`: parts of the image can be asked for.",
            Self::CacheControl => "How long the response may be kept: what depends on the caller is not (`no-store`).",
            Self::ETag => "Names what is shown, for `If-None-Match`, and its version, for `If-Match`.",
            Self::Location => "Where to go.",
            Self::ContentTypeOptions => "`nosniff`: the content is of the type that is told.",
            Self::ContentSecurityPolicy => {
                "What the response may load when it is opened as a page: nothing, or its own parts."
            }
            Self::ReferrerPolicy => "`no-referrer`: the address is not passed on to where a link leads.",
            Self::Version => "Names the version of the post or product, for `If-Match`.",
            Self::RetryWhenRunning => "Present when the same request is under way: seconds after which to try again.",
            Self::Replayed => "`true` when this is the answer to an earlier request under the same `Idempotency-Key`.",
            Self::Vary => {
                "The headers of the request on which the response depends, if any: `Accept-Encoding` when the body may be \
                           compressed; `Origin` and others where pages of other sites may call."
            }
            Self::ContentEncoding => "Present when the body is compressed.",
            Self::RateLimit => "Present where requests are limited: how many are served in a minute.",
            Self::RateLimitRemaining => "Present where requests are limited: how many more are served now.",
            Self::RateLimitReset => "Present where requests are limited: seconds until all of them are served again.",
            Self::ImageTag => "Names the image, for `If-None-Match` and `If-Range`.",
        }
    }

    fn example(self) -> serde_json::Value {
        match self {
            Self::RequestId => json!("0198a9d06d5c7c3bb1a39cfa2b8a61d4"),
            Self::Link => {
                json!("<https://agora.example.org/api/posts/following/all?size=20&cursor=AgAAAZgKkGbc>; rel=\"next\"")
            }
            Self::Challenge => json!("Bearer error=\"invalid_token\""),
            Self::Allow => json!("GET, HEAD, PUT"),
            Self::RetryAfter => json!(1),
            Self::ContentRange => json!("bytes 0-1023/146515"),
            Self::AcceptRanges => json!("bytes"),
            Self::CacheControl => json!("no-store"),
            Self::ETag => json!("W/\"1980b7a5f6c-8f3a1c5b7d9e0246\""),
            Self::ImageTag => json!("\"0f1e2d3c4b5a69788796a5b4c3d2e1f0.png\""),
            Self::Location => json!("https://cdn.example.org/agora/0f/0f1e2d3c4b5a69788796a5b4c3d2e1f0.png"),
            Self::ContentTypeOptions => json!("nosniff"),
            Self::ContentSecurityPolicy => {
                json!("default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
            }
            Self::ReferrerPolicy => json!("no-referrer"),
            Self::Version => json!("W/\"1980b7a5f6c\""),
            Self::RetryWhenRunning => json!(1),
            Self::Replayed => json!("true"),
            Self::Vary => json!("Accept-Encoding"),
            Self::ContentEncoding => json!("zstd"),
            Self::RateLimit => json!(60),
            Self::RateLimitRemaining => json!(59),
            Self::RateLimitReset => json!(60),
        }
    }

    fn describe(self) -> Header {
        let schema = match self {
            Self::RetryAfter
            | Self::RetryWhenRunning
            | Self::RateLimit
            | Self::RateLimitRemaining
            | Self::RateLimitReset => ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)),
            Self::Location => ObjectBuilder::new().schema_type(Type::String).format(format("uri-reference")),
            _ => ObjectBuilder::new().schema_type(Type::String),
        };
        let mut header = HeaderBuilder::new()
            .schema(Some(schema))
            .description(Some(self.description()))
            .example(Some(self.example()))
            .build();
        if !self.is_optional() {
            // A field of the standard that `Header` lacks; it writes what extends it as it is.
            header.extensions = Some(Extensions::from_iter([("required", true)]));
        }
        header
    }

    /// Whether responses that may have it may also lack it.
    fn is_optional(self) -> bool {
        let sometimes = [Self::Link, Self::RetryWhenRunning, Self::Replayed, Self::Vary, Self::ContentEncoding];
        sometimes.contains(&self) || Self::RATE.contains(&self)
    }

    /// Adds what every response has, or may have.
    pub(crate) fn add_everywhere(response: &mut Response) {
        Self::EVERYWHERE.into_iter().chain(Self::RATE).for_each(|header| header.add_to(response));
    }

    /// Adds it to a response.
    pub(crate) fn add_to(self, response: &mut Response) {
        let (name, component) = self.names();
        let reference = RefOr::Ref(Ref::new(format!("#/components/headers/{component}")));
        response.headers.insert(name.to_owned(), reference);
    }
}

/// All headers, under the names by which responses refer to them.
pub(crate) fn components() -> impl Iterator<Item = (String, RefOr<Header>)> {
    ResponseHeader::ALL.into_iter().map(|header| (header.names().1.to_owned(), RefOr::T(header.describe())))
}
