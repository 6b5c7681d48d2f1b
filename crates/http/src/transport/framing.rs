//! Finds the end of each request, so that the next one reaches actix-http only after the response was sent.
//!
//! actix-http reads ahead. Of the head that it parsed last, it keeps the version, whether the response has a body (HEAD) and
//! whether the connection is kept alive, and it uses these for the response to the request before. So the response to a HEAD
//! with another request behind it could have a body, which the client would take for the next response. Therefore actix-http
//! gets one request at a time. It alone parses requests: this module decides when it gets the bytes, never which.

use actix_web::dev::{Payload, ServiceRequest};
use actix_web::http::header::HeaderMap;
use actix_web::http::{Method, header};

/// The state of a scanner that finds the end of a request head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Head {
    /// Before the request line, which empty lines may precede.
    #[default]
    Start,
    /// Within a line.
    Line,
    /// At the beginning of a line.
    Newline,
    /// After a carriage return at the beginning of a line.
    CarriageReturn,
}

impl Head {
    /// Scans the next bytes. Returns how many of them belong to the head if it ends among them, with its first empty line.
    pub(crate) fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            match self {
                Self::Start => {
                    at += bytes[at..].iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
                    *self = Self::Line;
                }
                Self::Line => {
                    at += memchr::memchr(b'\n', &bytes[at..])? + 1;
                    *self = Self::Newline;
                }
                Self::Newline | Self::CarriageReturn => {
                    let byte = *bytes.get(at)?;
                    at += 1;
                    match byte {
                        b'\n' => {
                            *self = Self::Start;
                            return Some(at);
                        }
                        b'\r' if *self == Self::Newline => *self = Self::CarriageReturn,
                        _ => *self = Self::Line,
                    }
                }
            }
        }
    }
}

/// Returns the first parseable `Content-Length` of a head. It is a hint only: the head is not otherwise parsed.
pub(crate) fn content_length_hint(head: &[u8]) -> Option<usize> {
    head.split(|&byte| byte == b'\n').skip(1).find_map(|line| {
        let (name, value) = line.split_at_checked(b"content-length:".len())?;
        name.eq_ignore_ascii_case(b"content-length:").then(|| std::str::from_utf8(value).ok()?.trim().parse().ok())?
    })
}

/// The part of a request body that is still to be received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    /// Nothing.
    Over,
    /// This many bytes.
    Length(u64),
    /// Chunks, up to the last one.
    Chunked(Chunks),
    /// Everything until the connection ends.
    Unbounded,
    /// Nothing, since a chunk was malformed.
    Broken,
}

impl Body {
    /// Returns the whole body of a request whose head actix-http has parsed.
    pub(crate) fn of(request: &mut ServiceRequest) -> Self {
        if matches!(request.parts_mut().1, Payload::None) {
            return Self::Over;
        }
        let headers = request.headers();
        if headers.contains_key(header::TRANSFER_ENCODING) {
            Self::Chunked(Chunks::First)
        } else if is_websocket(headers) {
            Self::Unbounded
        } else {
            let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.trim().parse().ok());
            length.map_or(Self::Unbounded, |length| Self::Length(length).after(0))
        }
    }

    /// Returns what is left after this many bytes. Only a body with a length changes.
    pub(crate) fn after(self, bytes: usize) -> Self {
        match self {
            Self::Length(left) => match left.saturating_sub(bytes as u64) {
                0 => Self::Over,
                left => Self::Length(left),
            },
            other => other,
        }
    }

    /// Consumes those of the next bytes that belong to the body, and returns how many these are.
    pub(crate) fn consume(&mut self, bytes: &[u8]) -> usize {
        match self {
            Self::Over | Self::Broken => 0,
            Self::Unbounded => bytes.len(),
            Self::Length(left) => {
                let taken = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                *self = self.after(taken);
                taken
            }
            Self::Chunked(chunks) => match chunks.parse(bytes) {
                Progress::Within => bytes.len(),
                Progress::Ended(at) => {
                    *self = Self::Over;
                    at
                }
                Progress::Broken(at) => {
                    *self = Self::Broken;
                    at
                }
            },
        }
    }
}

/// Returns whether a request asks for an upgrade to WebSocket, whose first bytes actix-http treats as the request body.
fn is_websocket(headers: &HeaderMap) -> bool {
    let mut upgrades = headers.get_all(header::UPGRADE).filter_map(|value| value.to_str().ok());
    upgrades.any(|value| value.trim().eq_ignore_ascii_case("websocket"))
}

/// Returns whether the body of a request would end only with the connection, so that reading it would never finish.
pub(crate) fn is_body_without_end(request: &ServiceRequest) -> bool {
    let headers = request.headers();
    is_websocket(headers)
        && !headers.contains_key(header::TRANSFER_ENCODING)
        && (headers.contains_key(header::CONTENT_LENGTH) || ![Method::GET, Method::HEAD].contains(request.method()))
}

/// The state of a parser of a chunked body (RFC 9112, 7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chunks {
    /// Before the first digit of a size.
    First,
    Size(u64),
    /// In the blanks after the size.
    Blank(u64),
    Extension(u64),
    /// Before the line feed that ends the line of the size.
    SizeEnd(u64),
    /// Before this many bytes of data.
    Data(u64),
    DataReturn,
    DataEnd,
    /// At the beginning of a trailer, or of the empty line that ends the body.
    Line,
    Trailer,
    TrailerEnd,
    /// Before the line feed that ends the body.
    Last,
}

/// The outcome of parsing the next bytes of a chunked body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// All bytes belong to the body, which goes on.
    Within,
    /// The body ended after this many bytes.
    Ended(usize),
    /// The byte after this many is malformed.
    Broken(usize),
}

impl Chunks {
    fn parse(&mut self, bytes: &[u8]) -> Progress {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if let Self::Data(left) = *self {
                let there = bytes.len() - at;
                let taken = usize::try_from(left).map_or(there, |left| left.min(there));
                at += taken;
                let left = left - taken as u64;
                *self = if left == 0 { Self::DataReturn } else { Self::Data(left) };
                continue;
            }
            if *self == Self::Last && byte == b'\n' {
                return Progress::Ended(at + 1);
            }
            let Some(next) = self.step(byte) else { return Progress::Broken(at) };
            *self = next;
            at += 1;
        }
        Progress::Within
    }

    fn step(self, byte: u8) -> Option<Self> {
        let digit = char::from(byte).to_digit(16).map(u64::from);
        let is_text = matches!(byte, b'\t' | b' '..=b'~' | 0x80..);
        Some(match (self, byte) {
            (Self::First, _) => Self::Size(digit?),
            (Self::Size(size) | Self::Blank(size), b' ' | b'\t') => Self::Blank(size),
            (Self::Size(size) | Self::Blank(size), b';') => Self::Extension(size),
            (Self::Size(size) | Self::Blank(size) | Self::Extension(size), b'\r') => Self::SizeEnd(size),
            (Self::Size(size), _) => Self::Size(size.checked_mul(16)? + digit?),
            (Self::Extension(size), _) if is_text => Self::Extension(size),
            (Self::SizeEnd(0), b'\n') => Self::Line,
            (Self::SizeEnd(size), b'\n') => Self::Data(size),
            (Self::DataReturn, b'\r') => Self::DataEnd,
            (Self::DataEnd, b'\n') => Self::First,
            (Self::Line, b'\r') => Self::Last,
            (Self::Trailer, b'\r') => Self::TrailerEnd,
            (Self::Line | Self::Trailer, _) if is_text => Self::Trailer,
            (Self::TrailerEnd, b'\n') => Self::Line,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::proptest_config;

    #[test]
    fn a_head_ends_with_its_first_empty_line() {
        for (bytes, end) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\nnext", Some(27)),
            ("GET / HTTP/1.1\nHost: a\n\nnext", Some(24)),
            ("GET / HTTP/1.1\r\n\nnext", Some(17)),
            ("\r\n\n\r\nGET / HTTP/1.1\r\n\r\nnext", Some(23)),
            ("GET / HTTP/1.1\r\nA: \r\r\n\rB\r\n", None),
            ("\r\n\r\n\r\n\r\n", None),
            ("", None),
        ] {
            assert_eq!(Head::default().end(bytes.as_bytes()), end, "{bytes:?}");
            let mut head = Head::default();
            let found = bytes.bytes().position(|byte| head.end(&[byte]).is_some());
            assert_eq!(found.map(|at| at + 1), end, "byte by byte: {bytes:?}");
        }
    }

    #[test]
    fn the_hint_is_the_value_of_a_plain_content_length() {
        let seen = |line: &str| content_length_hint(format!("PUT / HTTP/1.1\r\n{line}\r\nA: b\r\n\r\n").as_bytes());
        assert_eq!(seen("content-LENGTH:  12 "), Some(12));
        for other in ["Content-Length: x", "Content-Length : 12", "X-Content-Length: 12", "Content-Length: -1", ""] {
            assert_eq!(seen(other), None, "{other}");
        }
    }

    #[test]
    fn a_chunked_body_ends_after_its_trailers_and_malformed_chunks_are_found() {
        for (body, expected) in [
            ("5\r\nhello\r\n0\r\n\r\nGET", Progress::Ended(15)),
            ("a;x=\"y\"\r\n0123456789\r\n00 \t;z\r\n\r\n", Progress::Ended(31)),
            ("3\r\n\n\r\n\r\n0\r\nTrailer: yes\r\nOther: x\r\n\r\n", Progress::Ended(37)),
            ("ffffffffffffffff\r\nmuch", Progress::Within),
            ("5\r\nhell", Progress::Within),
            ("fffffffffffffffff\r\n", Progress::Broken(16)),
            ("5\nhello", Progress::Broken(1)),
            ("5\rhello", Progress::Broken(2)),
            ("5;x\nhello", Progress::Broken(3)),
            ("5\r\nhello0\r\n\r\n", Progress::Broken(8)),
            ("-5\r\n", Progress::Broken(0)),
            ("0x5\r\n", Progress::Broken(1)),
            (" 5\r\n", Progress::Broken(0)),
            ("\r\n", Progress::Broken(0)),
            ("0\r\nTrailer: \0\r\n\r\n", Progress::Broken(12)),
            ("0\r\nTrailer: a\nb: c\r\n\r\n", Progress::Broken(13)),
        ] {
            assert_eq!(Chunks::First.parse(body.as_bytes()), expected, "{body:?}");
        }
    }

    #[test]
    fn the_end_of_a_chunked_body_is_found_however_its_bytes_are_split() {
        let chunks = prop::collection::vec("[a-z\r\n0;]{1,20}", 0..8);
        proptest!(proptest_config(), |(chunks in chunks, cuts in prop::collection::vec(1..9_usize, 1..9))| {
            let mut body: String = chunks.iter().map(|data| format!("{:x}\r\n{data}\r\n", data.len())).collect();
            body.push_str("0\r\n\r\n");
            let (end, sent) = (body.len(), body + "0\r\n\r\nGET /");
            let (mut reading, mut rest, mut taken) = (Body::Chunked(Chunks::First), sent.as_bytes(), 0);
            for cut in cuts.iter().cycle() {
                let (part, after) = rest.split_at(rest.len().min(*cut));
                taken += reading.consume(part);
                if reading == Body::Over {
                    break;
                }
                prop_assert!(!after.is_empty());
                rest = after;
            }
            prop_assert_eq!(taken, end);
        });
    }

    #[test]
    fn a_body_with_a_length_ends_after_that_many_bytes() {
        let mut body = Body::Length(5);
        assert_eq!((body.consume(b"abc"), body), (3, Body::Length(2)));
        assert_eq!((body.consume(b"defg"), body), (2, Body::Over));
        assert_eq!(Body::Length(5).after(5), Body::Over);
        assert_eq!(Body::Length(u64::MAX).consume(b"abc"), 3);
    }
}
