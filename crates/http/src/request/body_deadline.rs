//! Bodies on their way in: how long a client may take for one, and how long the work on it may take.
//!
//! The whole body must be there in its time, however it drips. The time for the work begins when it is.

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

/// How far a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nobody has begun to read it.
    Unread,
    /// It has been read since then.
    Reading(Instant),
    /// It ended then, or nobody reads it any more.
    Over(Instant),
}

/// What is known of the body of a request.
#[derive(Debug)]
pub(crate) struct BodyDeadline {
    stage: Cell<Stage>,
    time: Duration,
    /// How many bytes the client says it has.
    length: Option<usize>,
    /// The memory it has, until the request was answered.
    memory: RefCell<Option<MemoryPermit>>,
}

impl BodyDeadline {
    fn new(time: Duration, length: Option<usize>) -> Self {
        Self { stage: Cell::new(Stage::Unread), time, length, memory: RefCell::new(None) }
    }

    /// Returns what is known of the body of a request; `None` when it has none.
    pub(crate) fn of(request: &HttpRequest) -> Option<Rc<Self>> {
        request.extensions().get::<Rc<Self>>().cloned()
    }

    /// Returns how many bytes to expect of a body of which at most `most` are kept.
    pub(crate) fn expected(&self, most: usize) -> usize {
        self.length.unwrap_or(most).min(most)
    }

    /// Waits until the budget has memory for this body, of which at most `most` bytes are kept, in so many copies. One that
    /// is small needs none, and one that has some has enough.
    ///
    /// # Errors
    /// When too many wait, or there is none in time.
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

    /// Returns when work that began at `begun` and may take `time` must be done, as far as is known now.
    fn deadline(&self, begun: Instant, time: Duration) -> Instant {
        match self.stage.get() {
            Stage::Unread => begun + time,
            Stage::Reading(since) => since + self.time + time,
            Stage::Over(at) => at + time,
        }
    }
}

/// Does the work on a request within its time; `None` when it took longer. The time in which the body comes does not
/// count.
pub(crate) async fn in_time<T>(
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

/// Bounds the time in which the body of a request must be there once somebody reads it.
pub(crate) fn watch(request: &mut ServiceRequest, time: Duration) {
    let payload = request.take_payload();
    if matches!(payload, Payload::None) {
        return;
    }
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let body = Rc::new(BodyDeadline::new(time, length));
    let connection = request.conn_data::<Rc<Connection>>().cloned();
    request.extensions_mut().insert(Rc::clone(&body));
    let timed = TimedBody { payload, body, connection, overdue: None, has_ended: false };
    request.set_payload(Payload::Stream { payload: Box::pin(timed) });
}

/// Waits until the body of a request is there, or more of it than a small one has, and leaves it to be read as it came: how it
/// fails is told to whoever reads it.
pub(crate) async fn arrival(request: &mut ServiceRequest) {
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

/// Returns whether a body could not be read because its client took too long, which is answered 408.
pub(crate) fn is_too_slow(error: &PayloadError) -> bool {
    matches!(error, PayloadError::Io(error) if error.kind() == io::ErrorKind::TimedOut)
}

/// A body that fails when its client takes too long.
struct TimedBody {
    payload: Payload,
    body: Rc<BodyDeadline>,
    connection: Option<Rc<Connection>>,
    /// Fires when the time is over; there once the body was waited for.
    overdue: Option<Pin<Box<Sleep>>>,
    has_ended: bool,
}

impl Stream for TimedBody {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let begun = this.body.begin();
        let is_overdue = this.overdue.as_mut().is_some_and(|overdue| overdue.as_mut().poll(cx).is_ready());
        if !is_overdue {
            if let Poll::Ready(next) = Pin::new(&mut this.payload).poll_next(cx) {
                if !matches!(next, Some(Ok(_))) {
                    this.has_ended = true;
                    this.body.end();
                }
                return Poll::Ready(next);
            }
            let overdue = this.overdue.get_or_insert_with(|| Box::pin(sleep_until(begun + this.body.time)));
            ready!(overdue.as_mut().poll(cx));
        }
        Poll::Ready(Some(Err(PayloadError::Io(io::ErrorKind::TimedOut.into()))))
    }
}

impl Drop for TimedBody {
    fn drop(&mut self) {
        self.body.end();
        // Whoever reads a form stops at its last boundary.
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
        TimedBody { payload, body: Rc::clone(body), connection: None, overdue: None, has_ended: false }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_drips_is_overdue_when_its_time_is_over() {
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
    async fn a_body_that_was_waited_for_is_read_as_it_came() {
        let whole = async |pieces: usize, fails: bool| {
            let pieces = (0..pieces).map(|_| Ok(Bytes::from_static(&[b'x'; 1000])));
            let failure = fails.then_some(Err(PayloadError::Incomplete(None)));
            let payload: BoxedPayloadStream = Box::pin(stream::iter(pieces.chain(failure)));
            let mut request = TestRequest::default().to_srv_request();
            request.set_payload(Payload::Stream { payload });
            arrival(&mut request).await;
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
    async fn work_has_its_time_from_the_end_of_the_body_on() {
        let (begun, body) = (Instant::now(), body());
        let work = async {
            body.begin();
            tokio::time::sleep(TIME * 9 / 10).await;
            body.end();
            pending::<()>().await
        };
        assert!(in_time(work, TIME, Some(Rc::clone(&body))).await.is_none());
        assert_eq!(begun.elapsed().as_secs(), (TIME * 19 / 10).as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn work_without_a_body_has_its_time() {
        let begun = Instant::now();
        assert!(in_time(pending::<()>(), TIME, None).await.is_none());
        assert!(in_time(pending::<()>(), TIME, Some(body())).await.is_none());
        assert_eq!(begun.elapsed().as_secs(), 2 * TIME.as_secs());
        assert_eq!(in_time(async { 1 }, TIME, None).await, Some(1));
    }

    #[tokio::test]
    async fn a_body_has_room_for_each_copy_of_what_it_announces() {
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
