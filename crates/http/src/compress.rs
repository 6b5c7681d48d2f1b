//! Compressed answers, for clients that take them.

use actix_http::encoding::Encoder;
use actix_web::{
    body::{BodySize, BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::header::{
        self, AcceptEncoding, ContentEncoding, Encoding, Header, HeaderMap, HeaderValue, Preference, Quality,
    },
};

/// What is not beyond so many bytes is sent as it is: it fits into one packet or so, compressed or not.
const SMALL: u64 = 1024;

/// The encodings, the preferred ones first: zstd takes the least time for what it saves.
const ENCODINGS: [ContentEncoding; 3] = [ContentEncoding::Zstd, ContentEncoding::Brotli, ContentEncoding::Gzip];

/// Compresses JSON beyond a size, in the encoding that the client likes best. Images are compressed already.
pub(crate) async fn compress<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: impl AsyncFnOnce(ServiceRequest) -> Result<ServiceResponse<B>, actix_web::Error>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let encoding = preferred(&request);
    let mut response = next(request).await?;
    let is_large = matches!(response.response().body().size(), BodySize::Sized(size) if size > SMALL);
    if !is_large || !is_json(response.headers()) {
        return Ok(response.map_into_boxed_body());
    }
    let Some(encoding) = encoding else {
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        return Ok(response.map_into_boxed_body());
    };
    // The encoder says so itself.
    response.headers_mut().remove(header::VARY);
    Ok(response.map_body(|head, body| Encoder::response(encoding, head, body)).map_into_boxed_body())
}

fn is_json(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|value| value.as_bytes() == b"application/json")
}

/// The encoding to which the client gives the most weight; of several, the one preferred here.
pub(crate) fn preferred(request: &ServiceRequest) -> Option<ContentEncoding> {
    request.headers().get(header::ACCEPT_ENCODING)?;
    let AcceptEncoding(accepted) = AcceptEncoding::parse(request).ok()?;
    let named = |encoding: ContentEncoding| {
        accepted.iter().find(|item| item.item == Preference::Specific(Encoding::Known(encoding)))
    };
    let weight = |encoding: ContentEncoding| {
        let any = || accepted.iter().find(|item| item.item == Preference::Any);
        named(encoding).or_else(any).map_or(Quality::ZERO, |item| item.quality)
    };
    let weighed = ENCODINGS.into_iter().rev().map(|encoding| (weight(encoding), encoding));
    // Of those of the greatest weight, the last.
    let (weight, encoding) = weighed.max_by_key(|(weight, _)| *weight)?;
    let as_it_is = named(ContentEncoding::Identity).map_or(Quality::ZERO, |item| item.quality);
    (weight > Quality::ZERO && weight >= as_it_is).then_some(encoding)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn the_client_weighs_and_of_equals_the_cheapest_is_taken() {
        let preferred = |accepted: &str| {
            preferred(&TestRequest::default().insert_header((header::ACCEPT_ENCODING, accepted)).to_srv_request())
        };
        use ContentEncoding::{Brotli, Gzip, Zstd};
        for (accepted, expected) in [
            ("gzip, deflate, br, zstd", Some(Zstd)),
            ("gzip, deflate, br", Some(Brotli)),
            ("gzip;q=0.9, br;q=0.5", Some(Gzip)),
            ("gzip", Some(Gzip)),
            ("*", Some(Zstd)),
            ("*, zstd;q=0", Some(Brotli)),
            ("gzip;q=0", None),
            ("identity", None),
            ("identity, gzip;q=0.5", None),
            ("identity;q=0.5, gzip", Some(Gzip)),
            ("deflate", None),
            ("", None),
            ("nonsense;;q", None),
        ] {
            assert_eq!(preferred(accepted), expected, "{accepted}");
        }
        assert_eq!(super::preferred(&TestRequest::default().to_srv_request()), None);
    }
}
