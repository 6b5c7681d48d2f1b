//! The headers of responses, each described once.

use serde_json::{Value, json};
use utoipa::openapi::{
    ObjectBuilder, Ref, RefOr, Response, Type,
    extensions::Extensions,
    header::{Header, HeaderBuilder},
};

use crate::core::schema::format;

/// Declares the headers: the name in responses, then whether a response that may have it always does, what it says and an
/// example. A header goes into the document under the name of its variant.
macro_rules! headers {
    ($($variant:ident $name:literal $presence:ident $description:literal $example:tt;)+) => {
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
    RequestId "x-request-id" Always
        "Names the request in the log of the service."
        "0198a9d06d5c7c3bb1a39cfa2b8a61d4";
    Link "Link" Sometimes
        "The addresses of the pages beside this one, to be followed as they are (RFC 8288): that before with \
         `rel=\"prev\"`, that after with `rel=\"next\"`. Absent when there are none."
        "<https://agora.example.org/api/posts/following/all?size=20&cursor=AgAAAZgKkGbc>; rel=\"next\"";
    Challenge "WWW-Authenticate" Always
        "`Bearer`, with `error=\"invalid_token\"` when a token was sent."
        "Bearer error=\"invalid_token\"";
    Allow "Allow" Always
        "The methods that the path has, separated by commas."
        "GET, HEAD, PUT";
    RetryAfter "Retry-After" Always
        "Seconds after which to try again."
        1;
    ContentRange "Content-Range" Always
        "Which bytes of how many these are; or how many there are."
        "bytes 0-1023/146515";
    AcceptRanges "Accept-Ranges" Always
        "`bytes`: parts of the image can be asked for."
        "bytes";
    CacheControl "Cache-Control" Always
        "How long the response may be kept: what depends on the caller is not (`no-store`)."
        "no-store";
    ETag "ETag" Always
        "Names what is shown, for `If-None-Match`, and its version, for `If-Match`."
        "W/\"1980b7a5f6c-8f3a1c5b7d9e0246\"";
    Location "Location" Always
        "Where to go."
        "https://cdn.example.org/agora/0f/0f1e2d3c4b5a69788796a5b4c3d2e1f0.png";
    ContentTypeOptions "X-Content-Type-Options" Always
        "`nosniff`: the content is of the type that is told."
        "nosniff";
    ContentSecurityPolicy "Content-Security-Policy" Always
        "What the response may load when it is opened as a page: nothing, or its own parts."
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    ReferrerPolicy "Referrer-Policy" Always
        "`no-referrer`: the address is not passed on to where a link leads."
        "no-referrer";
    VersionTag "ETag" Always
        "Names the version of the post or product, for `If-Match`."
        "W/\"1980b7a5f6c\"";
    RetryWhenRunning "Retry-After" Sometimes
        "Present when the same request is under way: seconds after which to try again."
        1;
    Replayed "Idempotency-Replayed" Sometimes
        "`true` when this is the answer to an earlier request under the same `Idempotency-Key`."
        "true";
    Vary "Vary" Sometimes
        "The headers of the request on which the response depends, if any: `Accept-Encoding` when the body may be \
                           compressed; `Origin` and others where pages of other sites may call."
        "Accept-Encoding";
    ContentEncoding "Content-Encoding" Sometimes
        "Present when the body is compressed."
        "zstd";
    ImageTag "ETag" Always
        "Names the image, for `If-None-Match` and `If-Range`."
        "\"0f1e2d3c4b5a69788796a5b4c3d2e1f0.png\"";
    RateLimitLimit "RateLimit-Limit" Sometimes
        "Present where requests are limited: how many are served in a minute."
        60;
    RateLimitRemaining "RateLimit-Remaining" Sometimes
        "Present where requests are limited: how many more are served now."
        59;
    RateLimitReset "RateLimit-Reset" Sometimes
        "Present where requests are limited: seconds until all of them are served again."
        60;
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
