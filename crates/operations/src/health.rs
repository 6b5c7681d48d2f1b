//! `agora health`: queries the readiness of a running service, for supervisors and containers without another HTTP client.

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

/// The path of the readiness check.
const READY: &str = "/health/ready";

/// The time limit of one request: shorter than the usual timeouts of health checks.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The time between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// The most bytes that are read of the status line.
const MAX_STATUS_LINE: u64 = 256;

/// Queries `url`, or by default the service at `AGORA_LISTEN` on this machine, and retries for up to `wait`. Returns a text for
/// the operator once the service is ready.
///
/// # Errors
/// The status of the last response, or that there was none.
pub async fn health(config: &Config, url: Option<&str>, wait: Duration) -> Result<String> {
    let url = match url {
        Some(url) => parse(url)?,
        None => local_service(&config.listen)?,
    };
    let begun = Instant::now();
    loop {
        let left = if wait.is_zero() { REQUEST_TIMEOUT } else { wait.saturating_sub(begun.elapsed()) };
        match query(&url, left.min(REQUEST_TIMEOUT)).await {
            Ok(()) => return Ok("ready".to_owned()),
            Err(error) if begun.elapsed() + RETRY_INTERVAL >= wait => return Err(error),
            Err(_) => sleep(RETRY_INTERVAL).await,
        }
    }
}

/// Parses the URL given on the command line.
fn parse(url: &str) -> Result<Url, Invalid> {
    let parsed = Url::parse(url).map_err(|error| Invalid(format!("{url}: invalid URL: {error}")))?;
    if parsed.scheme() != "http" {
        return Err(Invalid(format!("{url}: only http is supported")));
    }
    Ok(parsed)
}

/// Returns the URL of the readiness check of a service on this machine that listens on `listen`.
fn local_service(listen: &str) -> Result<Url> {
    let listened = listen.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    let address = reachable(listened.with_context(|| format!("AGORA_LISTEN={listen} does not resolve to an address"))?);
    ensure!(address.port() != 0, "AGORA_LISTEN={listen} has no fixed port: give the URL");
    Ok(Url::parse(&format!("http://{address}{READY}"))?)
}

/// Sends one request, and fails unless the status is 2xx.
async fn query(url: &Url, time_limit: Duration) -> Result<()> {
    let answered = timeout(time_limit, status(url)).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    match answered.with_context(|| format!("{url} does not respond"))? {
        Some(200..=299) => Ok(()),
        Some(status) => bail!("{url} responded with status {status}"),
        None => bail!("{url} did not send an HTTP/1.1 response"),
    }
}

/// Sends a GET request; returns the status of the response, or `None` if it is not an HTTP/1.1 response.
async fn status(url: &Url) -> io::Result<Option<u16>> {
    let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
    let mut stream = TcpStream::connect(format!("{host}:{port}")).await?;
    let (host, path) =
        (&url[Position::BeforeHost..Position::AfterPort], &url[Position::BeforePath..Position::AfterQuery]);
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut line = String::new();
    BufReader::new(stream.take(MAX_STATUS_LINE)).read_line(&mut line).await?;
    Ok(line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_on_all_interfaces_is_queried_on_the_loopback_interface() {
        for (listen, url) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080/health/ready"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080/health/ready"),
            ("[::]:81", "http://[::1]:81/health/ready"),
            ("192.0.2.1:80", "http://192.0.2.1/health/ready"),
        ] {
            assert_eq!(local_service(listen).unwrap().as_str(), url);
        }
        assert!(local_service("127.0.0.1:0").is_err() && local_service("nowhere").is_err());
    }
}
