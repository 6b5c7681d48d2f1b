//! A connection over which a test sends bytes at the moments that it chooses.

use std::io;
use std::io::{Read, Write};
use std::net::TcpStream;

use crate::client::{HANG, Response};

/// An HTTP/1.1 connection that is kept open.
pub(crate) struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Connection {
    /// Connects, and completes one request, so that the service has certainly accepted the connection.
    pub(crate) fn open(address: &str) -> Self {
        let mut connection = Self { stream: Self::connect(address).unwrap(), received: Vec::new() };
        connection.send(b"GET /api/products/findAll HTTP/1.1\r\nHost: agora\r\n\r\n");
        connection.answer().expect(200);
        connection
    }

    fn connect(address: &str) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(HANG))?;
        Ok(stream)
    }

    /// Returns whether connections to an address are refused.
    pub(crate) fn is_refused(address: &str) -> bool {
        Self::connect(address).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    }

    /// Sends the head of a request and waits for `100 Continue`: then the request is in flight.
    pub(crate) fn begin(&mut self, path: &str, headers: &str, body: &[u8]) {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: agora\r\n{headers}Content-Length: {length}\r\nExpect: 100-continue\r\n\r\n"
        );
        self.send(head.as_bytes());
        self.answer().expect(100);
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes).unwrap();
    }

    pub(crate) fn answer(&mut self) -> Response {
        self.try_answer().unwrap()
    }

    /// Reads a response; fails if the service closes the connection before it is complete.
    pub(crate) fn try_answer(&mut self) -> io::Result<Response> {
        Response::read(&mut self.stream, &mut self.received, "GET")
    }

    /// Sends all bytes; fails if the service has closed the connection.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Waits until the service closes the connection.
    pub(crate) fn expect_end(&mut self) {
        self.stream.read_to_end(&mut self.received).unwrap();
        assert!(self.received.is_empty(), "{}", String::from_utf8_lossy(&self.received));
    }
}
