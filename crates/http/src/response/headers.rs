//! The headers of responses, each described once.

use serde_json::json;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::{ObjectBuilder, Ref, RefOr, Response, Type};

use crate::core::schema::format;

/// The header that keeps nginx from buffering a long response. It would hold events back until its buffer is full. Of an archive, it
/// would read a gibibyte and then nothing until the client has read that, longer than a connection may be stalled.
pub(crate) const UNBUFFERED: (&str, &str) = ("x-accel-buffering", "no");

/// A header of responses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResponseHeader {
    name: &'static str,
    /// The name of its component in the OpenAPI document.
    component: &'static str,
    presence: Presence,
    example: &'static str,
    description: &'static str,
}

/// Whether a response that may have a header always has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Always,
    Sometimes,
}

/// Declares the headers: the constant, the component's name, the name in responses, the presence, an example and a
/// description. If the example is a number, the header is declared as an integer.
macro_rules! headers {
    ($($constant:ident $component:ident $name:literal $presence:ident $example:literal $description:literal;)+) => {
        impl ResponseHeader {
            $(pub(crate) const $constant: Self = Self {
                name: $name,
                component: stringify!($component),
                presence: Presence::$presence,
                example: $example,
                description: $description,
            };)+

            const ALL: &[Self] = &[$(Self::$constant),+];
        }
    };
}

#[rustfmt::skip]
headers! {
    REQUEST_ID RequestId "x-request-id" Always "0198a9d06d5c7c3bb1a39cfa2b8a61d4"
        "The id of the request in the service's log.";
    LINK Link "Link" Sometimes "<https://agora.example.org/api/posts/following/all?size=20&cursor=AgAAAZgKkGbc>; rel=\"next\""
        "The URLs of the neighbouring pages, to be used as they are (RFC 8288): the previous one with `rel=\"prev\"`, the next \
         one with `rel=\"next\"`. Absent if there are none.";
    CHALLENGE Challenge "WWW-Authenticate" Always "Bearer error=\"invalid_token\""
        "`Bearer`, with `error=\"invalid_token\"` if a token was sent.";
    ALLOW Allow "Allow" Always "GET, HEAD, PUT"
        "The methods that the path supports, separated by commas.";
    RETRY_AFTER RetryAfter "Retry-After" Always "1"
        "The number of seconds after which to retry.";
    CONTENT_RANGE ContentRange "Content-Range" Always "bytes 0-1023/146515"
        "The range of bytes in the body and the size of the image; with 416, the size alone.";
    ACCEPT_RANGES AcceptRanges "Accept-Ranges" Always "bytes"
        "`bytes`: the image supports range requests.";
    CACHE_CONTROL CacheControl "Cache-Control" Always "no-store"
        "How long the response may be cached. Responses that depend on the caller must not be stored (`no-store`).";
    ETAG ETag "ETag" Always "W/\"1980b7a5f6c-8f3a1c5b7d9e0246\""
        "The entity tag of the content, for `If-None-Match`, and of its version, for `If-Match`.";
    LOCATION Location "Location" Always "https://cdn.example.org/agora/0f/0f1e2d3c4b5a69788796a5b4c3d2e1f0.png"
        "The URL to go to.";
    CONTENT_TYPE_OPTIONS ContentTypeOptions "X-Content-Type-Options" Always "nosniff"
        "`nosniff`: the content has the declared type, and browsers must not guess another.";
    CONTENT_SECURITY_POLICY ContentSecurityPolicy "Content-Security-Policy" Always "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        "What the response may load if it is opened as a page: nothing, or what a page of this service needs.";
    REFERRER_POLICY ReferrerPolicy "Referrer-Policy" Always "no-referrer"
        "`no-referrer`: browsers do not send the URL to the targets of links.";
    VERSION_TAG VersionTag "ETag" Always "W/\"1980b7a5f6c\""
        "The entity tag of the version of the post or product, for `If-Match`.";
    RETRY_WHEN_RUNNING RetryWhenRunning "Retry-After" Sometimes "1"
        "The number of seconds after which to retry. Present if the same request is still being carried out.";
    REPLAYED Replayed "Idempotency-Replayed" Sometimes "true"
        "`true` if the same request was carried out before under this `Idempotency-Key`: it had no further effect.";
    VARY Vary "Vary" Sometimes "Accept-Encoding"
        "The request headers on which the response depends, if any: `Accept-Encoding` if the body may be compressed; `Origin` \
         and others if pages of other sites may call the service.";
    CONTENT_ENCODING ContentEncoding "Content-Encoding" Sometimes "zstd"
        "The compression of the body. Present if it is compressed.";
    IMAGE_TAG ImageTag "ETag" Always "\"0f1e2d3c4b5a69788796a5b4c3d2e1f0.png\""
        "The entity tag of the image, for `If-None-Match` and `If-Range`.";
    RATE_LIMIT_LIMIT RateLimitLimit "RateLimit-Limit" Sometimes "60"
        "Present if requests are limited: how many are allowed in the period of the limit, a minute for most.";
    RATE_LIMIT_REMAINING RateLimitRemaining "RateLimit-Remaining" Sometimes "59"
        "Present if requests are limited: how many are left.";
    RATE_LIMIT_RESET RateLimitReset "RateLimit-Reset" Sometimes "60"
        "Present if requests are limited: the number of seconds until all are available again.";
}

impl ResponseHeader {
    fn describe(&self) -> Header {
        let text = ObjectBuilder::new().schema_type(Type::String);
        let (schema, example) = match self.example.parse::<u64>() {
            Ok(number) => (ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)), json!(number)),
            Err(_) if self.name == "Location" => (text.format(format("uri-reference")), json!(self.example)),
            Err(_) => (text, json!(self.example)),
        };
        let header = HeaderBuilder::new().schema(Some(schema)).description(Some(self.description));
        let mut header = header.example(Some(example)).build();
        if self.presence == Presence::Always {
            // OpenAPI has a field `required` that utoipa's `Header` lacks; extensions are written as plain fields.
            header.extensions = Some(Extensions::from_iter([("required", true)]));
        }
        header
    }

    /// Adds the headers that every response has or may have.
    pub(crate) fn add_everywhere(response: &mut Response) {
        let limits = [Self::RATE_LIMIT_LIMIT, Self::RATE_LIMIT_REMAINING, Self::RATE_LIMIT_RESET];
        let for_browsers = [Self::CONTENT_TYPE_OPTIONS, Self::REFERRER_POLICY, Self::CONTENT_SECURITY_POLICY];
        let others = [Self::REQUEST_ID, Self::CACHE_CONTROL, Self::VARY];
        [limits, for_browsers, others].as_flattened().iter().for_each(|header| header.add_to(response));
    }

    /// Adds this header to a response, as a reference to its component.
    pub(crate) fn add_to(&self, response: &mut Response) {
        let reference = RefOr::Ref(Ref::new(format!("#/components/headers/{}", self.component)));
        response.headers.insert(self.name.to_owned(), reference);
    }
}

/// Returns all headers as components of the OpenAPI document, by name.
pub(crate) fn components() -> impl Iterator<Item = (String, RefOr<Header>)> {
    ResponseHeader::ALL.iter().map(|header| (header.component.to_owned(), RefOr::T(header.describe())))
}
