//! The connection of a client, and how long it may take for what.
//!
//! actix-http bounds the time of a connection's first head and the time between two requests. It does not bound the
//! time of further heads, of a body that nobody reads, or of answers that the client does not take. So the stream that
//! it reads from and writes to does: from time to time each looks whether its client is overdue, and fails if so.
//!
//! The stream also hands on one request at a time, for reasons told in [`framing`](super::framing).

use std::cell::Cell;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;

use actix_web::dev::ServiceRequest;
use actix_web::rt::time::Instant;

use crate::core::{HEAD_LIMIT, LoadLimits};
use crate::transport::framing::{Body, Head, length_at_a_glance};

/// How long a client is listened to after it was refused, so that it sees the refusal.
pub(crate) const LINGER: Duration = Duration::from_secs(5);

/// What a client must take of an answer in the time it has for that; or all there is.
const TAKEN_AT_LEAST: usize = 64 * 1024;

/// What the connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The client: for the head of a request.
    Head,
    /// The service: for the answer.
    Response,
    /// The client: for the rest of a body that nobody reads.
    Draining,
}

/// Why a client is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overdue {
    /// It sent nothing.
    Silent,
    /// It sent a part of a head.
    Head,
    /// It does not take its answer.
    Response,
}

/// What is known of a connection. It is shared by its stream and the requests that come over it.
pub(crate) struct Connection {
    head_time: Duration,
    answer_time: Duration,
    phase: Cell<Phase>,
    /// Since when it waits; for a head that began, since its first byte.
    since: Cell<Instant>,
    /// The bytes that came in this phase.
    received: Cell<usize>,
    /// How far the head is that is on its way.
    head: Cell<Head>,
    /// Whether the last bytes handed on end a head that is not yet looked at.
    has_new_head: Cell<bool>,
    /// The bytes of a body that were handed on with its head.
    body_bytes_with_head: Cell<usize>,
    /// What is still to come of the body of the present request.
    body: Cell<Body>,
    /// Whether there is a body that was not read to its end. Behind the answer, actix-http throws away what comes, and
    /// closes the connection; chunks it throws away and stays.
    is_unread: Cell<bool>,
    /// Whether there is an answer that is not yet made, or not yet sent.
    owes_answer: Cell<bool>,
    /// Whether the client has ended what it sends, before it was answered.
    has_left: Cell<bool>,
    /// Whether the answer is one that goes on for as long as the client listens.
    is_stream: Cell<bool>,
    /// Whom to wake when it was sent.
    waiting: Cell<Option<Waker>>,
    /// Since when the client takes too little of what is there for it, and how much that was.
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
            has_left: Cell::new(false),
            is_stream: Cell::new(false),
            waiting: Cell::new(None),
            stalled: Cell::new(None),
        }
    }

    /// Returns how many of the bytes that came next belong to the present request; they are handed on.
    pub(crate) fn part(&self, bytes: &[u8]) -> usize {
        let mut body = self.body.get();
        let part = if body == Body::Over { self.part_of_head(bytes) } else { body.take(bytes) };
        let has_ended = self.body.replace(body) != body && body == Body::Over;
        self.receive(part);
        if has_ended && self.phase.get() == Phase::Draining && !self.is_unread.get() {
            self.enter(Phase::Head);
        }
        part
    }

    fn part_of_head(&self, bytes: &[u8]) -> usize {
        let mut head = self.head.get();
        let end = head.end(bytes);
        self.head.set(head);
        let Some(end) = end else { return bytes.len() };
        self.has_new_head.set(true);
        let body_bytes_with_head = bytes.len() - end;
        // Spares a small body a round of its own.
        let is_body = body_bytes_with_head > 0
            && length_at_a_glance(&bytes[..end]).is_some_and(|length| body_bytes_with_head <= length);
        self.body_bytes_with_head.set(if is_body { body_bytes_with_head } else { 0 });
        if is_body { bytes.len() } else { end }
    }

    /// Returns whether the head of a request was handed on since the last call.
    pub(crate) fn has_new_head(&self) -> bool {
        self.has_new_head.take()
    }

    /// Returns whether what comes now can be handed on: it belongs to the present request, or there is none.
    pub(crate) fn is_turn(&self) -> bool {
        self.body.get() != Body::Over || !self.owes_answer.get()
    }

    /// Returns whether there is an answer that was not yet sent. Without one, what is sent is none of ours.
    pub(crate) fn owes_answer(&self) -> bool {
        self.owes_answer.get()
    }

    /// Records that the answer goes on for as long as the client listens.
    pub(crate) fn begin_stream(&self) {
        self.is_stream.set(true);
    }

    /// Returns how long to wait before checking again whether the client is overdue. The client of a stream is overdue only when it does not
    /// take what it is sent, so streams, of which there may be thousands, are checked less often.
    pub(crate) fn look_interval(&self, ordinary: Duration) -> Duration {
        if self.is_stream.get() { self.answer_time / 4 } else { ordinary }
    }

    /// Records that the client sends nothing more.
    pub(crate) fn leave(&self) {
        self.has_left.set(true);
    }

    /// Returns whether the client sends nothing more. It may still read: of an answer that ends, that is not known before it is
    /// sent.
    pub(crate) fn has_left(&self) -> bool {
        self.has_left.get()
    }

    /// Returns whether the body of the present request cannot be understood, so that nothing behind it can.
    pub(crate) fn is_broken(&self) -> bool {
        self.body.get() == Body::Broken
    }

    /// Records that the body of the present request was read to its end.
    pub(crate) fn was_read(&self) {
        self.is_unread.set(false);
    }

    /// Wakes the reader when the present request was answered.
    pub(crate) fn wake_when_answered(&self, cx: &Context<'_>) {
        self.waiting.set(Some(cx.waker().clone()));
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

    pub(crate) fn sent(&self, bytes: usize) {
        if let Some((since, taken)) = self.stalled.get() {
            let taken = taken + bytes;
            self.stalled.set(Some(if taken < TAKEN_AT_LEAST { (since, taken) } else { (Instant::now(), 0) }));
        }
    }

    pub(crate) fn could_not_send(&self) {
        if self.stalled.get().is_none() {
            self.stalled.set(Some((Instant::now(), 0)));
        }
    }

    pub(crate) fn all_sent(&self) {
        if self.stalled.take().is_some() && self.phase.get() != Phase::Response {
            // The time began only now.
            self.since.set(Instant::now());
        }
        if self.phase.get() != Phase::Response
            && self.owes_answer.take()
            && let Some(waiting) = self.waiting.take()
        {
            waiting.wake();
        }
    }

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

/// Lasts from the end of a head until the answer was made.
pub(crate) struct Answering(Rc<Connection>);

impl Answering {
    /// Records that the head of `request` was read.
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

impl Drop for Answering {
    fn drop(&mut self) {
        let is_over = self.0.body.get() == Body::Over && !self.0.is_unread.get();
        self.0.is_stream.set(false);
        self.0.enter(if is_over { Phase::Head } else { Phase::Draining });
    }
}
