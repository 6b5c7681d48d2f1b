//! Cross-origin resource sharing: which other sites' pages may call the service from a browser.

use std::collections::BTreeSet;
use std::str::FromStr;

use actix_cors::{Cors, CorsError};
use actix_web::ResponseError;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, IF_MATCH, IF_NONE_MATCH, IF_RANGE, RANGE,
};
use actix_web::middleware::Next;
use url::Url;

use crate::core::ApiError;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The sites whose pages may call the service from a browser.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CorsOrigins {
    /// No site: pages of other sites cannot read responses.
    #[default]
    None,
    /// Every site. That is safe since callers are identified by tokens alone, which browsers do not send by themselves.
    Any,
    /// These origins.
    These(BTreeSet<String>),
}

impl FromStr for CorsOrigins {
    type Err = String;

    /// Parses `*`, or origins such as `https://app.example.org`, separated by commas.
    fn from_str(list: &str) -> Result<Self, String> {
        let origin = |text: &str| {
            let given = text.trim_end_matches('/').to_ascii_lowercase();
            let is_origin = Url::parse(&given).is_ok_and(|url| url.origin().ascii_serialization() == given);
            // A wildcard within an origin, common elsewhere, would match nothing here.
            if is_origin && !given.contains('*') {
                Ok(given)
            } else {
                Err(format!("{text:?} is no origin such as https://app.example.org"))
            }
        };
        let entries: Vec<_> = list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
        match entries.as_slice() {
            [] => Ok(Self::None),
            ["*"] => Ok(Self::Any),
            entries => entries.iter().copied().map(origin).collect::<Result<_, _>>().map(Self::These),
        }
    }
}

impl CorsOrigins {
    /// Returns the middleware that allows requests from pages of these sites. Credentials are not allowed: there are no cookies.
    pub(crate) fn middleware(&self) -> Cors {
        let methods = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE];
        let taken = [
            ACCEPT,
            AUTHORIZATION,
            CONTENT_TYPE,
            IF_MATCH,
            IF_NONE_MATCH,
            IF_RANGE,
            RANGE,
            IDEMPOTENCY_KEY,
            LAST_EVENT_ID,
            TRACEPARENT,
            TRACESTATE,
        ];
        let shown =
            "Accept-Ranges Allow Content-Range ETag Idempotency-Replayed Link RateLimit-Limit RateLimit-Remaining \
                     RateLimit-Reset Retry-After WWW-Authenticate X-Request-Id"
                .split(' ');
        // A request from an origin that is not allowed is answered without CORS headers, so the browser keeps the response from
        // the page. Blocking it here would add nothing, since other clients may send any `Origin`.
        let cors = Cors::default().block_on_origin_mismatch(false).allowed_methods(methods).allowed_headers(taken);
        let cors = cors.expose_headers(shown).max_age(3600);
        match self {
            Self::None => cors,
            Self::Any => cors.allow_any_origin().send_wildcard(),
            Self::These(origins) => origins.iter().fold(cors, |cors, origin| cors.allowed_origin(origin)),
        }
    }
}

/// Renders the refusal of a preflight like every other error.
pub(crate) async fn render_refusal(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let response = next.call(request).await?;
    let refusal = response.response().error().and_then(|error| error.as_error::<CorsError>()).map(ToString::to_string);
    Ok(match refusal {
        Some(reason) => response.into_response(ApiError::Malformed(reason).error_response()),
        None => response.map_into_boxed_body(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_scheme_a_host_and_an_optional_port() {
        let these = |origins: &[&str]| CorsOrigins::These(origins.iter().map(|&origin| origin.to_owned()).collect());
        for (list, expected) in [
            ("", CorsOrigins::None),
            (" * ", CorsOrigins::Any),
            ("https://App.example.org/", these(&["https://app.example.org"])),
            ("http://localhost:3000, https://[::1]", these(&["http://localhost:3000", "https://[::1]"])),
        ] {
            assert_eq!(list.parse(), Ok(expected), "{list}");
        }
        for bad in [
            "app.example.org",
            "https://app.example.org/path",
            "https://*.example.org",
            "https://user@app.example.org",
            "https://app.example.org:443",
            "null",
            "*, https://app.example.org",
            "file:///etc",
        ] {
            assert!(bad.parse::<CorsOrigins>().is_err(), "{bad}");
        }
    }
}
