//! The headers of responses, each described once.

use serde_json::{Value, json};
use utoipa::openapi::{
    ObjectBuilder, Ref, RefOr, Response, Type,
    extensions::Extensions,
    header::{Header, HeaderBuilder},
};

use crate::core::schema::format;

/// Declares the headers: the name in responses, then whether a response that may have it always does, an example, and what
/// it says. A header goes into the document under the name of its variant.
macro_rules! headers {
    ($($variant:ident $name:literal $presence:ident $example:tt $description:literal;)+) => {
        /// A header of responses.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum ResponseHeader {
            $($variant,)+
        }

        impl ResponseHeader {
            const ALL: &[Self] = &[$(Self::$variant),+];

            fn declaration(self) -> Declaration {
                match self {
                    $(Self::$variant => Declaration {
                        name: $name,
                        component: stringify!($variant),
                        presence: Presence::$presence,
                        description: $description,
                        example: json!($example),
                    },)+
                }
            }
        }
    };
}

struct Declaration {
    name: &'static str,
    component: &'static str,
    presence: Presence,
    description: &'static str,
    example: Value,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Always,
    Sometimes,
}

#[rustfmt::skip]
headers! {
    RequestId "x-request-id" Always "0198a9d06d5c7c3bb1a39cfa2b8a61d4"
        "Names the request in the log of the service.";
    Link "Link" Sometimes "<https://agora.example.org/api/posts/following/all?size=20&cursor=AgAAAZgKkGbc>; rel=\"next\""
        "The addresses of the pages beside this one, to be followed as they are (RFC 8288): that before with \
         `rel=\"prev\"`, that after with `rel=\"next\"`. Absent when there are none.";
    Challenge "WWW-Authenticate" Always "Bearer error=\"invalid_token\""
        "`Bearer`, with `error=\"invalid_token\"` when a token was sent.";
    Allow "Allow" Always "GET, HEAD, PUT"
        "The methods that the path has, separated by commas.";
    RetryAfter "Retry-After" Always 1
        "Seconds after which to try again.";
    ContentRange "Content-Range" Always "bytes 0-1023/146515"
        "Which bytes of how many these are; or how many there are.";
    AcceptRanges "Accept-Ranges" Always "bytes"
        "`bytes`: parts of the image can be asked for.";
    CacheControl "Cache-Control" Always "no-store"
        "How long the response may be kept: what depends on the caller is not (`no-store`).";
    ETag "ETag" Always "W/\"1980b7a5f6c-8f3a1c5b7d9e0246\""
        "Names what is shown, for `If-None-Match`, and its version, for `If-Match`.";
    Location "Location" Always "https://cdn.example.org/agora/0f/0f1e2d3c4b5a69788796a5b4c3d2e1f0.png"
        "Where to go.";
    ContentTypeOptions "X-Content-Type-Options" Always "nosniff"
        "`nosniff`: the content is of the type that is told.";
    ContentSecurityPolicy "Content-Security-Policy" Always "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        "What the response may load when it is opened as a page: nothing, or its own parts.";
    ReferrerPolicy "Referrer-Policy" Always "no-referrer"
        "`no-referrer`: the address is not passed on to where a link leads.";
    VersionTag "ETag" Always "W/\"1980b7a5f6c\""
        "Names the version of the post or product, for `If-Match`.";
    RetryWhenRunning "Retry-After" Sometimes 1
        "Present when the same request is under way: seconds after which to try again.";
    Replayed "Idempotency-Replayed" Sometimes "true"
        "`true` when this is the answer to an earlier request under the same `Idempotency-Key`.";
    Vary "Vary" Sometimes "Accept-Encoding"
        "The headers of the request on which the response depends, if any: `Accept-Encoding` when the body may be \
         compressed; `Origin` and others where pages of other sites may call.";
    ContentEncoding "Content-Encoding" Sometimes "zstd"
        "Present when the body is compressed.";
    ImageTag "ETag" Always "\"0f1e2d3c4b5a69788796a5b4c3d2e1f0.png\""
        "Names the image, for `If-None-Match` and `If-Range`.";
    RateLimitLimit "RateLimit-Limit" Sometimes 60
        "Present where requests are limited: how many are served in a minute.";
    RateLimitRemaining "RateLimit-Remaining" Sometimes 59
        "Present where requests are limited: how many more are served now.";
    RateLimitReset "RateLimit-Reset" Sometimes 60
        "Present where requests are limited: seconds until all of them are served again.";
}

impl ResponseHeader {
    /// What every response has, or may have.
    const EVERYWHERE: [Self; 9] = [
        Self::RequestId,
        Self::ContentTypeOptions,
        Self::ReferrerPolicy,
        Self::ContentSecurityPolicy,
        Self::CacheControl,
        Self::Vary,
        Self::RateLimitLimit,
        Self::RateLimitRemaining,
        Self::RateLimitReset,
    ];

    fn describe(self) -> Header {
        let Declaration { description, example, presence, .. } = self.declaration();
        let schema = ObjectBuilder::new().schema_type(Type::String);
        let schema = match self {
            _ if example.is_number() => ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)),
            Self::Location => schema.format(format("uri-reference")),
            _ => schema,
        };
        let header = HeaderBuilder::new().schema(Some(schema)).description(Some(description)).example(Some(example));
        let mut header = header.build();
        if presence == Presence::Always {
            // A field of the standard that `Header` lacks; it writes what extends it as it is.
            header.extensions = Some(Extensions::from_iter([("required", true)]));
        }
        header
    }

    /// Adds what every response has, or may have.
    pub(crate) fn add_everywhere(response: &mut Response) {
        Self::EVERYWHERE.into_iter().for_each(|header| header.add_to(response));
    }

    /// Adds it to a response.
    pub(crate) fn add_to(self, response: &mut Response) {
        let Declaration { name, component, .. } = self.declaration();
        let reference = RefOr::Ref(Ref::new(format!("#/components/headers/{component}")));
        response.headers.insert(name.to_owned(), reference);
    }
}

/// Returns all headers, under the names by which responses refer to them.
pub(crate) fn components() -> impl Iterator<Item = (String, RefOr<Header>)> {
    ResponseHeader::ALL.iter().map(|header| (header.declaration().component.to_owned(), RefOr::T(header.describe())))
}
