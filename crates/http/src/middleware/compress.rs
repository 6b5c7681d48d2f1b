//! Compression of responses, for clients that accept it.

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

/// The most bytes of a response that is never compressed: it fits into about one packet either way.
const MAX_UNCOMPRESSED: u64 = 1024;

/// The most bytes of a response that is compressed on its worker thread: that takes less time than handing it to another.
const MAX_INLINE: usize = 16 * 1024;

/// The supported encodings in the order of preference. zstd has the best ratio of saving to time.
const ENCODINGS: [ContentEncoding; 2] = [ContentEncoding::Zstd, ContentEncoding::Gzip];

/// The compression level of zstd: the fastest of the regular (positive) ones.
const ZSTD_LEVEL: i32 = 1;

/// Limits how many responses are compressed at once outside the worker threads: to half the number of workers, so that
/// compression leaves processor time for small requests.
pub(crate) struct CompressionLimit(Arc<Semaphore>);

impl CompressionLimit {
    /// Creates the limit for this number of worker threads.
    pub(crate) fn new(workers: usize) -> Self {
        Self(Arc::new(Semaphore::new((workers / 2).clamp(1, Semaphore::MAX_PERMITS))))
    }

    async fn compress(&self, encoding: ContentEncoding, plain: Bytes) -> io::Result<Bytes> {
        if plain.len() <= MAX_INLINE {
            return encode(encoding, &plain);
        }
        // The semaphore is never closed. The task holds the permit, since the request may be cancelled before it ends.
        let permit = Arc::clone(&self.0).acquire_owned().await.map_err(io::Error::other)?;
        spawn_blocking(move || {
            let encoded = encode(encoding, &plain);
            drop(permit);
            encoded
        })
        .await?
    }
}

thread_local! {
    /// The compressor of the thread, reused between responses: a new one first clears about a megabyte.
    static ZSTD: RefCell<Compressor<'static>> = RefCell::default();
}

/// Compresses `plain` in this encoding.
fn encode(encoding: ContentEncoding, plain: &[u8]) -> io::Result<Bytes> {
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

/// A constant body, stored in every encoding in which it is smaller.
pub(crate) struct Precompressed {
    plain: Bytes,
    encoded: Vec<(ContentEncoding, Bytes)>,
}

impl Precompressed {
    /// Compresses a body in every supported encoding.
    pub(crate) fn new(plain: Bytes) -> io::Result<Self> {
        let mut smaller = Vec::new();
        for encoding in ENCODINGS {
            let encoded = encode(encoding, &plain)?;
            if plain.len() as u64 > MAX_UNCOMPRESSED && encoded.len() < plain.len() {
                smaller.push((encoding, encoded));
            }
        }
        Ok(Self { plain, encoded: smaller })
    }

    /// Returns a response with the body in the encoding that the client prefers.
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

/// Compresses large JSON responses in the encoding that the client prefers. Images are compressed already.
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
        // The headers of a GET but without the length, which only compression would tell.
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

/// Returns the encoding to which the client gives the greatest weight; of several, the first in [`ENCODINGS`]. Returns `None`
/// if the client accepts none of them, or prefers an uncompressed response.
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
    // `max_by_key` returns the last of several maxima, hence `rev`.
    let (weight, encoding) = weighed.max_by_key(|(weight, _)| *weight)?;
    let identity = named(ContentEncoding::Identity).map_or(Quality::ZERO, |item| item.quality);
    (weight > Quality::ZERO && weight >= identity).then_some(encoding)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn the_encoding_of_greatest_weight_wins_and_zstd_wins_ties() {
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
