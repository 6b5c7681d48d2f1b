//! A reader of server-sent events.

#![allow(dead_code, reason = "each suite uses a part")]

use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;
use tokio::time::timeout;

use crate::client::{Client, HANG, User};

/// An event, as a browser would dispatch it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// The id of its block; empty if the block has none.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// An incremental parser of `text/event-stream`.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    received: Vec<u8>,
    last_id: String,
}

impl Parser {
    /// Appends received bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    /// Returns the next event, if it is complete. A block without data is not an event, but its id counts.
    pub(crate) fn take(&mut self) -> Option<Event> {
        loop {
            let event = self.take_block()?;
            if !event.data.is_null() {
                return Some(event);
            }
        }
    }

    fn take_block(&mut self) -> Option<Event> {
        let end = self.received.windows(2).position(|two| two == b"\n\n")?;
        let block = String::from_utf8(self.received.drain(..end + 2).collect()).unwrap();
        let mut event = Event { id: String::new(), name: "message".to_owned(), data: Value::Null };
        for line in block.lines() {
            match line.split_once(": ") {
                Some(("id", id)) => event.id = id.to_owned(),
                Some(("event", name)) => event.name = name.to_owned(),
                Some(("data", data)) => event.data = serde_json::from_str(data).unwrap(),
                Some(("retry", millis)) => assert!(millis.parse::<u64>().is_ok(), "{block:?}"),
                _ => assert!(line.is_empty() || line.starts_with(':'), "{line:?} in {block:?}"),
            }
        }
        // A stream can be resumed after each of its blocks.
        assert!(event.name == "end" || !event.id.is_empty(), "no id: {block:?}");
        if !event.id.is_empty() {
            self.last_id.clone_from(&event.id);
        }
        Some(event)
    }

    /// Returns the last id.
    pub(crate) fn last_id(&self) -> &str {
        &self.last_id
    }
}

/// Returns the builder of a request for a stream, which resumes after an id, if one is given.
pub(crate) fn listening(api: &Client, user: &User, topics: &str, after: Option<&str>) -> RequestBuilder {
    let path = format!("/api/events?topics={topics}");
    // A stream has no end.
    let request = api.request_as(user, Method::GET, &path).timeout(HANG * 100);
    match after {
        Some(id) => request.header("Last-Event-ID", id),
        None => request,
    }
}

/// An open stream. Dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct EventStream {
    response: reqwest::Response,
    parser: Parser,
}

impl EventStream {
    /// Opens a stream of new events.
    pub(crate) async fn open(api: &Client, user: &User, topics: &str) -> Self {
        Self::of(listening(api, user, topics, None)).await
    }

    /// Opens a stream that resumes after an id.
    pub(crate) async fn resume(api: &Client, user: &User, topics: &str, after: &str) -> Self {
        Self::of(listening(api, user, topics, Some(after))).await
    }

    /// Sends a request for a stream, and reads up to the id at its beginning.
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        let response = timeout(HANG, request.send()).await.expect("no response comes").unwrap();
        if response.status() != 200 {
            panic!("{} {}", response.status(), response.text().await.unwrap_or_default());
        }
        Self::begin(response).await.expect("the stream has ended")
    }

    /// Like [`of`](Self::of), but returns `None` if there is no stream.
    pub(crate) async fn try_of(request: RequestBuilder) -> Option<Self> {
        let response = timeout(HANG, request.send()).await.expect("no response comes").ok()?;
        if response.status() == 200 { Self::begin(response).await } else { None }
    }

    /// Reads up to the id at the beginning. Returns `None` if the stream ends before.
    async fn begin(response: reqwest::Response) -> Option<Self> {
        assert_eq!(response.headers()[CONTENT_TYPE], "text/event-stream");
        let mut stream = Self { response, parser: Parser::default() };
        let first = loop {
            if let Some(block) = stream.parser.take_block() {
                break block;
            }
            if !stream.receive().await.unwrap_or(false) {
                return None;
            }
        };
        assert!(first.data.is_null() && !first.id.is_empty(), "{first:?}");
        Some(stream)
    }

    /// Reads the next bytes. Returns whether the stream goes on.
    async fn receive(&mut self) -> reqwest::Result<bool> {
        let bytes = timeout(HANG, self.response.chunk()).await.expect("an event")?;
        self.parser.push(bytes.as_deref().unwrap_or_default());
        Ok(bytes.is_some())
    }

    /// Returns the next event, or `None` at the end of the stream. Fails if the connection is lost.
    pub(crate) async fn try_next(&mut self) -> reqwest::Result<Option<Event>> {
        loop {
            if let Some(event) = self.parser.take() {
                return Ok(Some(event));
            }
            if !self.receive().await? {
                return Ok(None);
            }
        }
    }

    /// Returns the next event. Lines that only keep the connection alive are skipped.
    pub(crate) async fn next(&mut self) -> Event {
        let next = timeout(HANG, self.try_next()).await.expect("no event comes");
        next.unwrap().expect("the stream has ended")
    }

    /// Returns the data of the next event, which must have this name.
    pub(crate) async fn expect(&mut self, name: &str) -> Value {
        let event = self.next().await;
        assert_eq!(event.name, name, "{event:?}");
        event.data
    }

    /// Reads to the end of the stream, skipping other events, and returns the reason of the end.
    pub(crate) async fn reason(mut self) -> String {
        let mut event = self.next().await;
        while event.name != "end" {
            event = self.next().await;
        }
        assert_eq!(self.try_next().await.unwrap(), None, "behind the end");
        event.data["reason"].as_str().unwrap().to_owned()
    }

    /// Returns the id after which the stream can be resumed.
    pub(crate) fn last_id(&self) -> &str {
        self.parser.last_id()
    }
}
