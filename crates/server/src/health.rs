//! `agora health`: asks a running service how it is, for what starts and watches services where there is no other client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};
use std::{io, thread};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use url::{Position, Url};

use crate::config::{Config, Invalid};
use crate::listen::reachable;

/// Where a service says whether it can serve.
const READY: &str = "/health/ready";

/// How long an answer may take: less than what asks is commonly given.
const PATIENCE: Duration = Duration::from_secs(5);

/// The time between two questions to a service that is waited for.
const PAUSE: Duration = Duration::from_millis(200);

/// More of a first line is not read.
const LINE: u64 = 256;

/// What to ask, and for how long.
#[derive(Debug, Args)]
pub(crate) struct HealthArguments {
    /// The URL to query instead of /health/ready at AGORA_LISTEN; http only
    #[arg(value_name = "URL")]
    url: Option<String>,

    /// Retry until the service is ready, for at most this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    wait: u64,
}

/// Asks; the answer when all is well.
///
/// # Errors
/// What is not well: the answer's status, or that there is none.
pub(crate) fn health(config: &Config, arguments: &HealthArguments) -> Result<String> {
    let url = match &arguments.url {
        Some(url) => given(url)?,
        None => of_service(&config.listen)?,
    };
    let (begun, wait) = (Instant::now(), Duration::from_secs(arguments.wait));
    let mut patience = if wait.is_zero() { PATIENCE } else { wait };
    loop {
        match ask(&url, Deadline::after(patience.min(PATIENCE))) {
            Ok(()) => return Ok("well".to_owned()),
            Err(error) if begun.elapsed() + PAUSE >= wait => return Err(error),
            Err(_) => thread::sleep(PAUSE),
        }
        patience = wait.saturating_sub(begun.elapsed());
    }
}

/// Returns a URL of the command line.
fn given(url: &str) -> Result<Url, Invalid> {
    let refused = |what: &str| Invalid::because(&format!("{url}: {what}"));
    let parsed = Url::parse(url).map_err(|error| refused(&format!("the URL cannot be understood: {error}")))?;
    if parsed.scheme() != "http" {
        return Err(refused("only http can be asked, as the service itself speaks it"));
    }
    Ok(parsed)
}

/// Where a service that listens like this is asked from the same machine.
fn of_service(listen: &str) -> Result<Url> {
    let listened = listen.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    let address = reachable(listened.with_context(|| format!("AGORA_LISTEN={listen} names no address"))?);
    ensure!(address.port() != 0, "AGORA_LISTEN={listen} takes a free port: name the URL");
    Ok(Url::parse(&format!("http://{address}{READY}"))?)
}

/// Sends one request; a status of success is all that counts.
fn ask(url: &Url, deadline: Deadline) -> Result<()> {
    let unanswered = || format!("{url} does not answer");
    let addresses = url.socket_addrs(|| None).with_context(unanswered)?;
    let mut stream = DeadlineStream { stream: connect(&addresses, deadline).with_context(unanswered)?, deadline };
    let (host, path) =
        (&url[Position::BeforeHost..Position::AfterPort], &url[Position::BeforePath..Position::AfterQuery]);
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).with_context(unanswered)?;
    let mut line = String::new();
    BufReader::new(stream.take(LINE)).read_line(&mut line).with_context(unanswered)?;
    let status = line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse::<u16>().ok());
    match status {
        Some(200..=299) => Ok(()),
        Some(status) => bail!("{url} answers {status}"),
        None => bail!("{url} does not answer as a service does"),
    }
}

/// The end of the time that a question has, however many parts its answer comes in.
#[derive(Clone, Copy)]
struct Deadline(Instant);

impl Deadline {
    fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }

    /// Returns the time that is left.
    fn left(self) -> io::Result<Duration> {
        let left = self.0.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

/// A connection that is used until then.
struct DeadlineStream {
    stream: TcpStream,
    deadline: Deadline,
}

impl Read for DeadlineStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.deadline.left()?))?;
        // What the system says of a time-out is about something else.
        self.stream.read(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
            _ => error,
        })
    }
}

impl Write for DeadlineStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.deadline.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn connect(addresses: &[SocketAddr], deadline: Deadline) -> Result<TcpStream> {
    let mut failure = anyhow::anyhow!("it has no address");
    for address in addresses {
        match TcpStream::connect_timeout(address, deadline.left()?) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error.into(),
        }
    }
    Err(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_on_all_interfaces_is_asked_on_the_loopback_one() {
        for (listen, url) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080/health/ready"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080/health/ready"),
            ("[::]:81", "http://[::1]:81/health/ready"),
            ("192.0.2.1:80", "http://192.0.2.1/health/ready"),
        ] {
            assert_eq!(of_service(listen).unwrap().as_str(), url);
        }
        assert!(of_service("127.0.0.1:0").is_err() && of_service("nowhere").is_err());
    }
}
