//! Clients of live updates: one thread holds many streams of server-sent events open and reads them.

use std::iter::repeat_n;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{mem, thread};

use actix_web::rt::net::TcpStream;
use actix_web::rt::time::{sleep, timeout};
use actix_web::rt::{Runtime, spawn};
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Resource, getrlimit, setrlimit};
use serde::Deserialize;

use crate::api::Api;

/// The time limit for opening a stream.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// How long after its end a stream is opened again: the `retry` that the service sends to clients.
const RETRY: Duration = Duration::from_secs(3);

/// The interval at which shared state is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The most bytes of one read.
const BUFFER: usize = 16 * 1024;

/// Which streams to open.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The topics of each stream.
    pub(crate) topics: &'static str,
    /// The number of streams per account.
    pub(crate) per_account: usize,
    /// The author whose new posts are recorded as arrivals.
    pub(crate) author: Option<String>,
}

/// Counters of all streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Events other than `reset` and `end`.
    pub(crate) events: u64,
    /// Events `reset`, which tell that events were missed.
    pub(crate) resets: u64,
    /// Streams that the service ended or disconnected.
    pub(crate) ends: u64,
}

/// When a stream received the event of a new post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) post: String,
    pub(crate) at: Instant,
}

/// Open streams of one node. Dropping this closes them.
pub(crate) struct Listeners {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Listeners {
    /// Opens the streams, one after the other, and reads them from then on. One that ends is resumed where it ended, as browsers
    /// do.
    pub(crate) fn open(api: &Api, tokens: &[String], plan: &Plan) -> Result<Self> {
        raise_file_limit();
        let address = api.base().trim_start_matches("http://").to_owned();
        let head = |token| {
            let topics = plan.topics;
            format!("GET /api/events?topics={topics} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n")
        };
        let heads: Vec<String> = tokens.iter().flat_map(|token| repeat_n(head(token), plan.per_account)).collect();
        let shared = Arc::new(Shared { author: plan.author.clone(), ..Shared::default() });
        let (sender, opened) = mpsc::channel();
        let thread = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                if let Err(error) = hold(&address, heads, &shared, &sender) {
                    // Fails if the streams had been opened: then nobody receives the error any more.
                    let _ = sender.send(Err(error));
                }
            })
        };
        let listeners = Self { shared, thread: Some(thread) };
        opened.recv().context("the streams were not opened")??;
        Ok(listeners)
    }

    /// Returns the counters since the streams were opened.
    pub(crate) fn counts(&self) -> Counts {
        let Shared { events, resets, ends, .. } = &*self.shared;
        Counts { events: events.load(Relaxed), resets: resets.load(Relaxed), ends: ends.load(Relaxed) }
    }

    /// Removes and returns the recorded arrivals, once there are as many as expected or the time limit has passed.
    pub(crate) fn take_arrivals(&self, expected: usize, time_limit: Duration) -> Vec<Arrival> {
        let until = Instant::now() + time_limit;
        while self.shared.arrivals().len() < expected && Instant::now() < until {
            thread::sleep(POLL_INTERVAL);
        }
        mem::take(&mut *self.shared.arrivals())
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Relaxed);
        // Its error was returned by `open`.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Raises this process's limit on open files as far as possible: each stream takes one.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If the limit is too low, opening the streams fails with a message.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// The state that the thread of the streams shares with its owner.
#[derive(Default)]
struct Shared {
    author: Option<String>,
    events: AtomicU64,
    resets: AtomicU64,
    ends: AtomicU64,
    arrivals: Mutex<Vec<Arrival>>,
    is_over: AtomicBool,
}

impl Shared {
    fn arrivals(&self) -> MutexGuard<'_, Vec<Arrival>> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens the streams, reports that to `opened`, and reads them until the owner is dropped.
fn hold(address: &str, heads: Vec<String>, shared: &Arc<Shared>, opened: &Sender<Result<()>>) -> Result<()> {
    Runtime::new()?.block_on(async {
        let address: Rc<str> = address.into();
        for head in heads {
            let mut parser = Parser::new(Arc::clone(shared));
            let socket = begin(&address, &head, &mut parser).await?;
            spawn(listen(Rc::clone(&address), head, parser, socket));
        }
        opened.send(Ok(()))?;
        while !shared.is_over.load(Relaxed) {
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    })
}

/// Reads a stream, and resumes it whenever it ends.
async fn listen(address: Rc<str>, head: String, mut parser: Parser, mut socket: TcpStream) {
    loop {
        while receive(&socket, &mut parser).await.is_ok() {}
        parser.shared.ends.fetch_add(1, Relaxed);
        socket = loop {
            sleep(RETRY).await;
            if let Ok(socket) = begin(&address, &head, &mut parser).await {
                break socket;
            }
        };
    }
}

/// Opens a stream from the last received event on, and waits until it begins.
async fn begin(address: &str, head: &str, parser: &mut Parser) -> Result<TcpStream> {
    let connect = async {
        let socket = TcpStream::connect(address).await?;
        let request = parser.resumed(head);
        socket.writable().await?;
        ensure!(socket.try_write(request.as_bytes())? == request.len(), "the request was not sent as a whole");
        parser.restart();
        while !parser.has_begun {
            receive(&socket, parser).await?;
        }
        Ok(socket)
    };
    let socket = timeout(OPEN_TIMEOUT, connect).await.context("a stream does not begin")??;
    Ok(socket)
}

/// Waits for bytes and parses them; fails when the stream has ended.
async fn receive(socket: &TcpStream, parser: &mut Parser) -> Result<()> {
    socket.readable().await?;
    let mut buffer = [0; BUFFER];
    match socket.try_read(&mut buffer) {
        Ok(0) => bail!("the connection was closed"),
        Ok(count) => parser.parse(buffer.get(..count).unwrap_or_default(), Instant::now()),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The data of an event of a new post.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewPost {
    post_id: String,
    author_id: String,
}

/// Parses a response line by line. Lines of the head and of the chunked encoding look like no line of an event and are ignored,
/// since the service never splits an event between chunks.
struct Parser {
    shared: Arc<Shared>,
    /// The beginning of a line whose end has not been received yet.
    partial: Vec<u8>,
    last_id: String,
    has_begun: bool,
}

impl Parser {
    fn new(shared: Arc<Shared>) -> Self {
        Self { shared, partial: Vec::new(), last_id: String::new(), has_begun: false }
    }

    /// Prepares for another response.
    fn restart(&mut self) {
        self.partial.clear();
        self.has_begun = false;
    }

    /// Returns the head of a request for the events after the last one.
    fn resumed(&self, head: &str) -> String {
        match self.last_id.as_str() {
            "" => format!("{head}\r\n"),
            last => format!("{head}Last-Event-ID: {last}\r\n\r\n"),
        }
    }

    /// Parses bytes that were received at this instant; fails at an event `end`, and at a status other than 200.
    fn parse(&mut self, bytes: &[u8], at: Instant) -> Result<()> {
        let mut text = mem::take(&mut self.partial);
        text.extend_from_slice(bytes);
        let mut lines = text.split(|byte| *byte == b'\n');
        self.partial = lines.next_back().unwrap_or_default().to_vec();
        lines.try_for_each(|line| self.parse_line(line.trim_ascii_end(), at))
    }

    fn parse_line(&mut self, line: &[u8], at: Instant) -> Result<()> {
        if let Some(kind) = line.strip_prefix(b"event: ") {
            return self.count(kind);
        }
        if let Some(data) = line.strip_prefix(b"data: ") {
            self.record(data, at);
        } else if let Some(id) = line.strip_prefix(b"id: ") {
            self.last_id.clear();
            self.last_id.push_str(str::from_utf8(id)?);
            self.has_begun = true;
        } else if let Some(status) = line.strip_prefix(b"HTTP/1.1 ") {
            ensure!(status.starts_with(b"200 "), "a stream was answered {}", String::from_utf8_lossy(status));
        }
        Ok(())
    }

    fn count(&self, kind: &[u8]) -> Result<()> {
        let count = match kind {
            b"end" => bail!("the service ended the stream"),
            b"reset" => &self.shared.resets,
            _ => &self.shared.events,
        };
        count.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Records an arrival if the data is a new post of the author.
    fn record(&self, data: &[u8], at: Instant) {
        let Some(author) = &self.shared.author else { return };
        if let Ok(NewPost { post_id: post, author_id }) = serde_json::from_slice(data)
            && author_id == *author
        {
            self.shared.arrivals().push(Arrival { post, at });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nx-request-id: 1\r\n\r\n";
    const BEGINNING: &str = "24\r\nretry: 3000\nid: a-0\n\n\r\n";

    fn parser(author: &str) -> Parser {
        Parser::new(Arc::new(Shared { author: Some(author.to_owned()), ..Shared::default() }))
    }

    #[test]
    fn a_response_may_be_split_anywhere() {
        let post = "event: public\ndata: {\"postId\":\"p\",\"authorId\":\"a\"}\nid: a-1\n\n";
        let other = "event: public\ndata: {\"postId\":\"q\",\"authorId\":\"b\"}\nid: a-2\n\n";
        let text = format!("{HEAD}{BEGINNING}90\r\n{post}{other}\r\n10\r\nevent: reset\ndata: {{}}\nid: a-3\n\n\r\n");
        let at = Instant::now();
        for cut in 0..text.len() {
            let mut parser = parser("a");
            let (first, second) = text.as_bytes().split_at(cut);
            parser.parse(first, at).unwrap();
            parser.parse(second, at).unwrap();
            let Shared { events, resets, .. } = &*parser.shared;
            assert_eq!((parser.has_begun, events.load(Relaxed), resets.load(Relaxed)), (true, 2, 1), "{cut}");
            assert_eq!(*parser.shared.arrivals(), [Arrival { post: "p".to_owned(), at }], "{cut}");
            assert_eq!(parser.resumed("GET\r\n"), "GET\r\nLast-Event-ID: a-3\r\n\r\n");
        }
    }

    #[test]
    fn the_end_of_a_stream_and_an_error_status_are_errors() {
        let at = Instant::now();
        let mut ended = parser("a");
        ended.parse(format!("{HEAD}{BEGINNING}").as_bytes(), at).unwrap();
        assert!(ended.parse(b"20\r\nevent: end\ndata: {\"reason\":\"too_slow\"}\n\n\r\n", at).is_err());
        assert!(parser("a").parse(b"HTTP/1.1 503 Service Unavailable\r\n", at).is_err());
    }
}
