//! Asynchronous TCP connections over which a test sends arbitrary bytes.

use std::io;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use reqwest::Version;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::{HANG, Response};

/// A connection over which a test sends arbitrary bytes.
pub(crate) struct Raw {
    stream: TcpStream,
    opened: Instant,
}

/// The received text, and the time after which the service closed the connection.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) text: String,
    pub(crate) after: Duration,
}

impl Closed {
    /// Checks that exactly one response was received: a failure with this status.
    #[track_caller]
    pub(crate) fn expect_error(&self, status: u16) -> &Self {
        let mut text = self.text.clone().into_bytes();
        let answer = Response::take(&mut text, "GET").unwrap_or_else(|| panic!("no response: {self:?}"));
        assert!(answer.expect_failure(status).version == Version::HTTP_11 && text.is_empty(), "{self:?}");
        self
    }

    /// Checks when the connection was closed.
    #[track_caller]
    pub(crate) fn expect_within(&self, min: Duration, max: Duration) -> &Self {
        assert!((min..max).contains(&self.after), "{self:?}");
        self
    }
}

impl Raw {
    pub(crate) async fn open(address: &str) -> Self {
        // Before the connection, because the service may accept it before this call returns.
        let opened = Instant::now();
        Self { stream: TcpStream::connect(address).await.unwrap(), opened }
    }

    /// Opens a connection and sends these bytes.
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

    /// Reads until this text was received. Returns all that was received.
    pub(crate) async fn until(&mut self, text: &str) -> String {
        let mut read = String::new();
        while !read.contains(text) {
            let mut bytes = [0; 4096];
            let count = timeout(HANG, self.stream.read(&mut bytes)).await.expect("more bytes").unwrap();
            assert!(count > 0, "closed after {read:?}");
            read += &String::from_utf8_lossy(&bytes[..count]);
        }
        read
    }

    /// Reads until the service closes the connection.
    pub(crate) async fn until_closed(mut self) -> Closed {
        let mut bytes = Vec::new();
        match timeout(HANG, self.stream.read_to_end(&mut bytes)).await.expect("the connection is closed") {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
        Closed { text: String::from_utf8_lossy(&bytes).into_owned(), after: self.opened.elapsed() }
    }

    /// Waits, without reading, until the service closes the connection. Returns the time that this took.
    pub(crate) async fn until_cut(self) -> Duration {
        while self.opened.elapsed() < HANG {
            // Writes fail once the connection was reset.
            match self.stream.try_write(b"x") {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return self.opened.elapsed(),
                _ => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
        panic!("the connection is never closed");
    }
}
