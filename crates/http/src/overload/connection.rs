//! The connection of a client, and how long it may take for what.
//!
//! actix-http bounds the time of a connection's first head and the time between two requests. It does not bound the
//! time of further heads, of a body that nobody reads, or of answers that the client does not take. So the stream that
//! it reads from and writes to does: from time to time each looks whether its client is overdue, and fails if so.

use std::{
    cell::Cell,
    io,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};

use actix_web::rt::{
    net::TcpStream,
    time::{Instant, Sleep, sleep, timeout},
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

use super::{LoadLimits, gate::Place};
use crate::error::ApiError;

/// The most bytes of the head of a request.
pub(crate) const HEAD_LIMIT: usize = 64 * 1024;

/// How much is read before it is looked at: actix-http would fill its buffer of 128 KiB first, even with a body that
/// nobody reads yet. The most bytes of a head are a multiple of it.
const AT_ONCE: usize = 32 * 1024;

/// How long a client is listened to after it was refused, so that it sees the refusal.
pub(crate) const LINGER: Duration = Duration::from_secs(5);

/// How long a connection that is one too many may take to end.
const FAREWELL: Duration = Duration::from_secs(1);

/// What a client must take of an answer in the time it has for that; or all there is.
const TAKEN_AT_LEAST: usize = 64 * 1024;

/// What the connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The client: for the head of a request.
    Head,
    /// The service: for the answer.
    Answer,
    /// The client: for the rest of a body that nobody reads.
    Rest,
}

/// Why a client is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overdue {
    /// It sent nothing.
    Silent,
    /// It sent a part of a head.
    Head,
    /// It does not take its answer.
    Answer,
}

/// What is known of a connection. It is shared by its stream and the requests that come over it.
#[derive(Debug)]
pub(crate) struct Connection {
    head_time: Duration,
    answer_time: Duration,
    phase: Cell<Phase>,
    /// Since when it waits; for a head that began, since its first byte.
    since: Cell<Instant>,
    /// The bytes that came in this phase.
    received: Cell<usize>,
    /// Whether a request was answered whose body was not read to its end.
    has_rest: Cell<bool>,
    /// Since when the client takes too little of what is there for it, and how much that was.
    stalled: Cell<Option<(Instant, usize)>>,
}

impl Connection {
    fn new(limits: &LoadLimits) -> Self {
        Self {
            head_time: limits.head_time,
            answer_time: limits.answer_time,
            phase: Cell::new(Phase::Head),
            since: Cell::new(Instant::now()),
            received: Cell::new(0),
            has_rest: Cell::new(false),
            stalled: Cell::new(None),
        }
    }

    /// A body will not be read to its end.
    pub(crate) fn leave_rest(&self) {
        self.has_rest.set(true);
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

    fn is_head_too_large(&self) -> bool {
        self.phase.get() == Phase::Head && self.received.get() >= HEAD_LIMIT
    }

    fn sent(&self, bytes: usize) {
        if let Some((since, taken)) = self.stalled.get() {
            let taken = taken + bytes;
            self.stalled.set(Some(if taken < TAKEN_AT_LEAST { (since, taken) } else { (Instant::now(), 0) }));
        }
    }

    fn could_not_send(&self) {
        if self.stalled.get().is_none() {
            self.stalled.set(Some((Instant::now(), 0)));
        }
    }

    fn all_sent(&self) {
        if self.stalled.take().is_some() && self.phase.get() != Phase::Answer {
            // The time began only now.
            self.since.set(Instant::now());
        }
    }

    fn overdue(&self, now: Instant) -> Option<Overdue> {
        let passed = |since: Instant, time| now.saturating_duration_since(since) >= time;
        if let Some((since, _)) = self.stalled.get() {
            return passed(since, self.answer_time).then_some(Overdue::Answer);
        }
        match self.phase.get() {
            Phase::Answer => None,
            Phase::Rest => passed(self.since.get(), LINGER).then_some(Overdue::Silent),
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
    pub(crate) fn begin(connection: Rc<Connection>) -> Self {
        connection.enter(Phase::Answer);
        Self(connection)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.enter(if self.0.has_rest.take() { Phase::Rest } else { Phase::Head });
    }
}

/// The stream of a connection.
pub(crate) struct Stream {
    tcp: TcpStream,
    connection: Rc<Connection>,
    /// When to look next whether the client is overdue.
    next_look: Pin<Box<Sleep>>,
    interval: Duration,
    /// Set once the stream has refused what came: until when it is read on and thrown away.
    refused: Option<Instant>,
    /// The bytes read since whoever reads was last given the time to look at them.
    in_a_row: usize,
    _place: Place,
}

impl Stream {
    pub(crate) fn new(tcp: TcpStream, limits: &LoadLimits, place: Place) -> Self {
        // Often enough to be off by little, seldom enough to cost nothing; not anew for each request.
        let interval = limits.head_time.min(limits.answer_time) / 8;
        let next_look = Box::pin(sleep(interval));
        let connection = Rc::new(Connection::new(limits));
        Self { tcp, connection, next_look, interval, refused: None, in_a_row: 0, _place: place }
    }

    pub(crate) fn connection(&self) -> Rc<Connection> {
        Rc::clone(&self.connection)
    }

    /// Fails when the client is overdue.
    fn look(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.next_look.as_mut().poll(cx).is_pending() {
            return Ok(());
        }
        let now = Instant::now();
        if self.refused.is_some_and(|until| until <= now) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match self.connection.overdue(now) {
            _ if self.refused.is_some() => {}
            None => {}
            Some(Overdue::Head) => self.refuse(cx, &ApiError::TooSlow),
            Some(Overdue::Silent) => return Err(io::ErrorKind::TimedOut.into()),
            Some(Overdue::Answer) => {
                // What the system keeps for the client goes as well, and the client is told.
                let _ = self.tcp.set_zero_linger();
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        self.next_look.as_mut().reset(now + self.interval);
        // Pending, since it lies ahead; so it is known whom to wake.
        let _ = self.next_look.as_mut().poll(cx);
        Ok(())
    }

    /// Answers what is no request, and listens on for a while so that the client sees the answer.
    fn refuse(&mut self, cx: &mut Context<'_>, error: &ApiError) {
        self.refused = Some(Instant::now() + LINGER);
        // It fits into what the system buffers for a connection; a client for which it does not is cut without.
        let _ = Pin::new(&mut self.tcp).poll_write(cx, &whole(error));
        let _ = Pin::new(&mut self.tcp).poll_shutdown(cx);
    }

    /// Reads on and throws away, to the end.
    fn drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut thrown = [0; 4096];
        // Not without end in one go.
        for _ in 0..16 {
            let mut buf = ReadBuf::new(&mut thrown);
            ready!(Pin::new(&mut self.tcp).poll_read(cx, &mut buf))?;
            if buf.filled().is_empty() {
                return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.look(cx)?;
        if this.in_a_row >= AT_ONCE {
            this.in_a_row = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if this.refused.is_none() && this.connection.is_head_too_large() {
            this.refuse(cx, &ApiError::HeadTooLarge);
        }
        if this.refused.is_some() {
            return this.drain(cx);
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut this.tcp).poll_read(cx, buf);
        let bytes = buf.filled().len() - before;
        this.in_a_row = if read.is_pending() { 0 } else { this.in_a_row + bytes };
        this.connection.receive(bytes);
        read
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.look(cx)?;
        let written = Pin::new(&mut this.tcp).poll_write(cx, buf);
        match &written {
            Poll::Ready(Ok(bytes)) => this.connection.sent(*bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => this.connection.could_not_send(),
        }
        written
    }

    /// Called when all that there is so far was written.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.connection.all_sent();
        Pin::new(&mut this.tcp).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().tcp).poll_shutdown(cx)
    }
}

/// Answers a connection that is one too many, and closes it.
pub(crate) async fn turn_away(mut tcp: TcpStream) {
    let farewell = async {
        tcp.write_all(&whole(&ApiError::Busy)).await?;
        tcp.shutdown().await?;
        // Closed before what came was read, the answer might not reach the client.
        let mut thrown = [0; 1024];
        while tcp.read(&mut thrown).await? > 0 {}
        Ok::<_, io::Error>(())
    };
    let _ = timeout(FAREWELL, farewell).await;
}

/// The whole answer to what never becomes a request.
fn whole(error: &ApiError) -> Vec<u8> {
    let status = error.status();
    // Fails for no failure: it is made of texts and numbers.
    let body = serde_json::to_string(&error.envelope()).unwrap_or_default();
    let more = error.header().map(|(name, value)| format!("{name}: {value}\r\n")).unwrap_or_default();
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\ncontent-type: application/json\r\nconnection: close\r\n\
         cache-control: no-store\r\nx-content-type-options: nosniff\r\n{more}\r\n{body}"
    )
    .into_bytes()
}
