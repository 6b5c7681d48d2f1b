//! The headers of responses, each described once.

use serde_json::json;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::{ObjectBuilder, Ref, RefOr, Response, Type};

use crate::core::schema::format;

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
        "Names the request in the log of the service.";
    LINK Link "Link" Sometimes "<https://agora.example.org/api/posts/following/all?size=20&cursor=AgAAAZgKkGbc>; rel=\"next\""
        "The addresses of the pages beside this one, to be followed as they are (RFC 8288): that before with \
         `rel=\"prev\"`, that after with `rel=\"next\"`. Absent when there are none.";
    CHALLENGE Challenge "WWW-Authenticate" Always "Bearer error=\"invalid_token\""
        "`Bearer`, with `error=\"invalid_token\"` when a token was sent.";
    ALLOW Allow "Allow" Always "GET, HEAD, PUT"
        "The methods that the path has, separated by commas.";
    RETRY_AFTER RetryAfter "Retry-After" Always "1"
        "Seconds after which to try again.";
    CONTENT_RANGE ContentRange "Content-Range" Always "bytes 0-1023/146515"
        "Which bytes of how many these are; or how many there are.";
    ACCEPT_RANGES AcceptRanges "Accept-Ranges" Always "bytes"
        "`bytes`: parts of the image can be asked for.";
    CACHE_CONTROL CacheControl "Cache-Control" Always "no-store"
        "How long the response may be kept: what depends on the caller is not (`no-store`).";
    ETAG ETag "ETag" Always "W/\"1980b7a5f6c-8f3a1c5b7d9e0246\""
        "Names what is shown, for `If-None-Match`, and its version, for `If-Match`.";
    LOCATION Location "Location" Always "https://cdn.example.org/agora/0f/0f1e2d3c4b5a69788796a5b4c3d2e1f0.png"
        "Where to go.";
    CONTENT_TYPE_OPTIONS ContentTypeOptions "X-Content-Type-Options" Always "nosniff"
        "`nosniff`: the content is of the type that is told.";
    CONTENT_SECURITY_POLICY ContentSecurityPolicy "Content-Security-Policy" Always "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        "What the response may load when it is opened as a page: nothing, or its own parts.";
    REFERRER_POLICY ReferrerPolicy "Referrer-Policy" Always "no-referrer"
        "`no-referrer`: the address is not passed on to where a link leads.";
    VERSION_TAG VersionTag "ETag" Always "W/\"1980b7a5f6c\""
        "Names the version of the post or product, for `If-Match`.";
    RETRY_WHEN_RUNNING RetryWhenRunning "Retry-After" Sometimes "1"
        "Present when the same request is under way: seconds after which to try again.";
    REPLAYED Replayed "Idempotency-Replayed" Sometimes "true"
        "`true` when the same request was carried out before under this `Idempotency-Key`: nothing more was done.";
    VARY Vary "Vary" Sometimes "Accept-Encoding"
        "The headers of the request on which the response depends, if any: `Accept-Encoding` when the body may be \
         compressed; `Origin` and others where pages of other sites may call.";
    CONTENT_ENCODING ContentEncoding "Content-Encoding" Sometimes "zstd"
        "Present when the body is compressed.";
    IMAGE_TAG ImageTag "ETag" Always "\"0f1e2d3c4b5a69788796a5b4c3d2e1f0.png\""
        "Names the image, for `If-None-Match` and `If-Range`.";
    RATE_LIMIT_LIMIT RateLimitLimit "RateLimit-Limit" Sometimes "60"
        "Present where requests are limited: how many are served in the time of the limit, which is a minute for most.";
    RATE_LIMIT_REMAINING RateLimitRemaining "RateLimit-Remaining" Sometimes "59"
        "Present where requests are limited: how many more are served now.";
    RATE_LIMIT_RESET RateLimitReset "RateLimit-Reset" Sometimes "60"
        "Present where requests are limited: seconds until all of them are served again.";
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
