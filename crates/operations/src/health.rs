//! `agora health`: asks a running service how it is, for what starts and watches services where there is no other
//! client.

use std::io;
use std::net::ToSocketAddrs;
use std::time::{Duration, Instant};

use agora_config::{Config, Invalid};
use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use url::{Position, Url};

use crate::host::reachable;

/// Where a service says whether it can serve.
const READY: &str = "/health/ready";

/// How long an answer may take: less than what asks is commonly given.
const PATIENCE: Duration = Duration::from_secs(5);

/// The time between two questions to a service that is waited for.
const PAUSE: Duration = Duration::from_millis(200);

/// More of a first line is not read.
const LINE: u64 = 256;

/// Asks this URL, or else the service of this machine, again and again for as long as it should; returns the answer
/// when all is well.
///
/// # Errors
/// What is not well: the answer's status, or that there is none.
pub async fn health(config: &Config, url: Option<&str>, wait: Duration) -> Result<String> {
    let url = match url {
        Some(url) => parse(url)?,
        None => of_service(&config.listen)?,
    };
    let begun = Instant::now();
    loop {
        let left = if wait.is_zero() { PATIENCE } else { wait.saturating_sub(begun.elapsed()) };
        match ask(&url, left.min(PATIENCE)).await {
            Ok(()) => return Ok("well".to_owned()),
            Err(error) if begun.elapsed() + PAUSE >= wait => return Err(error),
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// Returns a URL of the command line.
fn parse(url: &str) -> Result<Url, Invalid> {
    let parsed = Url::parse(url).map_err(|error| Invalid(format!("{url}: the URL cannot be understood: {error}")))?;
    if parsed.scheme() != "http" {
        return Err(Invalid(format!("{url}: only http can be asked, as the service itself speaks it")));
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
async fn ask(url: &Url, patience: Duration) -> Result<()> {
    let answered = timeout(patience, status(url)).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    match answered.with_context(|| format!("{url} does not answer"))? {
        Some(200..=299) => Ok(()),
        Some(status) => bail!("{url} answers {status}"),
        None => bail!("{url} does not answer as a service does"),
    }
}

/// Returns the status that a request is answered with.
async fn status(url: &Url) -> io::Result<Option<u16>> {
    let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
    let mut stream = TcpStream::connect(format!("{host}:{port}")).await?;
    let (host, path) =
        (&url[Position::BeforeHost..Position::AfterPort], &url[Position::BeforePath..Position::AfterQuery]);
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut line = String::new();
    BufReader::new(stream.take(LINE)).read_line(&mut line).await?;
    Ok(line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok()))
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
