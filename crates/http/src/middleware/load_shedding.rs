//! Load shedding: the limits on how much the service handles at once, and on how long a client may take for its part.
//!
//! | limit | beyond it |
//! |---|---|
//! | connections (`transport::accept`), and half as many from one address | 503, and the connection is closed |
//! | requests in flight ([`shed_load`]) except health probes, and half as many from one address | 503 |
//! | reads, writes and uploads of one account in progress (`account_concurrency`) | a bounded queue of its own, then 503 |
//! | bytes of uploads and of responses in memory (`core::memory_budget`) | a bounded wait, then 503 |
//! | the time and the size of a head (`transport::stream`) | 408 or 431, and the connection is closed |
//! | the time of a body (`request::body_deadline`) | 408, and the connection is closed |
//! | the time to read a response (`transport::stream`) | the connection is closed |
//!
//! `authorize` limits the time of the work itself.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{ConnectionType, StatusCode, Version};
use actix_web::{HttpMessage, HttpRequest, ResponseError};
use agora_domain::limits::ClientAddress;
use bytes::Bytes;

use crate::core::{ApiError, Capacity, EventStream, MemoryPermit, Permit, is_health_probe, shared};
use crate::middleware::AccountPermit;
use crate::request::body_deadline;
use crate::transport::{Connection, ResponseGuard, framing};

/// Answers 503 if too many requests are in flight, health probes excepted, and sets the deadline of the request body.
pub(crate) async fn shed_load(
    mut request: ServiceRequest,
    client: impl FnOnce(&HttpRequest) -> Result<ClientAddress, ApiError>,
    next: impl AsyncFnOnce(ServiceRequest) -> Result<ServiceResponse<BoxBody>, actix_web::Error>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let capacity = shared::<Capacity>(request.request())?.clone();
    // Operators must be able to check the service when it is busy; the limit on connections bounds the number of probes.
    let permit = match is_health_probe(request.path()) {
        true => None,
        false => Some(capacity.requests.try_acquire(client(request.request())?)),
    };
    let is_full = matches!(permit, Some(None));
    if let Some(permit) = permit.flatten() {
        // Kept in the request's extensions: the request is in flight while it is worked on, even after its client disconnected.
        request.extensions_mut().insert(permit);
    }
    body_deadline::install(&mut request, capacity.limits.body_time);
    let mut response = if is_full {
        request.into_response(ApiError::Busy.error_response())
    } else if framing::is_body_without_end(&request) {
        let error = "A request with Upgrade: websocket must be a GET without a body".to_owned();
        request.into_response(ApiError::Malformed(error).error_response())
    } else {
        next(request).await?
    };
    // The response is rendered and compressed.
    drop(response.response_mut().extensions_mut().remove::<AccountPermit>());
    // An event stream releases its permit: it lasts until the client disconnects, and has a limit of its own.
    let permit = response.request().extensions_mut().remove::<Permit>();
    if let Some(permit) = permit.filter(|_| !is_stream(&response)) {
        response.response_mut().extensions_mut().insert(permit);
    }
    Ok(response)
}

/// Returns whether a response is an event stream.
fn is_stream(response: &ServiceResponse<impl MessageBody>) -> bool {
    response.response().extensions().contains::<EventStream>()
}

/// Sets `Connection: close` on a response after which no further request can be read from the connection, and on one whose end
/// is that of the connection: HTTP/1.0 has no chunks.
pub(crate) fn close_if_unusable(response: &mut ServiceResponse<impl MessageBody>) {
    let request = response.request();
    // The service supports no other protocol. actix-http would echo the upgrade, and close.
    let wants_upgrade = request.head().connection_type() == ConnectionType::Upgrade;
    let is_broken = || request.conn_data::<Rc<Connection>>().is_some_and(|connection| connection.is_broken());
    let is_unchunked = request.version() < Version::HTTP_11 && response.response().body().size() == BodySize::Stream;
    if is_unchunked || wants_upgrade || response.status() == StatusCode::REQUEST_TIMEOUT || is_broken() {
        let head = response.response_mut().head_mut();
        head.no_chunking(is_unchunked);
        head.set_connection_type(ConnectionType::Close);
    }
}

/// The most bytes of a response that actix-http gets at once. It copies these into its buffer; the rest is not copied, and stays
/// counted in the memory budget.
const MAX_SLICE: usize = 32 * 1024;

/// A response body, sent in slices. Until it is dropped, the request counts as in flight, and the client has no deadline for
/// its next request.
pub(crate) struct ResponseBody<B> {
    body: B,
    /// The rest of the last chunk of the body.
    rest: Bytes,
    _guard: Option<ResponseGuard>,
    _permit: Option<Permit>,
    /// The memory reserved for the body, until the client has read it.
    _memory: Option<MemoryPermit>,
}

impl<B> ResponseBody<B> {
    /// Moves the permit and the memory from the extensions of a response into its body.
    pub(crate) fn of(mut response: ServiceResponse<B>, guard: Option<ResponseGuard>) -> ServiceResponse<Self> {
        let (permit, memory) = {
            let mut extensions = response.response_mut().extensions_mut();
            (extensions.remove(), extensions.remove())
        };
        let rest = Bytes::new();
        response.map_body(|_, body| Self { body, rest, _guard: guard, _permit: permit, _memory: memory })
    }
}

impl<B: MessageBody + Unpin> MessageBody for ResponseBody<B> {
    type Error = B::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if self.rest.is_empty() {
            match Pin::new(&mut self.body).poll_next(cx) {
                Poll::Ready(Some(Ok(chunk))) if chunk.len() > MAX_SLICE => self.rest = chunk,
                other => return other,
            }
        }
        let slice = self.rest.len().min(MAX_SLICE);
        Poll::Ready(Some(Ok(self.rest.split_to(slice))))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use crate::core::LoadLimits;
    use crate::middleware::AccountConcurrency;
    use actix_web::body::BodyStream;
    use actix_web::test::TestRequest;
    use actix_web::{HttpResponse, web};
    use agora_domain::id::UserId;
    use futures_util::future::poll_fn;
    use futures_util::{FutureExt, stream};
    use tokio::task::unconstrained;

    use super::*;

    #[tokio::test]
    async fn the_permit_of_an_account_is_released_when_the_response_is_ready_to_be_sent() {
        let limits = AccountConcurrency::new(1, true);
        let account = UserId::new(uuid::Uuid::from_u128(1));
        let capacity = web::Data::new(Capacity::new(LoadLimits::default()));
        let request = || TestRequest::with_uri("/").app_data(capacity.clone()).to_srv_request();
        let acquire = async || limits.acquire(account, false, &mut request()).await.unwrap().unwrap();
        let compress = async |request: ServiceRequest| {
            let mut response = request.into_response(HttpResponse::Ok());
            let permit = acquire().await;
            response.response_mut().extensions_mut().insert(permit);
            assert!(unconstrained(acquire()).now_or_never().is_none());
            Ok(response)
        };
        let here = |_: &HttpRequest| Ok(ClientAddress::of(Ipv4Addr::LOCALHOST.into()));
        let _unsent = shed_load(request(), here, compress).await.unwrap();
        acquire().await;
    }

    #[tokio::test]
    async fn a_response_body_is_complete_and_split_into_slices() {
        let bytes: Vec<u8> = (0..3 * MAX_SLICE + 5).map(|n| n as u8).collect();
        let chunks =
            [&bytes[..10], &bytes[10..10 + MAX_SLICE], &[], &bytes[10 + MAX_SLICE..]].map(Bytes::copy_from_slice);
        let streamed = BodyStream::new(stream::iter(chunks.map(Ok::<_, std::io::Error>)));
        for body in [BoxBody::new(Bytes::from(bytes.clone())), BoxBody::new(streamed)] {
            let response = TestRequest::default().to_srv_response(HttpResponse::Ok().body(body));
            let mut answer = ResponseBody::of(response, None).into_parts().1.into_body();
            let mut whole = Vec::new();
            while let Some(slice) = poll_fn(|cx| Pin::new(&mut answer).poll_next(cx)).await {
                let slice = slice.unwrap();
                assert!(slice.len() <= MAX_SLICE);
                whole.extend_from_slice(&slice);
            }
            assert_eq!(whole, bytes);
        }
    }
}
