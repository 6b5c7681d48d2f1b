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

/// How much is read before it is looked at: actix-http would fill its buffer of 128 KiB first, even with a body that
/// nobody reads yet. The most bytes of a head are a multiple of it.
const AT_ONCE: usize = 32 * 1024;

/// How many bytes are written before the task yields to other connections of the thread. With a client that takes all as
/// it comes, it would not yield before the end of the answer.
const WRITE_YIELD_INTERVAL: usize = 32 * 1024;

/// The stream of a connection.
pub(crate) struct Stream {
    tcp: TcpStream,
    connection: Rc<Connection>,
    state: Arc<State>,
    /// When to look next whether the client is overdue.
    next_look: Pin<Box<Sleep>>,
    interval: Duration,
    /// Set once the stream has refused what came: until when it is read on and thrown away.
    refused: Option<Instant>,
    /// The bytes handed on since whoever reads was last given the time to look at them.
    in_a_row: usize,
    /// The bytes written since the task last yielded.
    written_since_yield: usize,
    /// What came behind a request that is not yet answered. It takes no memory when there is nothing.
    held: BytesMut,
    _permit: Permit,
}

impl Stream {
    pub(crate) fn new(tcp: TcpStream, state: Arc<State>, limits: &LoadLimits, permit: Permit) -> Self {
        // Often enough to be off by little, seldom enough to cost nothing; not anew for each request.
        let interval = limits.head_time.min(limits.answer_time) / 8;
        let (next_look, connection) = (Box::pin(sleep(interval)), Rc::new(Connection::new(limits)));
        let (refused, in_a_row, written_since_yield, held) = (None, 0, 0, BytesMut::new());
        Self {
            tcp,
            connection,
            state,
            next_look,
            interval,
            refused,
            in_a_row,
            written_since_yield,
            held,
            _permit: permit,
        }
    }

    pub(crate) fn connection(&self) -> Rc<Connection> {
        Rc::clone(&self.connection)
    }

    /// Fails when the client is overdue.
    fn check_deadlines(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
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
            Some(Overdue::Response) => {
                // What the system keeps for the client goes as well, and the client is told.
                let _ = self.tcp.set_zero_linger();
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        self.next_look.as_mut().reset(now + self.connection.look_interval(self.interval));
        // Pending, since it lies ahead; so it is known whom to wake.
        let _ = self.next_look.as_mut().poll(cx);
        Ok(())
    }

    /// Answers what is no request, and listens on for a while so that the client sees the answer.
    fn refuse(&mut self, cx: &mut Context<'_>, error: &ApiError) {
        let answer = reject::answer(error, &self.state.services);
        // It fits into what the system buffers for a connection; a client for which it does not is cut without.
        let _ = Pin::new(&mut self.tcp).poll_write(cx, &answer);
        self.half_close(cx);
    }

    fn half_close(&mut self, cx: &mut Context<'_>) {
        self.refused = Some(Instant::now() + LINGER);
        let _ = Pin::new(&mut self.tcp).poll_shutdown(cx);
    }

    /// Reads on and throws away; fails at the end.
    fn drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let mut thrown = [0; 4096];
        // Not without end in one go.
        for _ in 0..16 {
            let mut buf = ReadBuf::new(&mut thrown);
            match ready!(Pin::new(&mut self.tcp).poll_read(cx, &mut buf)) {
                Err(error) => return Poll::Ready(error),
                Ok(()) if buf.filled().is_empty() => return Poll::Ready(io::ErrorKind::ConnectionAborted.into()),
                Ok(()) => {}
            }
        }
        poll_yield(cx)
    }

    /// Has whoever reads look at what there is first.
    fn pause(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.in_a_row = 0;
        poll_yield(cx)
    }

    /// Reads without handing on; only the end is told, and that the client is gone.
    fn hold_back(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.in_a_row = 0;
        if self.held.is_empty() {
            let before = buf.filled().len();
            ready!(Pin::new(&mut self.tcp).poll_read(cx, buf))?;
            if buf.filled().len() == before {
                self.connection.leave();
                return Poll::Ready(Ok(()));
            }
            self.held = BytesMut::from(&buf.filled()[before..]);
            buf.set_filled(before);
        }
        self.connection.wake_when_answered(cx);
        Poll::Pending
    }

    /// Hands on what belongs to the present request.
    fn hand_on(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        if self.held.is_empty() {
            match Pin::new(&mut self.tcp).poll_read(cx, buf) {
                Poll::Ready(Ok(())) => {}
                failed_or_pending => {
                    self.in_a_row = 0;
                    return failed_or_pending;
                }
            }
            if buf.filled().len() == before {
                self.connection.leave();
            }
            let part = self.connection.part(&buf.filled()[before..]);
            self.held.extend_from_slice(&buf.filled()[before + part..]);
            buf.set_filled(before + part);
        } else {
            let there = self.held.len().min(buf.remaining());
            let part = self.connection.part(&self.held[..there]);
            buf.put_slice(&self.held.split_to(part));
            if self.held.is_empty() {
                self.held = BytesMut::new();
            }
        }
        self.in_a_row += buf.filled().len() - before;
        Poll::Ready(Ok(()))
    }
}

/// Yields to the other connections of the thread, also to those whose sockets have become ready meanwhile. A task that
/// merely woke itself would be polled some sixty times before anybody looks at the sockets.
fn poll_yield<T>(cx: &mut Context<'_>) -> Poll<T> {
    // Woken by what this leaves with the runtime.
    let _ = pin!(yield_now()).poll(cx);
    Poll::Pending
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.check_deadlines(cx)?;
        if this.connection.has_new_head() {
            this.in_a_row = 0;
            let is_more = !this.held.is_empty() || this.tcp.poll_read_ready(cx).is_ready();
            return if is_more { this.pause(cx) } else { Poll::Pending };
        }
        if this.in_a_row >= AT_ONCE {
            return this.pause(cx);
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
        if this.connection.is_turn() { this.hand_on(cx, buf) } else { this.hold_back(cx, buf) }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.check_deadlines(cx)?;
        if this.refused.is_none() && !this.connection.owes_answer() {
            // What actix-http cannot read as a head it answers itself, with the status alone, and then it ends.
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
                this.connection.sent(*bytes);
            }
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
        let this = self.get_mut();
        this.check_deadlines(cx)?;
        if this.refused.is_none() {
            if this.held.is_empty() && this.tcp.poll_read_ready(cx).is_pending() {
                return Pin::new(&mut this.tcp).poll_shutdown(cx);
            }
            this.half_close(cx);
        }
        // There is more, which nobody will read: closed with that, the last answer might not reach the client.
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
    async fn who_yields_again_and_again_lets_others_see_what_their_sockets_have() {
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
