//! The settings of the SMTP server, and connecting to it.

use std::net::IpAddr;
use std::time::Duration;

use lettre::message::Mailbox;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use percent_encoding::percent_decode_str;
use thiserror::Error;
use url::Url;

/// Why a setting of the mail server is invalid, in words for an operator. Messages do not repeat the setting, which may contain a
/// password.
#[derive(Debug, Clone, Error)]
pub enum ServerError {
    /// The URL does not parse, or does not have the scheme or the host that it needs.
    #[error("it must be smtp://USER:PASSWORD@HOST:PORT or smtps://USER:PASSWORD@HOST:PORT")]
    Url,
    /// The URL has a path, a fragment, a query other than `?tls=none`, or `?tls=none` with `smtps://`.
    #[error("only ?tls=none may follow the port, and only with smtp://")]
    UnsupportedPart,
    /// The URL would send passwords and tokens over a network unencrypted.
    #[error("?tls=none is allowed only for a server on this machine")]
    NotLoopback,
    /// The sender is not a valid address.
    #[error("it must be an email address such as no-reply@example.org or Agora <no-reply@example.org>")]
    Sender,
    /// TLS could not be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(String),
}

/// How the connection is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Security {
    /// It begins unencrypted, and is encrypted by STARTTLS before credentials or mails are sent.
    StartTls,
    /// It is encrypted from its beginning (implicit TLS).
    Tls,
    /// It is unencrypted, and allowed only to `localhost` or a loopback address.
    None,
}

/// The parts of a server's URL.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Server {
    host: String,
    port: u16,
    security: Security,
    credentials: Option<(String, String)>,
}

impl Server {
    fn parse(text: &str) -> Result<Self, ServerError> {
        let url = Url::parse(text).map_err(|_| ServerError::Url)?;
        let is_implicit = match url.scheme() {
            "smtp" => false,
            "smtps" => true,
            _ => return Err(ServerError::Url),
        };
        let host = url.host_str().map(|host| host.trim_matches(['[', ']']).to_owned());
        let host = host.filter(|host| !host.is_empty()).ok_or(ServerError::Url)?;
        let is_in_clear = match url.query() {
            None => false,
            Some("tls=none") if !is_implicit => true,
            Some(_) => return Err(ServerError::UnsupportedPart),
        };
        if !matches!(url.path(), "" | "/") || url.fragment().is_some() {
            return Err(ServerError::UnsupportedPart);
        }
        let is_loopback = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        if is_in_clear && !is_loopback {
            return Err(ServerError::NotLoopback);
        }
        let (security, usual_port) = match (is_implicit, is_in_clear) {
            (true, _) => (Security::Tls, 465),
            (false, true) => (Security::None, 25),
            (false, false) => (Security::StartTls, 587),
        };
        let decoded = |text: &str| percent_decode_str(text).decode_utf8().map(String::from);
        let credentials = match (url.username(), url.password()) {
            ("", None) => None,
            (user, password) => {
                let user = decoded(user).map_err(|_| ServerError::Url)?;
                Some((user, decoded(password.unwrap_or_default()).map_err(|_| ServerError::Url)?))
            }
        };
        Ok(Self { host, port: url.port().unwrap_or(usual_port), security, credentials })
    }
}

/// Checks that a URL is valid for a server, without connecting to it.
///
/// # Errors
/// [`ServerError`].
pub fn check_url(url: &str) -> Result<(), ServerError> {
    Server::parse(url).map(drop)
}

/// Checks that a text is a valid sender: an address with or without a display name.
///
/// # Errors
/// [`ServerError`].
pub fn check_sender(sender: &str) -> Result<(), ServerError> {
    parse_sender(sender).map(drop)
}

pub(crate) fn parse_sender(sender: &str) -> Result<Mailbox, ServerError> {
    sender.parse().map_err(|_| ServerError::Sender)
}

/// The timeout of connecting to one of a server's addresses.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How a connection is encrypted, with the parameters of TLS.
enum Encryption {
    /// From its beginning.
    Implicit(TlsParameters),
    /// By STARTTLS.
    StartTls(TlsParameters),
    /// Not at all.
    None,
}

/// Opens connections to a server.
pub(crate) struct Connector {
    address: (String, u16),
    encryption: Encryption,
    hello: ClientId,
    credentials: Option<Credentials>,
}

impl Connector {
    /// Creates a connector for the server with this URL, which introduces itself with this domain.
    pub(crate) fn new(url: &str, domain: &str) -> Result<Self, ServerError> {
        let Server { host, port, security, credentials } = Server::parse(url)?;
        let parameters = || TlsParameters::new(host.clone()).map_err(|error| ServerError::Tls(error.to_string()));
        let encryption = match security {
            Security::StartTls => Encryption::StartTls(parameters()?),
            Security::Tls => Encryption::Implicit(parameters()?),
            Security::None => Encryption::None,
        };
        let hello = if domain.is_ascii() { ClientId::Domain(domain.to_owned()) } else { ClientId::default() };
        let credentials = credentials.map(|(user, password)| Credentials::new(user, password));
        Ok(Self { address: (host, port), encryption, hello, credentials })
    }

    /// Connects to the server, encrypts the connection and logs in.
    pub(crate) async fn connect(&self) -> Result<AsyncSmtpConnection, lettre::transport::smtp::Error> {
        let (host, port) = &self.address;
        let implicit = match &self.encryption {
            Encryption::Implicit(parameters) => Some(parameters.clone()),
            Encryption::StartTls(_) | Encryption::None => None,
        };
        let address = (host.as_str(), *port);
        let connecting =
            AsyncSmtpConnection::connect_tokio1(address, Some(CONNECT_TIMEOUT), &self.hello, implicit, None);
        let mut connection = connecting.await?;
        if let Encryption::StartTls(parameters) = &self.encryption {
            connection.starttls(parameters.clone(), &self.hello).await?;
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials).await?;
        }
        Ok(connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(host: &str, port: u16, security: Security, credentials: Option<(&str, &str)>) -> Server {
        let credentials = credentials.map(|(user, password)| (user.to_owned(), password.to_owned()));
        Server { host: host.to_owned(), port, security, credentials }
    }

    #[test]
    fn a_url_has_the_host_the_port_the_security_and_the_credentials() {
        for (url, expected) in [
            ("smtp://mail.example.org", server("mail.example.org", 587, Security::StartTls, None)),
            ("smtps://mail.example.org/", server("mail.example.org", 465, Security::Tls, None)),
            ("smtp://mail.example.org:2525", server("mail.example.org", 2525, Security::StartTls, None)),
            ("smtp://127.0.0.1?tls=none", server("127.0.0.1", 25, Security::None, None)),
            ("smtp://[::1]:1025?tls=none", server("::1", 1025, Security::None, None)),
            ("smtp://localhost:1025?tls=none", server("localhost", 1025, Security::None, None)),
            (
                "smtps://agora%40example.org:p%C3%A4ss%3A@mail.example.org",
                server("mail.example.org", 465, Security::Tls, Some(("agora@example.org", "päss:"))),
            ),
        ] {
            assert_eq!(Server::parse(url).unwrap(), expected, "{url}");
        }
    }

    #[test]
    fn invalid_and_unencrypted_remote_urls_are_rejected_without_repeating_them() {
        for url in [
            "",
            "mail.example.org",
            "http://mail.example.org",
            "smtp://",
            "smtp:mail.example.org",
            "smtp://mail.example.org?tls=none",
            "smtp://192.0.2.1?tls=none",
            "smtp://127.0.0.1.example.org?tls=none",
            "smtps://127.0.0.1?tls=none",
            "smtp://127.0.0.1?tls=opportunistic",
            "smtp://127.0.0.1?tls=none&tls=none",
            "smtp://mail.example.org/path",
            "smtp://mail.example.org#fragment",
            "smtp://mail.example.org:99999",
            "smtp://user:%ff@mail.example.org",
        ] {
            let refused = check_url(url).unwrap_err().to_string();
            assert!(!["mail.", "192", "user:"].iter().any(|part| refused.contains(part)), "{refused}");
        }
    }

    #[test]
    fn a_sender_is_an_address_with_or_without_a_name() {
        for sender in ["no-reply@example.org", "Agora <no-reply@example.org>", "\"Agora, the service\" <a@example.org>"]
        {
            check_sender(sender).unwrap();
        }
        for sender in
            ["", "Agora", "a@b@c", "Agora <>", "a@example.org, b@example.org", "a@example.org\r\nBcc: b@c.org"]
        {
            check_sender(sender).unwrap_err();
        }
    }
}
