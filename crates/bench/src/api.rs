//! A blocking client of the service. Unlike that of the tests, it returns errors, which a measurement reports.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reqwest::Method;
use reqwest::blocking::Client;
use serde_json::{Value, json};

/// The time limit of a request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A request that may be sent repeatedly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) token: String,
    /// JSON.
    pub(crate) body: Option<String>,
}

impl Request {
    /// Creates a GET request.
    pub(crate) fn get(path: impl Into<String>, token: &str) -> Self {
        Self { method: "GET", path: path.into(), token: token.to_owned(), body: None }
    }

    /// Creates a POST request.
    pub(crate) fn post(path: impl Into<String>, token: &str, body: Option<&Value>) -> Self {
        Self { method: "POST", path: path.into(), token: token.to_owned(), body: body.map(Value::to_string) }
    }
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// The bytes of head and body.
    pub(crate) size: usize,
    /// The path of the next page.
    pub(crate) next: Option<String>,
    pub(crate) text: String,
    pub(crate) body: Value,
}

/// The service at an address.
pub(crate) struct Api {
    base: String,
    client: Client,
}

impl Api {
    /// Creates a client of the service on a port of this machine.
    pub(crate) fn new(port: u16) -> Result<Self> {
        let client = Client::builder().timeout(TIMEOUT).build()?;
        Ok(Self { base: format!("http://127.0.0.1:{port}"), client })
    }

    /// Creates a client of the service at a base URL that connects from another loopback address.
    pub(crate) fn from(base: &str, client: Ipv4Addr) -> Result<Self> {
        let client = Client::builder().timeout(TIMEOUT).local_address(IpAddr::V4(client)).build()?;
        Ok(Self { base: base.to_owned(), client })
    }

    /// Returns the base URL of the service.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Sends a request; returns the response whatever its status.
    pub(crate) fn send(&self, request: &Request) -> Result<Response> {
        let method: Method = request.method.parse()?;
        let mut sent = self.client.request(method, format!("{}{}", self.base, request.path));
        if !request.token.is_empty() {
            sent = sent.bearer_auth(&request.token);
        }
        if let Some(body) = &request.body {
            sent = sent.header("content-type", "application/json").body(body.clone());
        }
        let response = sent.send()?;
        let status = response.status();
        let lines = response.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
        let first = "HTTP/1.1 200 \r\n\r\n".len() + status.canonical_reason().unwrap_or_default().len();
        let head = first + lines.sum::<usize>();
        let link = response.headers().get("link").and_then(|link| link.to_str().ok());
        let next = link.and_then(|link| next_page(link, &self.base));
        let text = response.text()?;
        let body = serde_json::from_str(&text).unwrap_or_default();
        Ok(Response { status: status.as_u16(), size: head + text.len(), next, text, body })
    }

    /// Sends a request; fails unless the status of the response is 2xx.
    pub(crate) fn expect(&self, request: &Request) -> Result<Response> {
        let answer = self.send(request)?;
        let well = (200..300).contains(&answer.status);
        ensure!(well, "{} {}: {} {}", request.method, request.path, answer.status, answer.text);
        Ok(answer)
    }

    /// Sends a GET request that must succeed; returns the field `data` of the response.
    pub(crate) fn data(&self, path: &str, token: &str) -> Result<Value> {
        Ok(self.expect(&Request::get(path, token))?.body["data"].take())
    }

    /// Logs in; returns the token.
    pub(crate) fn login(&self, name: &str, password: &str) -> Result<String> {
        let body = json!({ "identifier": name, "password": password });
        let answer = self.expect(&Request::post("/api/auth/login", "", Some(&body)))?;
        Ok(answer.body["token"].as_str().context("a login without a token")?.to_owned())
    }
}

/// Returns the path of the next page in a `Link` header.
fn next_page(link: &str, base: &str) -> Option<String> {
    let next = link.split(", ").find_map(|link| link.strip_suffix(">; rel=\"next\""))?;
    next.strip_prefix('<')?.strip_prefix(base).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_a_path() {
        let link = "<http://127.0.0.1:80/api/posts/following/all?size=20&cursor=x>; rel=\"next\"";
        let path = "/api/posts/following/all?size=20&cursor=x";
        assert_eq!(next_page(link, "http://127.0.0.1:80").as_deref(), Some(path));
        let both = format!("<http://127.0.0.1:80/>; rel=\"prev\", {link}");
        assert_eq!(next_page(&both, "http://127.0.0.1:80").as_deref(), Some(path));
        assert_eq!(next_page("<http://elsewhere/>; rel=\"next\"", "http://127.0.0.1:80"), None);
        assert_eq!(next_page("<http://127.0.0.1:80/>; rel=\"prev\"", "http://127.0.0.1:80"), None);
    }
}
