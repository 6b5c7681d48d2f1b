//! Handing mails to a server.

use std::fmt::Display;
use std::time::Duration;

use agora_domain::mail::{MailTransport, NotTaken, OutgoingMail};
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

/// How long a server is waited for.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// Until it is ready for a mail.
    greeting: Duration,
    /// Until it has heard from whom and to whom the mail is.
    envelope: Duration,
    /// Until it has read the mail and said whether it takes it.
    verdict: Duration,
    /// Until it has said goodbye.
    goodbye: Duration,
}

impl Patience {
    /// A server may look at a mail for ten minutes before it says whether it takes it (RFC 5321, 4.5.3.2.6). Given up before, a mail that
    /// it takes all the same would be sent again.
    const USUAL: Self = Self {
        greeting: Duration::from_secs(30),
        envelope: Duration::from_secs(30),
        verdict: Duration::from_secs(10 * 60),
        goodbye: Duration::from_secs(10),
    };
}

/// A server that mails are handed to, one at a time.
pub struct Smtp {
    connector: Connector,
    sender: Mailbox,
    templates: Templates,
    patience: Patience,
}

impl Smtp {
    /// Speaks to the server that a URL names, in the name of a sender. Nothing is connected before there is a mail.
    ///
    /// # Errors
    /// [`ServerError`].
    pub fn new(url: &str, sender: &str, templates: Templates) -> Result<Self, ServerError> {
        let sender = parse_sender(sender)?;
        let connector = Connector::new(url, sender.email.domain())?;
        Ok(Self { connector, sender, templates, patience: Patience::USUAL })
    }

    /// Tries whether the server can be reached, is who it says, and takes the credentials. Nothing is sent.
    ///
    /// # Errors
    /// [`NotTaken`].
    pub async fn probe(&self) -> Result<(), NotTaken> {
        self.end(self.connect().await?);
        Ok(())
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, NotTaken> {
        in_time(self.patience.greeting, self.connector.connect()).await
    }

    /// Ends a connection, while nobody waits for it: whatever the server says to that, what it has said before holds.
    fn end(&self, mut connection: AsyncSmtpConnection) {
        let goodbye = self.patience.goodbye;
        tokio::spawn(async move { timeout(goodbye, connection.quit()).await.is_ok() });
    }

    fn message(&self, mail: &OutgoingMail) -> Result<Message, NotTaken> {
        let unfit = |what: &str| NotTaken(format!("{what} cannot be put into a mail"));
        let address: Address = mail.address.as_str().parse().map_err(|_| unfit("the address"))?;
        let text = self.templates.render(mail).ok_or_else(|| unfit("this kind of text"))?;
        // The same however often it is sent, so that who gets it twice can tell.
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
            .map_err(|error| NotTaken(error.to_string()))
    }
}

/// Waits for the server, but not for ever.
async fn in_time<T, E: Display>(time: Duration, work: impl Future<Output = Result<T, E>>) -> Result<T, NotTaken> {
    match timeout(time, work).await {
        Ok(done) => done.map_err(|error| NotTaken(error.to_string())),
        Err(_) => Err(NotTaken(format!("the server took longer than {} s", time.as_secs()))),
    }
}

/// Says from whom and to whom a mail is, and that it comes now.
async fn announce(connection: &mut AsyncSmtpConnection, envelope: &Envelope) -> Result<(), String> {
    let mut addresses = envelope.from().into_iter().chain(envelope.to());
    let mut parameters = Vec::new();
    // An address is the only part of a mail that may be beyond ASCII.
    if addresses.any(|address| !AsRef::<str>::as_ref(address).is_ascii()) {
        let needed = [Extension::SmtpUtfEight, Extension::EightBitMime];
        if !needed.into_iter().all(|extension| connection.server_info().supports_feature(extension)) {
            return Err("the server takes no addresses beyond ASCII".to_owned());
        }
        parameters = vec![MailParameter::SmtpUtfEight, MailParameter::Body(MailBodyParameter::EightBitMime)];
    }
    let said = async {
        connection.command(Mail::new(envelope.from().cloned(), parameters)).await?;
        for address in envelope.to() {
            connection.command(Rcpt::new(address.clone(), Vec::new())).await?;
        }
        connection.command(Data).await
    };
    said.await.map(drop).map_err(|error: lettre::transport::smtp::Error| error.to_string())
}

#[async_trait]
impl MailTransport for Smtp {
    async fn send(&self, mail: &OutgoingMail) -> Result<(), NotTaken> {
        let message = self.message(mail)?;
        // Of its own for each mail: on one that was given up, the answer to the last mail would count as one to the next.
        let mut connection = self.connect().await?;
        in_time(self.patience.envelope, announce(&mut connection, message.envelope())).await?;
        in_time(self.patience.verdict, connection.message(&message.formatted())).await?;
        self.end(connection);
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

    /// Takes a connection and a mail, and says nothing yet to that.
    async fn take_mail(listener: &TcpListener) -> BufReader<TcpStream> {
        let mut stream = BufReader::new(listener.accept().await.unwrap().0);
        let (mut line, mut said) = (String::new(), "220 ready\r\n");
        while line != ".\r\n" {
            stream.write_all(said.as_bytes()).await.unwrap();
            line.clear();
            assert!(stream.read_line(&mut line).await.unwrap() > 0);
            said = match &*line {
                _ if said.is_empty() || said.starts_with("354") => "",
                "DATA\r\n" => "354 go on\r\n",
                _ => "250 fine\r\n",
            };
        }
        stream
    }

    async fn server(patience: Patience) -> (TcpListener, Smtp) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("smtp://{}?tls=none", listener.local_addr().unwrap());
        let smtp = Smtp::new(&url, "agora@example.org", Templates::load(None).unwrap()).unwrap();
        (listener, Smtp { patience, ..smtp })
    }

    fn mail() -> OutgoingMail {
        let (address, username) = (Email::restore("ada@example.org".into()), Username::restore("ada".into()));
        let id = MailId::new(Uuid::nil());
        OutgoingMail { id, kind: MailKind::PasswordReset, address, username, token: None }
    }

    /// What no test waits for to its end.
    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(100);

    const PATIENT: Patience = Patience { greeting: LONG, envelope: LONG, verdict: LONG, goodbye: LONG };

    #[tokio::test]
    async fn a_server_that_says_nothing_is_given_up() {
        let (_listener, smtp) = server(Patience { greeting: SHORT, ..PATIENT }).await;
        for given_up in [smtp.probe().await, smtp.send(&mail()).await] {
            let said = given_up.unwrap_err().0;
            assert!(said.contains("took longer"), "{said}");
        }
    }

    #[tokio::test]
    async fn a_server_that_does_not_say_whether_it_knows_the_address_is_given_up() {
        let (listener, smtp) = server(Patience { envelope: SHORT, ..PATIENT }).await;
        let mail = mail();
        let served = async {
            let mut stream = BufReader::new(listener.accept().await.unwrap().0);
            let mut line = String::new();
            for said in ["220 ready\r\n", "250 fine\r\n"] {
                stream.write_all(said.as_bytes()).await.unwrap();
                stream.read_line(&mut line).await.unwrap();
            }
            stream
        };
        let (sent, _stream) = tokio::join!(smtp.send(&mail), served);
        let said = sent.unwrap_err().0;
        assert!(said.contains("took longer"), "{said}");
    }

    #[tokio::test]
    async fn what_a_server_says_to_goodbye_is_not_waited_for() {
        let (listener, smtp) = server(PATIENT).await;
        let mail = mail();
        let served = async {
            let mut stream = take_mail(&listener).await;
            stream.write_all(b"250 taken\r\n").await.unwrap();
            stream
        };
        let (sent, _stream) = tokio::join!(smtp.send(&mail), served);
        sent.unwrap();
    }

    #[tokio::test]
    async fn what_a_server_says_too_late_is_no_answer_to_the_next_mail() {
        let (listener, impatient) = server(Patience { verdict: SHORT, ..PATIENT }).await;
        let mail = mail();
        let (given_up, mut late) = tokio::join!(impatient.send(&mail), take_mail(&listener));
        let said = given_up.unwrap_err().0;
        assert!(said.contains("took longer"), "{said}");
        // Of the same server by then.
        let patient = Smtp { patience: PATIENT, ..impatient };
        let refused = async {
            let mut stream = take_mail(&listener).await;
            let _ = late.write_all(b"250 taken\r\n").await;
            stream.write_all(b"554 refused\r\n").await.unwrap();
            stream
        };
        let (sent, _stream) = tokio::join!(patient.send(&mail), refused);
        let said = sent.unwrap_err().0;
        assert!(said.contains("refused"), "{said}");
    }
}
