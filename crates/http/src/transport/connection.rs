//! The state of a client's connection: which request it is at, and the deadlines of the client.
//!
//! actix-http bounds the time of a connection's first head and the time between two requests. It does not bound the
//! time of further heads, of a body that no handler reads, or of responses that the client does not read. So the stream
//! that it reads from and writes to does: each periodically checks whether its client is overdue, and fails if so.
//!
//! The stream also forwards one request at a time to actix-http; [`framing`](super::framing) has the reasons.

use std::cell::Cell;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;

use actix_web::dev::ServiceRequest;
use actix_web::rt::time::Instant;

use crate::core::{HEAD_LIMIT, LoadLimits};
use crate::transport::framing::{Body, Head, content_length_hint};

/// How long input is still read and discarded after a refusal, so that the client sees the refusal: closing a socket with
/// unread input resets the connection.
pub(crate) const LINGER: Duration = Duration::from_secs(5);

/// The bytes of a response that a client must read within the answer time, unless less is left.
const MIN_PROGRESS: usize = 64 * 1024;

/// What the connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// For the client: the head of the next request.
    Head,
    /// For the service: the response.
    Response,
    /// For the client: the rest of a body that no handler reads.
    Draining,
}

/// The reason for which a client is disconnected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overdue {
    /// It sent nothing.
    Silent,
    /// It sent an incomplete head.
    Head,
    /// It does not read its response.
    Response,
}

/// The state of a connection, shared by its stream and the requests that arrive over it.
pub(crate) struct Connection {
    head_time: Duration,
    answer_time: Duration,
    phase: Cell<Phase>,
    /// When the phase began, or the first byte of a head arrived.
    since: Cell<Instant>,
    /// The bytes received in this phase.
    received: Cell<usize>,
    /// The state of the head that is being received.
    head: Cell<Head>,
    /// Whether the last bytes that were forwarded complete a head that actix-http has not parsed yet.
    has_new_head: Cell<bool>,
    /// The bytes of the body that were forwarded together with the head.
    body_bytes_with_head: Cell<usize>,
    /// What is still to be received of the body of the current request.
    body: Cell<Body>,
    /// Whether the body was not read to its end. After the response, actix-http then discards what is received and closes the
    /// connection; a chunked body it discards and keeps the connection.
    is_unread: Cell<bool>,
    /// Whether a response is not rendered yet, or not sent yet.
    owes_answer: Cell<bool>,
    /// Whether the client closed its sending side before it was answered.
    has_closed_input: Cell<bool>,
    /// Whether the response is an event stream, which ends only when the client disconnects.
    is_stream: Cell<bool>,
    /// The waker of the reader, woken when the response was sent.
    reader: Cell<Option<Waker>>,
    /// Set while output for the client is blocked: when its current time window began, and the bytes that it took since.
    stalled: Cell<Option<(Instant, usize)>>,
}

impl Connection {
    pub(crate) fn new(limits: &LoadLimits) -> Self {
        Self {
            head_time: limits.head_time,
            answer_time: limits.answer_time,
            phase: Cell::new(Phase::Head),
            since: Cell::new(Instant::now()),
            received: Cell::new(0),
            head: Cell::new(Head::default()),
            has_new_head: Cell::new(false),
            body_bytes_with_head: Cell::new(0),
            body: Cell::new(Body::Over),
            is_unread: Cell::new(false),
            owes_answer: Cell::new(false),
            has_closed_input: Cell::new(false),
            is_stream: Cell::new(false),
            reader: Cell::new(None),
            stalled: Cell::new(None),
        }
    }

    /// Consumes the bytes that belong to the current request, and returns how many these are, to be forwarded.
    pub(crate) fn consume(&self, bytes: &[u8]) -> usize {
        let mut body = self.body.get();
        let consumed = if body == Body::Over { self.consume_head(bytes) } else { body.consume(bytes) };
        let has_ended = self.body.replace(body) != body && body == Body::Over;
        self.receive(consumed);
        if has_ended && self.phase.get() == Phase::Draining && !self.is_unread.get() {
            self.enter(Phase::Head);
        }
        consumed
    }

    fn consume_head(&self, bytes: &[u8]) -> usize {
        let mut head = self.head.get();
        let end = head.end(bytes);
        self.head.set(head);
        let Some(end) = end else { return bytes.len() };
        self.has_new_head.set(true);
        let body_bytes_with_head = bytes.len() - end;
        // Saves a small body a read of its own.
        let is_body = body_bytes_with_head > 0
            && content_length_hint(&bytes[..end]).is_some_and(|length| body_bytes_with_head <= length);
        self.body_bytes_with_head.set(if is_body { body_bytes_with_head } else { 0 });
        if is_body { bytes.len() } else { end }
    }

    /// Returns whether the head of a request was forwarded since the last call.
    pub(crate) fn take_new_head(&self) -> bool {
        self.has_new_head.take()
    }

    /// Returns whether input may be forwarded now: it belongs to the current request, or no request is being answered.
    pub(crate) fn may_forward(&self) -> bool {
        self.body.get() != Body::Over || !self.owes_answer.get()
    }

    /// Returns whether a response is still to be sent. If none is, output comes from actix-http itself.
    pub(crate) fn owes_answer(&self) -> bool {
        self.owes_answer.get()
    }

    /// Records that the response is an event stream, which ends only when the client disconnects.
    pub(crate) fn begin_stream(&self) {
        self.is_stream.set(true);
    }

    /// Returns how long to wait before the next check of the deadlines. The client of an event stream is overdue only if it does
    /// not read, so streams, of which there may be thousands, are checked less often.
    pub(crate) fn check_interval(&self, ordinary: Duration) -> Duration {
        if self.is_stream.get() { self.answer_time / 4 } else { ordinary }
    }

    /// Records that the client closed its sending side.
    pub(crate) fn mark_input_closed(&self) {
        self.has_closed_input.set(true);
    }

    /// Returns whether the client closed its sending side. It may still be reading; that is only known after a whole
    /// response was sent.
    pub(crate) fn has_closed_input(&self) -> bool {
        self.has_closed_input.get()
    }

    /// Returns whether the body of the current request is malformed, so that nothing after it can be parsed.
    pub(crate) fn is_broken(&self) -> bool {
        self.body.get() == Body::Broken
    }

    /// Records that the body of the current request was read to its end.
    pub(crate) fn mark_body_read(&self) {
        self.is_unread.set(false);
    }

    /// Registers the reader to be woken when the response was sent.
    pub(crate) fn wake_when_answered(&self, cx: &Context<'_>) {
        self.reader.set(Some(cx.waker().clone()));
    }

    fn enter(&self, phase: Phase) {
        self.phase.set(phase);
        self.since.set(Instant::now());
        self.received.set(0);
    }

    fn receive(&self, bytes: usize) {
        if self.phase.get() == Phase::Head && self.received.get() == 0 && bytes > 0 {
            self.since.set(Instant::now());
        }
        self.received.set(self.received.get() + bytes);
    }

    pub(crate) fn is_head_too_large(&self) -> bool {
        self.phase.get() == Phase::Head && self.received.get() >= HEAD_LIMIT
    }

    /// Records that the socket accepted this many bytes of output.
    pub(crate) fn record_written(&self, bytes: usize) {
        if let Some((since, written)) = self.stalled.get() {
            let written = written + bytes;
            self.stalled.set(Some(if written < MIN_PROGRESS { (since, written) } else { (Instant::now(), 0) }));
        }
    }

    /// Records that the socket accepts no output now, which starts the answer time.
    pub(crate) fn record_blocked(&self) {
        if self.stalled.get().is_none() {
            self.stalled.set(Some((Instant::now(), 0)));
        }
    }

    /// Records that all output so far was written, and wakes the reader if the response is complete.
    pub(crate) fn record_flushed(&self) {
        if self.stalled.take().is_some() && self.phase.get() != Phase::Response {
            // The client could not know of the next phase before now.
            self.since.set(Instant::now());
        }
        if self.phase.get() != Phase::Response
            && self.owes_answer.take()
            && let Some(reader) = self.reader.take()
        {
            reader.wake();
        }
    }

    /// Returns why the client is overdue, if it is.
    pub(crate) fn overdue(&self, now: Instant) -> Option<Overdue> {
        let passed = |since: Instant, time| now.saturating_duration_since(since) >= time;
        if let Some((since, _)) = self.stalled.get() {
            return passed(since, self.answer_time).then_some(Overdue::Response);
        }
        match self.phase.get() {
            Phase::Response => None,
            Phase::Draining => passed(self.since.get(), LINGER).then_some(Overdue::Silent),
            Phase::Head => passed(self.since.get(), self.head_time).then_some(if self.received.get() == 0 {
                Overdue::Silent
            } else {
                Overdue::Head
            }),
        }
    }
}

/// A guard that keeps the connection waiting for the service, from the end of a head until the response body is dropped.
pub(crate) struct ResponseGuard(Rc<Connection>);

impl ResponseGuard {
    /// Records that the head of `request` was read. Returns `None` for a request that did not arrive over a connection.
    pub(crate) fn begin(request: &mut ServiceRequest) -> Option<Self> {
        let connection = Rc::clone(request.conn_data::<Rc<Connection>>()?);
        connection.enter(Phase::Response);
        connection.owes_answer.set(true);
        let body = Body::of(request);
        connection.is_unread.set(matches!(body, Body::Length(_) | Body::Unbounded));
        connection.body.set(body.after(connection.body_bytes_with_head.take()));
        Some(Self(connection))
    }
}

impl Drop for ResponseGuard {
    fn drop(&mut self) {
        let is_over = self.0.body.get() == Body::Over && !self.0.is_unread.get();
        self.0.is_stream.set(false);
        self.0.enter(if is_over { Phase::Head } else { Phase::Draining });
    }
}
