//! A minimal HTTP client, which takes little processor time from the service that is measured on the same machine. It discards
//! bodies.

use std::io;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// A client with one connection at a time, which is kept alive, and replaced when it was closed.
pub(crate) struct Client {
    address: String,
    timeout: Duration,
    idle: Option<BufReader<TcpStream>>,
}

impl Client {
    /// Creates a client with this timeout of each read and write.
    pub(crate) fn new(address: &str, timeout: Duration) -> Self {
        Self { address: address.to_owned(), timeout, idle: None }
    }

    /// Sends a request, reads the response to its end, and returns its status.
    pub(crate) fn send(&mut self, request: &[u8]) -> io::Result<u16> {
        if let Some(idle) = self.idle.take() {
            match self.exchange(idle, request) {
                // The connection was closed while it was idle.
                Err(error) if is_closed(&error) => {}
                answered => return answered,
            }
        }
        let stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(self.timeout))?;
        stream.set_write_timeout(Some(self.timeout))?;
        self.exchange(BufReader::with_capacity(64 * 1024, stream), request)
    }

    fn exchange(&mut self, mut stream: BufReader<TcpStream>, request: &[u8]) -> io::Result<u16> {
        // A request may be refused before all of it was read. Then writing fails, but there is a response.
        let written = stream.get_mut().write_all(request);
        let answer = Head::read(&mut stream).and_then(|head| {
            head.skip_body(&mut stream, request.starts_with(b"HEAD "))?;
            Ok(head)
        });
        match (answer, written) {
            (Ok(head), written) => {
                self.idle = (!head.is_last && written.is_ok()).then_some(stream);
                Ok(head.status)
            }
            (Err(_), Err(error)) | (Err(error), Ok(())) => Err(error),
        }
    }
}

/// Returns whether the server closed the connection.
fn is_closed(error: &io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// The parts of a response head that framing needs.
#[derive(Default)]
struct Head {
    status: u16,
    length: Option<u64>,
    is_chunked: bool,
    is_last: bool,
}

impl Head {
    fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Self> {
        let line = read_line(stream)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut head = Self { status: status.ok_or(ErrorKind::InvalidData)?, ..Self::default() };
        loop {
            let line = read_line(stream)?.to_ascii_lowercase();
            match line.split_once(": ") {
                _ if line.is_empty() => return Ok(head),
                Some(("content-length", length)) => head.length = length.parse().ok(),
                Some(("transfer-encoding", _)) => head.is_chunked = true,
                Some(("connection", value)) => head.is_last = value == "close",
                _ => {}
            }
        }
    }

    fn skip_body(&self, stream: &mut BufReader<TcpStream>, asked_for_head: bool) -> io::Result<()> {
        if asked_for_head || self.status == 304 {
            return Ok(());
        }
        if !self.is_chunked {
            return skip(stream, self.length.unwrap_or_default());
        }
        loop {
            let size = read_line(stream)?;
            let size = u64::from_str_radix(size.trim(), 16).map_err(|_| ErrorKind::InvalidData)?;
            skip(stream, size)?;
            read_line(stream)?;
            if size == 0 {
                return Ok(());
            }
        }
    }
}

fn read_line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().to_owned())
}

fn skip(stream: &mut BufReader<TcpStream>, bytes: u64) -> io::Result<()> {
    let skipped = io::copy(&mut stream.take(bytes), &mut io::sink())?;
    if skipped == bytes { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
}
