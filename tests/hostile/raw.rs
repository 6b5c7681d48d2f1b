//! Connections on which a test says what is sent when, many at once.

use std::io;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use reqwest::Version;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::{HANG, Response};

/// A connection of a client that follows no rule.
pub(crate) struct Raw {
    stream: TcpStream,
    opened: Instant,
}

/// What came until the service closed the connection, and when it did.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) text: String,
    pub(crate) after: Duration,
}

impl Closed {
    /// Checks that it ends with one answer of this status, in the error envelope.
    #[track_caller]
    pub(crate) fn expect_error(&self, status: u16) -> &Self {
        let mut text = self.text.clone().into_bytes();
        let answer = Response::take(&mut text, "GET").unwrap_or_else(|| panic!("no answer: {self:?}"));
        assert!(answer.expect_failure(status).version == Version::HTTP_11 && text.is_empty(), "{self:?}");
        self
    }

    /// Checks when it came.
    #[track_caller]
    pub(crate) fn expect_within(&self, least: Duration, most: Duration) -> &Self {
        assert!((least..most).contains(&self.after), "{self:?}");
        self
    }
}

impl Raw {
    pub(crate) async fn open(address: &str) -> Self {
        // The service may accept it before that is known here.
        let opened = Instant::now();
        Self { stream: TcpStream::connect(address).await.unwrap(), opened }
    }

    /// Opens one and sends this.
    pub(crate) async fn sending(address: &str, bytes: &[u8]) -> Self {
        let mut raw = Self::open(address).await;
        raw.send(bytes).await;
        raw
    }

    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes).await.unwrap();
    }

    pub(crate) async fn try_send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Reads until something like this has come; all that has.
    pub(crate) async fn until(&mut self, text: &str) -> String {
        let mut read = String::new();
        while !read.contains(text) {
            let mut bytes = [0; 4096];
            let count = timeout(HANG, self.stream.read(&mut bytes)).await.expect("nothing comes").unwrap();
            assert!(count > 0, "closed after {read:?}");
            read += &String::from_utf8_lossy(&bytes[..count]);
        }
        read
    }

    /// Reads until the service closes the connection.
    pub(crate) async fn until_closed(mut self) -> Closed {
        let mut bytes = Vec::new();
        match timeout(HANG, self.stream.read_to_end(&mut bytes)).await.expect("it is never closed") {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
        Closed { text: String::from_utf8_lossy(&bytes).into_owned(), after: self.opened.elapsed() }
    }

    /// Waits until the service cuts a client that reads nothing; how long that took.
    pub(crate) async fn cut(self) -> Duration {
        while self.opened.elapsed() < HANG {
            // What is sent on a connection that was reset fails.
            match self.stream.try_write(b"x") {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return self.opened.elapsed(),
                _ => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
        panic!("it is never cut");
    }
}
