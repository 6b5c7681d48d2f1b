//! A connection of which the test decides what is sent when.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
};

use crate::process::HANG;

/// An HTTP/1.1 connection that is kept open.
pub(crate) struct Connection(BufReader<TcpStream>);

impl Connection {
    /// Connects, and has one request answered, so that the service has surely accepted the connection.
    pub(crate) fn open(address: &str) -> Self {
        let mut connection = Self(BufReader::new(Self::connect(address).unwrap()));
        connection.send(b"GET /api/products/findAll HTTP/1.1\r\nHost: agora\r\n\r\n");
        assert_eq!(connection.answer().0, 200);
        connection
    }

    fn connect(address: &str) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(HANG))?;
        Ok(stream)
    }

    /// Whether nobody listens at an address any more.
    pub(crate) fn is_refused(address: &str) -> bool {
        Self::connect(address).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    }

    /// Sends the head of a request and waits until the service asks for its body: then it is in flight.
    pub(crate) fn begin(&mut self, path: &str, headers: &str, body: &[u8]) {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: agora\r\n{headers}Content-Length: {length}\r\nExpect: 100-continue\r\n\r\n"
        );
        self.send(head.as_bytes());
        assert_eq!(self.head().unwrap().0, 100);
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes).unwrap();
    }

    /// Reads an answer: its status and body.
    pub(crate) fn answer(&mut self) -> (u16, String) {
        self.try_answer().unwrap()
    }

    /// Reads an answer; fails when the service went away before it was whole.
    pub(crate) fn try_answer(&mut self) -> io::Result<(u16, String)> {
        let (status, length) = self.head()?;
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        Ok((status, String::from_utf8(body).unwrap()))
    }

    /// Sends all of a request; fails when the service has gone away.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    /// Waits until the service closes the connection.
    pub(crate) fn expect_end(&mut self) {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
    }

    /// The status of an answer and the length of its body.
    fn head(&mut self) -> io::Result<(u16, usize)> {
        let status = self.line()?.split(' ').nth(1).unwrap().parse().unwrap();
        let mut length = 0;
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                return Ok((status, length));
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        // Without its end, it was cut.
        let whole = line.strip_suffix("\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(whole.to_owned())
    }
}
