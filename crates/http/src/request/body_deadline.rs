//! The deadlines of receiving a request body, and of the work on the request.
//!
//! The whole body must arrive within its time, which bytes that keep arriving do not extend. The time for the work begins
//! afterwards.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_web::dev::{Payload, ServiceRequest};
use actix_web::error::PayloadError;
use actix_web::http::header;
use actix_web::{HttpMessage, HttpRequest};
use agora_domain::limits::ClientAddress;
use bytes::{Bytes, BytesMut};
use futures_util::task::noop_waker_ref;
use futures_util::{Stream, StreamExt, stream};
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};

use crate::core::{ApiError, JSON_LIMIT, MemoryBudget, MemoryPermit};
use crate::transport::Connection;

/// The stage of receiving a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// No one has begun to read it.
    Unread,
    /// It has been read since this instant.
    Reading(Instant),
    /// Reading finished at this instant, or was given up.
    Over(Instant),
}

/// The deadline, the size and the memory of a request body. It is kept in the request's extensions.
#[derive(Debug)]
pub(crate) struct BodyDeadline {
    stage: Cell<Stage>,
    time: Duration,
    /// The `Content-Length`, if there is one.
    length: Option<usize>,
    /// The memory reserved for the body, until the request was answered.
    memory: RefCell<Option<MemoryPermit>>,
}

impl BodyDeadline {
    fn new(time: Duration, length: Option<usize>) -> Self {
        Self { stage: Cell::new(Stage::Unread), time, length, memory: RefCell::new(None) }
    }

    /// Returns the deadline of the body of a request, or `None` if it has no body.
    pub(crate) fn of(request: &HttpRequest) -> Option<Rc<Self>> {
        request.extensions().get::<Rc<Self>>().cloned()
    }

    /// Returns how many bytes to expect of the body, of which at most `most` are kept.
    pub(crate) fn expected(&self, most: usize) -> usize {
        self.length.unwrap_or(most).min(most)
    }

    /// Waits until the budget has memory for this body, of which at most `most` bytes are kept, in this number of copies. Does
    /// nothing for a small body, or if memory was reserved before.
    ///
    /// # Errors
    /// When too many bodies wait already, or the memory is not available in time.
    pub(crate) async fn reserve_memory(
        &self,
        budget: &MemoryBudget,
        client: ClientAddress,
        most: usize,
        copies: usize,
    ) -> Result<(), ApiError> {
        let bytes = self.expected(most);
        if bytes > JSON_LIMIT && self.memory.borrow().is_none() {
            let memory = budget.acquire(client, bytes.saturating_mul(copies)).await?;
            self.memory.replace(Some(memory));
        }
        Ok(())
    }

    fn begin(&self) -> Instant {
        if let Stage::Reading(since) = self.stage.get() {
            return since;
        }
        let now = Instant::now();
        self.stage.set(Stage::Reading(now));
        now
    }

    fn end(&self) {
        if let Stage::Reading(_) = self.stage.get() {
            self.stage.set(Stage::Over(Instant::now()));
        }
    }

    /// Returns the deadline of work that began at `begun` and may take `time`. It moves as the body is received.
    fn deadline(&self, begun: Instant, time: Duration) -> Instant {
        match self.stage.get() {
            Stage::Unread => begun + time,
            Stage::Reading(since) => since + self.time + time,
            Stage::Over(at) => at + time,
        }
    }
}

/// Runs the work on a request with a time limit. Returns `None` if it took longer. The time in which the body is received does
/// not count.
pub(crate) async fn with_deadline<T>(
    work: impl Future<Output = T>,
    time: Duration,
    body: Option<Rc<BodyDeadline>>,
) -> Option<T> {
    let begun = Instant::now();
    let deadline = || body.as_ref().map_or(begun + time, |body| body.deadline(begun, time));
    let mut work = std::pin::pin!(work);
    let mut until = deadline();
    loop {
        if let Ok(done) = timeout_at(until, &mut work).await {
            return Some(done);
        }
        let later = deadline();
        if later <= Instant::now() {
            return None;
        }
        until = later;
    }
}

/// Bounds the time in which the body of a request must arrive, once it is being read.
pub(crate) fn install(request: &mut ServiceRequest, time: Duration) {
    let payload = request.take_payload();
    if matches!(payload, Payload::None) {
        return;
    }
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let body = Rc::new(BodyDeadline::new(time, length));
    let connection = request.conn_data::<Rc<Connection>>().cloned();
    request.extensions_mut().insert(Rc::clone(&body));
    let timed = TimedBody { payload, body, connection, timer: None, has_ended: false };
    request.set_payload(Payload::Stream { payload: Box::pin(timed) });
}

/// Waits until the body of a request was received, or more of it than a small body has. It can be read afterwards as if nothing
/// had been read; a failure is returned to that reader.
pub(crate) async fn await_body(request: &mut ServiceRequest) {
    let mut payload = request.take_payload();
    if matches!(payload, Payload::None) {
        return;
    }
    let (mut bytes, mut failure) = (BytesMut::new(), None);
    while bytes.len() <= JSON_LIMIT && failure.is_none() {
        match payload.next().await {
            Some(Ok(piece)) => bytes.extend_from_slice(&piece),
            Some(Err(error)) => failure = Some(Err(error)),
            None => break,
        }
    }
    let arrived = stream::iter([Some(Ok(bytes.freeze())), failure].into_iter().flatten());
    request.set_payload(Payload::Stream { payload: Box::pin(arrived.chain(payload)) });
}

/// Returns whether a body could not be read because the client took too long, which is answered 408.
pub(crate) fn is_too_slow(error: &PayloadError) -> bool {
    matches!(error, PayloadError::Io(error) if error.kind() == io::ErrorKind::TimedOut)
}

/// A payload that fails when the client takes too long.
struct TimedBody {
    payload: Payload,
    body: Rc<BodyDeadline>,
    connection: Option<Rc<Connection>>,
    /// Fires at the deadline. It is created only if the body was not available at once.
    timer: Option<Pin<Box<Sleep>>>,
    has_ended: bool,
}

impl Stream for TimedBody {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let begun = this.body.begin();
        let is_overdue = this.timer.as_mut().is_some_and(|timer| timer.as_mut().poll(cx).is_ready());
        if !is_overdue {
            if let Poll::Ready(next) = Pin::new(&mut this.payload).poll_next(cx) {
                if !matches!(next, Some(Ok(_))) {
                    this.has_ended = true;
                    this.body.end();
                }
                return Poll::Ready(next);
            }
            let timer = this.timer.get_or_insert_with(|| Box::pin(sleep_until(begun + this.body.time)));
            ready!(timer.as_mut().poll(cx));
        }
        Poll::Ready(Some(Err(PayloadError::Io(io::ErrorKind::TimedOut.into()))))
    }
}

impl Drop for TimedBody {
    fn drop(&mut self) {
        self.body.end();
        // The reader of a form stops at its last boundary. What arrived after it is discarded, so that the body counts as read.
        let mut cx = Context::from_waker(noop_waker_ref());
        while !self.has_ended {
            match Pin::new(&mut self.payload).poll_next(&mut cx) {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(_) => self.has_ended = true,
                Poll::Pending => return,
            }
        }
        if let Some(connection) = &self.connection {
            connection.mark_body_read();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;
    use actix_http::BoxedPayloadStream;
    use actix_web::test::TestRequest;

    const TIME: Duration = Duration::from_secs(30);

    const MEBIBYTE: usize = 1 << 20;

    fn body() -> Rc<BodyDeadline> {
        Rc::new(BodyDeadline::new(TIME, None))
    }

    fn timed(body: &Rc<BodyDeadline>, payload: impl Stream<Item = Result<Bytes, PayloadError>> + 'static) -> TimedBody {
        let payload: BoxedPayloadStream = Box::pin(payload);
        let payload = Payload::Stream { payload };
        TimedBody { payload, body: Rc::clone(body), connection: None, timer: None, has_ended: false }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slowly_arriving_body_fails_at_its_deadline() {
        let drip = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((Ok(Bytes::from_static(b"x")), ()))
        });
        let begun = Instant::now();
        let mut timed = timed(&body(), drip);
        let mut bytes = 0;
        let error = loop {
            match timed.next().await.unwrap() {
                Ok(_) => bytes += 1,
                Err(error) => break error,
            }
        };
        assert!(is_too_slow(&error), "{error}");
        assert!(begun.elapsed() >= TIME && begun.elapsed() < TIME + Duration::from_secs(1), "{:?}", begun.elapsed());
        assert!((28..=30).contains(&bytes), "{bytes}");
    }

    #[tokio::test]
    async fn an_awaited_body_is_read_unchanged() {
        let whole = async |pieces: usize, fails: bool| {
            let pieces = (0..pieces).map(|_| Ok(Bytes::from_static(&[b'x'; 1000])));
            let failure = fails.then_some(Err(PayloadError::Incomplete(None)));
            let payload: BoxedPayloadStream = Box::pin(stream::iter(pieces.chain(failure)));
            let mut request = TestRequest::default().to_srv_request();
            request.set_payload(Payload::Stream { payload });
            await_body(&mut request).await;
            let (mut payload, mut bytes) = (request.take_payload(), 0_usize);
            loop {
                match payload.next().await {
                    Some(Ok(piece)) => bytes += piece.len(),
                    end => return (bytes, end.is_some()),
                }
            }
        };
        for pieces in [0, 1, 65, 66, 200] {
            for fails in [false, true] {
                assert_eq!(whole(pieces, fails).await, (pieces * 1000, fails));
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_the_work_begins_at_the_end_of_the_body() {
        let (begun, body) = (Instant::now(), body());
        let work = async {
            body.begin();
            tokio::time::sleep(TIME * 9 / 10).await;
            body.end();
            pending::<()>().await
        };
        assert!(with_deadline(work, TIME, Some(Rc::clone(&body))).await.is_none());
        assert_eq!(begun.elapsed().as_secs(), (TIME * 19 / 10).as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_work_without_a_body_begins_at_once() {
        let begun = Instant::now();
        assert!(with_deadline(pending::<()>(), TIME, None).await.is_none());
        assert!(with_deadline(pending::<()>(), TIME, Some(body())).await.is_none());
        assert_eq!(begun.elapsed().as_secs(), 2 * TIME.as_secs());
        assert_eq!(with_deadline(async { 1 }, TIME, None).await, Some(1));
    }

    #[tokio::test]
    async fn memory_is_reserved_for_each_copy_of_the_announced_length() {
        let budget = MemoryBudget::new(32 * MEBIBYTE, "tests");
        for (announced, most, copies, held) in [
            (Some(MEBIBYTE), 5 * MEBIBYTE, 1, MEBIBYTE),
            (Some(MEBIBYTE), 5 * MEBIBYTE, 2, 2 * MEBIBYTE),
            (Some(9 * MEBIBYTE), 5 * MEBIBYTE, 2, 10 * MEBIBYTE),
            (None, 5 * MEBIBYTE, 2, 10 * MEBIBYTE),
            (Some(JSON_LIMIT), 5 * MEBIBYTE, 2, 0),
            (None, JSON_LIMIT, 2, 0),
        ] {
            let body = BodyDeadline::new(TIME, announced);
            body.reserve_memory(&budget, ClientAddress::of([198, 51, 100, 7].into()), most, copies).await.unwrap();
            assert_eq!(budget.held(), held, "{announced:?} {most} {copies}");
        }
        assert_eq!(budget.held(), 0);
    }
}
