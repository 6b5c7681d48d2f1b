//! Compressed answers, for clients that take them.

use std::cell::RefCell;
use std::io;
use std::io::Write as _;
use std::sync::Arc;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{AcceptEncoding, ContentEncoding, Encoding, Header, HeaderValue, Preference, Quality};
use actix_web::http::{Method, header};
use actix_web::web::{Bytes, Data};
use actix_web::{HttpMessage, HttpResponse, HttpResponseBuilder, body};
use agora_domain::Error;
use flate2::{Compression, write::GzEncoder};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use zstd::bulk::Compressor;

use crate::core::{ApiError, MemoryPermit};

/// The most bytes of an answer that is sent as it is: it fits into one packet or so, compressed or not.
const MAX_UNCOMPRESSED: u64 = 1024;

/// The most bytes of an answer that is compressed on the thread that made it: that takes less time than to hand it over.
const MAX_INLINE: usize = 16 * 1024;

/// The encodings, the preferred one first: zstd takes the least time for what it saves.
const ENCODINGS: [ContentEncoding; 2] = [ContentEncoding::Zstd, ContentEncoding::Gzip];

/// The compression level of zstd: the quickest of the ordinary ones.
const ZSTD_LEVEL: i32 = 1;

/// Limits how many answers are compressed at once outside the threads that serve requests: to half their number, so that
/// compressing does not take the processor from small requests.
pub(crate) struct CompressionLimit(Arc<Semaphore>);

impl CompressionLimit {
    /// Creates the limit for so many threads.
    pub(crate) fn new(workers: usize) -> Self {
        Self(Arc::new(Semaphore::new((workers / 2).clamp(1, Semaphore::MAX_PERMITS))))
    }

    async fn compress(&self, encoding: ContentEncoding, plain: Bytes) -> io::Result<Bytes> {
        if plain.len() <= MAX_INLINE {
            return encoded(encoding, &plain);
        }
        // It is never closed. The work holds the permit, not the request, which may be given up.
        let permit = Arc::clone(&self.0).acquire_owned().await.map_err(io::Error::other)?;
        spawn_blocking(move || {
            let encoded = encoded(encoding, &plain);
            drop(permit);
            encoded
        })
        .await?
    }
}

thread_local! {
    /// The compressor of the thread, kept between answers: a new one begins by clearing a megabyte or so.
    static ZSTD: RefCell<Compressor<'static>> = RefCell::default();
}

/// Returns the bytes in this encoding.
fn encoded(encoding: ContentEncoding, plain: &[u8]) -> io::Result<Bytes> {
    let encoded = if encoding == ContentEncoding::Zstd {
        ZSTD.with_borrow_mut(|compressor| {
            compressor.set_compression_level(ZSTD_LEVEL)?;
            compressor.compress(plain)
        })?
    } else {
        let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 8), Compression::fast());
        encoder.write_all(plain)?;
        encoder.finish()?
    };
    Ok(encoded.into())
}

/// A constant body, kept in every encoding in which it is smaller.
pub(crate) struct Precompressed {
    plain: Bytes,
    encoded: Vec<(ContentEncoding, Bytes)>,
}

impl Precompressed {
    /// Compresses a body.
    pub(crate) fn new(plain: Bytes) -> io::Result<Self> {
        let mut smaller = Vec::new();
        for encoding in ENCODINGS {
            let encoded = encoded(encoding, &plain)?;
            if plain.len() as u64 > MAX_UNCOMPRESSED && encoded.len() < plain.len() {
                smaller.push((encoding, encoded));
            }
        }
        Ok(Self { plain, encoded: smaller })
    }

    /// Answers with the encoding that the client prefers.
    pub(crate) fn answer(&self, mut response: HttpResponseBuilder, request: &impl HttpMessage) -> HttpResponse {
        response.insert_header((header::VARY, "Accept-Encoding"));
        let preferred = preferred(request);
        match self.encoded.iter().find(|(encoding, _)| Some(*encoding) == preferred) {
            Some((encoding, bytes)) => {
                response.insert_header((header::CONTENT_ENCODING, encoding.as_str())).body(bytes.clone())
            }
            None => response.body(self.plain.clone()),
        }
    }
}

/// Compresses large JSON answers in the encoding that the client prefers. Images are compressed already.
pub(crate) async fn compress<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: impl AsyncFnOnce(ServiceRequest) -> Result<ServiceResponse<B>, actix_web::Error>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let encoding = preferred(&request);
    let mut response = next(request).await?.map_into_boxed_body();
    let is_large = matches!(response.response().body().size(), BodySize::Sized(size) if size > MAX_UNCOMPRESSED);
    let is_json = response.headers().get(header::CONTENT_TYPE).is_some_and(|it| it.as_bytes() == b"application/json");
    if !is_large || !is_json {
        return Ok(response);
    }
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    let is_encoded = response.headers().contains_key(header::CONTENT_ENCODING);
    let limit = response.request().app_data::<Data<CompressionLimit>>().cloned().filter(|_| !is_encoded);
    let (Some(encoding), Some(limit)) = (encoding, limit) else { return Ok(response) };
    let (request, response) = response.into_parts();
    let (mut response, body) = response.into_parts();
    let compressed = match body.try_into_bytes() {
        // The same headers but for the length, which is known when it was compressed.
        Ok(_) if request.method() == Method::HEAD => BoxBody::new(body::None::new()),
        Ok(plain) => {
            let compressed = limit.compress(encoding, plain).await;
            let compressed = compressed.map_err(|error| ApiError::from(Error::internal(error)))?;
            if let Some(memory) = response.extensions_mut().get_mut::<MemoryPermit>() {
                memory.shrink_to(compressed.len());
            }
            BoxBody::new(compressed)
        }
        Err(streamed) => return Ok(ServiceResponse::new(request, response.set_body(streamed))),
    };
    let mut response: HttpResponse = response.set_body(compressed);
    response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding.as_str()));
    Ok(ServiceResponse::new(request, response))
}

/// Returns the encoding to which the client gives the most weight; of several, the first of [`ENCODINGS`].
pub(crate) fn preferred(request: &impl HttpMessage) -> Option<ContentEncoding> {
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
        use ContentEncoding::{Gzip, Zstd};
        for (accepted, expected) in [
            ("gzip, deflate, br, zstd", Some(Zstd)),
            ("gzip, deflate, br", Some(Gzip)),
            ("gzip;q=0.9, br;q=0.5", Some(Gzip)),
            ("gzip", Some(Gzip)),
            ("*", Some(Zstd)),
            ("*, zstd;q=0", Some(Gzip)),
            ("br", None),
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
