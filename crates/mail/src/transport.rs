//! Sending mails through an SMTP server.

use std::fmt::Display;
use std::time::Duration;

use agora_domain::mail::{MailTransport, OutgoingMail, SendError};
use async_trait::async_trait;
use lettre::Address;
use lettre::address::Envelope;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message};
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{Extension, MailBodyParameter, MailParameter};
use tokio::time::timeout;

use crate::server::{Connector, ServerError, parse_sender};
use crate::templates::Templates;

/// The timeouts of the steps of an SMTP session.
#[derive(Debug, Clone, Copy)]
struct Timeouts {
    /// To connect, encrypt and log in.
    connect: Duration,
    /// To send the envelope, up to the reply to DATA.
    envelope: Duration,
    /// To send the mail, up to the reply that accepts or refuses it.
    acceptance: Duration,
    /// To end the session with QUIT.
    quit: Duration,
}

impl Timeouts {
    /// A server may take ten minutes to decide whether it accepts a mail (RFC 5321, 4.5.3.2.6). If the client gave up earlier and
    /// the server accepted the mail all the same, it would be sent again.
    const DEFAULT: Self = Self {
        connect: Duration::from_secs(30),
        envelope: Duration::from_secs(30),
        acceptance: Duration::from_secs(10 * 60),
        quit: Duration::from_secs(10),
    };
}

/// A client of an SMTP server, with a new connection for each mail.
pub struct Smtp {
    connector: Connector,
    sender: Mailbox,
    templates: Templates,
    timeouts: Timeouts,
}

impl Smtp {
    /// Creates a client of the server with this URL, which sends mails from `sender`. It connects only when there is a mail.
    ///
    /// # Errors
    /// [`ServerError`].
    pub fn new(url: &str, sender: &str, templates: Templates) -> Result<Self, ServerError> {
        let sender = parse_sender(sender)?;
        let connector = Connector::new(url, sender.email.domain())?;
        Ok(Self { connector, sender, templates, timeouts: Timeouts::DEFAULT })
    }

    /// Checks that the server can be reached, has a valid certificate if TLS is used, and accepts the
    /// credentials. No mail is sent.
    ///
    /// # Errors
    /// [`SendError`].
    pub async fn probe(&self) -> Result<(), SendError> {
        self.quit(self.connect().await?);
        Ok(())
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, SendError> {
        with_timeout(self.timeouts.connect, self.connector.connect()).await
    }

    /// Ends a session in the background. The reply to QUIT does not matter: the server has already replied to the mail.
    fn quit(&self, mut connection: AsyncSmtpConnection) {
        let time = self.timeouts.quit;
        tokio::spawn(async move { timeout(time, connection.quit()).await.is_ok() });
    }

    fn message(&self, mail: &OutgoingMail) -> Result<Message, SendError> {
        let invalid = |problem: &str| SendError(problem.to_owned());
        let address: Address = mail.address.as_str().parse().map_err(|_| invalid("invalid email address"))?;
        let text = self.templates.render(mail).ok_or_else(|| invalid("no template for this kind of mail"))?;
        // The same for every attempt, so that a mail that arrives twice is recognized as a duplicate.
        let id = format!("<{}@{}>", mail.id, self.sender.email.domain());
        let automatic = HeaderValue::new(HeaderName::new_from_ascii_str("Auto-Submitted"), "auto-generated".to_owned());
        Message::builder()
            .from(self.sender.clone())
            .to(Mailbox::new(None, address))
            .subject(text.subject)
            .message_id(Some(id))
            .raw_header(automatic)
            .header(ContentType::TEXT_PLAIN)
            .body(text.body)
            .map_err(|error| SendError(error.to_string()))
    }
}

/// Awaits a step of a session, and fails if it takes longer than `time`.
async fn with_timeout<T, E: Display>(time: Duration, work: impl Future<Output = Result<T, E>>) -> Result<T, SendError> {
    match timeout(time, work).await {
        Ok(done) => done.map_err(|error| SendError(error.to_string())),
        Err(_) => Err(SendError(format!("the server took longer than {} s", time.as_secs()))),
    }
}

/// Sends the envelope of a mail (MAIL and RCPT), and DATA.
async fn send_envelope(connection: &mut AsyncSmtpConnection, envelope: &Envelope) -> Result<(), String> {
    let mut addresses = envelope.from().into_iter().chain(envelope.to());
    let mut parameters = Vec::new();
    // Only addresses need an extension of the server if they are not ASCII; the other parts of a mail are encoded.
    if addresses.any(|address| !AsRef::<str>::as_ref(address).is_ascii()) {
        let needed = [Extension::SmtpUtfEight, Extension::EightBitMime];
        if !needed.into_iter().all(|extension| connection.server_info().supports_feature(extension)) {
            return Err("the server does not accept non-ASCII addresses (SMTPUTF8 and 8BITMIME)".to_owned());
        }
        parameters = vec![MailParameter::SmtpUtfEight, MailParameter::Body(MailBodyParameter::EightBitMime)];
    }
    let commands = async {
        connection.command(Mail::new(envelope.from().cloned(), parameters)).await?;
        for address in envelope.to() {
            connection.command(Rcpt::new(address.clone(), Vec::new())).await?;
        }
        connection.command(Data).await
    };
    commands.await.map(drop).map_err(|error: lettre::transport::smtp::Error| error.to_string())
}

#[async_trait]
impl MailTransport for Smtp {
    async fn send(&self, mail: &OutgoingMail) -> Result<(), SendError> {
        let message = self.message(mail)?;
        // A new connection for each mail: after a timeout, the late reply to one mail would be taken for the reply to the next.
        let mut connection = self.connect().await?;
        with_timeout(self.timeouts.envelope, send_envelope(&mut connection, message.envelope())).await?;
        with_timeout(self.timeouts.acceptance, connection.message(&message.formatted())).await?;
        self.quit(connection);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use agora_domain::accounts::{Email, Username};
    use agora_domain::id::MailId;
    use agora_domain::mail::MailKind;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tokio::net::{TcpListener, TcpStream};
    use uuid::Uuid;

    use super::*;

    /// Accepts a connection and receives a mail, without replying to the mail yet.
    async fn receive_mail(listener: &TcpListener) -> BufReader<TcpStream> {
        let mut stream = BufReader::new(listener.accept().await.unwrap().0);
        let (mut line, mut reply) = (String::new(), "220 ready\r\n");
        while line != ".\r\n" {
            stream.write_all(reply.as_bytes()).await.unwrap();
            line.clear();
            assert!(stream.read_line(&mut line).await.unwrap() > 0);
            reply = match &*line {
                _ if reply.is_empty() || reply.starts_with("354") => "",
                "DATA\r\n" => "354 go on\r\n",
                _ => "250 fine\r\n",
            };
        }
        stream
    }

    async fn server(timeouts: Timeouts) -> (TcpListener, Smtp) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("smtp://{}?tls=none", listener.local_addr().unwrap());
        let smtp = Smtp::new(&url, "agora@example.org", Templates::load(None).unwrap()).unwrap();
        (listener, Smtp { timeouts, ..smtp })
    }

    fn mail() -> OutgoingMail {
        let (address, username) = (Email::restore("ada@example.org".into()), Username::restore("ada".into()));
        let id = MailId::new(Uuid::nil());
        OutgoingMail { id, kind: MailKind::PasswordReset, address, username, token: None }
    }

    /// A timeout that never elapses in these tests.
    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(100);

    const ALL_LONG: Timeouts = Timeouts { connect: LONG, envelope: LONG, acceptance: LONG, quit: LONG };

    #[tokio::test]
    async fn connecting_to_a_silent_server_times_out() {
        let (_listener, smtp) = server(Timeouts { connect: SHORT, ..ALL_LONG }).await;
        for result in [smtp.probe().await, smtp.send(&mail()).await] {
            let failure = result.unwrap_err().0;
            assert!(failure.contains("took longer"), "{failure}");
        }
    }

    #[tokio::test]
    async fn waiting_for_the_reply_to_the_envelope_times_out() {
        let (listener, smtp) = server(Timeouts { envelope: SHORT, ..ALL_LONG }).await;
        let mail = mail();
        let served = async {
            let mut stream = BufReader::new(listener.accept().await.unwrap().0);
            let mut line = String::new();
            for reply in ["220 ready\r\n", "250 fine\r\n"] {
                stream.write_all(reply.as_bytes()).await.unwrap();
                stream.read_line(&mut line).await.unwrap();
            }
            stream
        };
        let (sent, _stream) = tokio::join!(smtp.send(&mail), served);
        let failure = sent.unwrap_err().0;
        assert!(failure.contains("took longer"), "{failure}");
    }

    #[tokio::test]
    async fn sending_does_not_wait_for_the_reply_to_quit() {
        let (listener, smtp) = server(ALL_LONG).await;
        let mail = mail();
        let served = async {
            let mut stream = receive_mail(&listener).await;
            stream.write_all(b"250 taken\r\n").await.unwrap();
            stream
        };
        let (sent, _stream) = tokio::join!(smtp.send(&mail), served);
        sent.unwrap();
    }

    #[tokio::test]
    async fn a_late_reply_is_not_taken_for_the_reply_to_the_next_mail() {
        let (listener, impatient) = server(Timeouts { acceptance: SHORT, ..ALL_LONG }).await;
        let mail = mail();
        let (timed_out, mut late) = tokio::join!(impatient.send(&mail), receive_mail(&listener));
        let failure = timed_out.unwrap_err().0;
        assert!(failure.contains("took longer"), "{failure}");
        // The same client, with long timeouts from now on.
        let patient = Smtp { timeouts: ALL_LONG, ..impatient };
        let refused = async {
            let mut stream = receive_mail(&listener).await;
            let _ = late.write_all(b"250 taken\r\n").await;
            stream.write_all(b"554 refused\r\n").await.unwrap();
            stream
        };
        let (sent, _stream) = tokio::join!(patient.send(&mail), refused);
        let failure = sent.unwrap_err().0;
        assert!(failure.contains("refused"), "{failure}");
    }
}
