//! The stream of a connection: what actix-http reads from and writes to.

use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_web::rt::net::TcpStream;
use actix_web::rt::time::{Instant, Sleep, sleep};
use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::yield_now;

use crate::core::{ApiError, LoadLimits, Permit, State};
use crate::transport::{Connection, LINGER, Overdue, reject};

/// How many bytes are read before the task yields, so that actix-http handles them. Otherwise it would first fill its buffer of
/// 128 KiB, even with a body that no handler reads yet. The limit on the bytes of a head is a multiple of it.
const READ_YIELD_INTERVAL: usize = 32 * 1024;

/// How many bytes are written before the task yields to other connections of the thread. With a client that reads as fast as
/// it is written to, the task would not yield before the end of the response.
const WRITE_YIELD_INTERVAL: usize = 32 * 1024;

/// The stream of a connection.
pub(crate) struct Stream {
    tcp: TcpStream,
    connection: Rc<Connection>,
    state: Arc<State>,
    /// Fires when the deadlines are to be checked next.
    next_check: Pin<Box<Sleep>>,
    check_interval: Duration,
    /// Set once the stream has refused the input: until when further input is read and discarded.
    refused: Option<Instant>,
    /// The bytes forwarded since actix-http last had the opportunity to handle them.
    read_since_yield: usize,
    /// The bytes written since the task last yielded.
    written_since_yield: usize,
    /// Input after the current request, which is not answered yet. It takes no memory while it is empty.
    pipelined: BytesMut,
    _permit: Permit,
}

impl Stream {
    pub(crate) fn new(tcp: TcpStream, state: Arc<State>, limits: &LoadLimits, permit: Permit) -> Self {
        // Often enough for deadlines to be fairly exact, rarely enough to cost nothing. The timer is not reset for each request.
        let check_interval = limits.head_time.min(limits.answer_time) / 8;
        let (next_check, connection) = (Box::pin(sleep(check_interval)), Rc::new(Connection::new(limits)));
        let (refused, read_since_yield, written_since_yield, pipelined) = (None, 0, 0, BytesMut::new());
        Self {
            tcp,
            connection,
            state,
            next_check,
            check_interval,
            refused,
            read_since_yield,
            written_since_yield,
            pipelined,
            _permit: permit,
        }
    }

    pub(crate) fn connection(&self) -> Rc<Connection> {
        Rc::clone(&self.connection)
    }

    /// Checks from time to time whether the client is overdue: refuses an overdue head, and fails in the other cases.
    fn check_deadlines(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.next_check.as_mut().poll(cx).is_pending() {
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
            Some(Overdue::Response) => {
                // Discards what the system has buffered for the client, and resets the connection.
                let _ = self.tcp.set_zero_linger();
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        self.next_check.as_mut().reset(now + self.connection.check_interval(self.check_interval));
        // Pending, since the time lies ahead; the poll registers the waker.
        let _ = self.next_check.as_mut().poll(cx);
        Ok(())
    }

    /// Answers input that is not a valid request with an error, and keeps reading for a while so that the client sees it.
    fn refuse(&mut self, cx: &mut Context<'_>, error: &ApiError) {
        let response = reject::render(error, &self.state.services);
        // It fits into the socket's send buffer. If that is full, the client is disconnected without a response.
        let _ = Pin::new(&mut self.tcp).poll_write(cx, &response);
        self.half_close(cx);
    }

    fn half_close(&mut self, cx: &mut Context<'_>) {
        self.refused = Some(Instant::now() + LINGER);
        let _ = Pin::new(&mut self.tcp).poll_shutdown(cx);
    }

    /// Reads and discards input. Ready with an error once the input ends.
    fn drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let mut discarded = [0; 4096];
        // Yields after 16 reads.
        for _ in 0..16 {
            let mut buf = ReadBuf::new(&mut discarded);
            match ready!(Pin::new(&mut self.tcp).poll_read(cx, &mut buf)) {
                Err(error) => return Poll::Ready(error),
                Ok(()) if buf.filled().is_empty() => return Poll::Ready(io::ErrorKind::ConnectionAborted.into()),
                Ok(()) => {}
            }
        }
        poll_yield(cx)
    }

    /// Yields, so that actix-http handles what was forwarded before it reads more.
    fn yield_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.read_since_yield = 0;
        poll_yield(cx)
    }

    /// Reads into the buffer of pipelined input. Reports to actix-http only errors and the end of the input.
    fn read_pipelined(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.read_since_yield = 0;
        if self.pipelined.is_empty() {
            let before = buf.filled().len();
            ready!(Pin::new(&mut self.tcp).poll_read(cx, buf))?;
            if buf.filled().len() == before {
                self.connection.mark_input_closed();
                return Poll::Ready(Ok(()));
            }
            self.pipelined = BytesMut::from(&buf.filled()[before..]);
            buf.set_filled(before);
        }
        self.connection.wake_when_answered(cx);
        Poll::Pending
    }

    /// Forwards input of the current request to actix-http.
    fn forward(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        if self.pipelined.is_empty() {
            match Pin::new(&mut self.tcp).poll_read(cx, buf) {
                Poll::Ready(Ok(())) => {}
                failed_or_pending => {
                    self.read_since_yield = 0;
                    return failed_or_pending;
                }
            }
            if buf.filled().len() == before {
                self.connection.mark_input_closed();
            }
            let consumed = self.connection.consume(&buf.filled()[before..]);
            self.pipelined.extend_from_slice(&buf.filled()[before + consumed..]);
            buf.set_filled(before + consumed);
        } else {
            let available = self.pipelined.len().min(buf.remaining());
            let consumed = self.connection.consume(&self.pipelined[..available]);
            buf.put_slice(&self.pipelined.split_to(consumed));
            if self.pipelined.is_empty() {
                self.pipelined = BytesMut::new();
            }
        }
        self.read_since_yield += buf.filled().len() - before;
        Poll::Ready(Ok(()))
    }
}

/// Yields to the other connections of the thread, also to those whose sockets have become ready meanwhile. A task that
/// merely woke itself would be polled some sixty times before the runtime polls the sockets.
fn poll_yield<T>(cx: &mut Context<'_>) -> Poll<T> {
    // The runtime keeps the waker that this poll registers.
    let _ = pin!(yield_now()).poll(cx);
    Poll::Pending
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.check_deadlines(cx)?;
        if this.connection.take_new_head() {
            this.read_since_yield = 0;
            let has_more = !this.pipelined.is_empty() || this.tcp.poll_read_ready(cx).is_ready();
            return if has_more { this.yield_read(cx) } else { Poll::Pending };
        }
        if this.read_since_yield >= READ_YIELD_INTERVAL {
            return this.yield_read(cx);
        }
        if this.refused.is_none() && this.connection.is_head_too_large() {
            this.refuse(cx, &ApiError::HeadTooLarge);
        }
        if this.refused.is_some() {
            return this.drain(cx).map(Err);
        }
        if this.connection.is_broken() {
            return Poll::Ready(Ok(()));
        }
        if this.connection.may_forward() { this.forward(cx, buf) } else { this.read_pipelined(cx, buf) }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.check_deadlines(cx)?;
        if this.refused.is_none() && !this.connection.owes_answer() {
            // actix-http itself answers a head that it cannot parse, with the bare status, and then closes.
            let is_too_large = buf.get(b"HTTP/1.1".len()..).is_some_and(|rest| rest.starts_with(b" 431"));
            let malformed = || ApiError::Malformed("The head of the request is malformed".to_owned());
            this.refuse(cx, &if is_too_large { ApiError::HeadTooLarge } else { malformed() });
        }
        if this.refused.is_some() {
            return this.drain(cx).map(Err);
        }
        if this.written_since_yield >= WRITE_YIELD_INTERVAL {
            this.written_since_yield = 0;
            return poll_yield(cx);
        }
        let written = Pin::new(&mut this.tcp).poll_write(cx, buf);
        match &written {
            Poll::Ready(Ok(bytes)) => {
                this.written_since_yield += bytes;
                this.connection.record_written(*bytes);
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => this.connection.record_blocked(),
        }
        written
    }

    /// Called by actix-http once all output so far was written.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.connection.record_flushed();
        Pin::new(&mut this.tcp).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.check_deadlines(cx)?;
        if this.refused.is_none() {
            if this.pipelined.is_empty() && this.tcp.poll_read_ready(cx).is_pending() {
                return Pin::new(&mut this.tcp).poll_shutdown(cx);
            }
            this.half_close(cx);
        }
        // There is unread input: closing now would reset the connection, and the last response might not reach the client.
        this.drain(cx).map(|_| Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::io::Write as _;

    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_task_that_yields_repeatedly_lets_others_see_that_their_sockets_are_ready() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let (polls, written_at) = (Cell::new(0), Cell::new(None));
        let busy = poll_fn(|cx| -> Poll<()> {
            polls.set(polls.get() + 1);
            if polls.get() == 1000 {
                client.write_all(b"x").unwrap();
                written_at.set(Some(polls.get()));
            }
            poll_yield(cx)
        });
        let seen = async {
            stream.readable().await.unwrap();
            polls.get() - written_at.get().unwrap_or_default()
        };
        let (busy, seen) = (pin!(busy), pin!(seen));
        match futures_util::future::select(seen, busy).await {
            futures_util::future::Either::Left((later, _)) => assert!(later < 10, "{later} polls later"),
            futures_util::future::Either::Right(_) => unreachable!("it never ends"),
        }
    }
}
