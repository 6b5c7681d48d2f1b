//! Handing mails to a server.

use std::time::Duration;

use agora_domain::mail::{MailTransport, NotTaken, OutgoingMail};
use async_trait::async_trait;
use lettre::Address;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message};
use lettre::transport::smtp::client::AsyncSmtpConnection;
use tokio::time::timeout;

use crate::server::{Connector, ServerError, parse_sender};
use crate::templates::Templates;

/// How long a server is waited for.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// Until it is ready for a mail.
    greeting: Duration,
    /// Until it has taken a mail.
    verdict: Duration,
    /// Until it has said goodbye.
    goodbye: Duration,
}

impl Patience {
    /// A server may read a mail for as long before it says whether it takes it (RFC 5321, 4.5.3.2.6). Given up before, a mail that
    /// it takes all the same would be sent again.
    const USUAL: Self = Self {
        greeting: Duration::from_secs(30),
        verdict: Duration::from_secs(10 * 60),
        goodbye: Duration::from_secs(2),
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
        self.end(self.connect().await?).await;
        Ok(())
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, NotTaken> {
        in_time(self.patience.greeting, self.connector.connect()).await
    }

    /// Ends a connection. Whatever the server says to that, what it has said before holds.
    async fn end(&self, mut connection: AsyncSmtpConnection) {
        let _ = timeout(self.patience.goodbye, connection.quit()).await;
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
async fn in_time<T>(
    time: Duration,
    work: impl Future<Output = Result<T, lettre::transport::smtp::Error>>,
) -> Result<T, NotTaken> {
    match timeout(time, work).await {
        Ok(done) => done.map_err(|error| NotTaken(error.to_string())),
        Err(_) => Err(NotTaken(format!("the server took longer than {} s", time.as_secs()))),
    }
}

#[async_trait]
impl MailTransport for Smtp {
    async fn send(&self, mail: &OutgoingMail) -> Result<(), NotTaken> {
        let message = self.message(mail)?;
        // Of its own for each mail: on one that was given up, the answer to the last mail would count as one to the next.
        let mut connection = self.connect().await?;
        in_time(self.patience.verdict, connection.send(message.envelope(), &message.formatted())).await?;
        self.end(connection).await;
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

    #[tokio::test]
    async fn a_server_that_says_nothing_is_given_up() {
        let (_listener, smtp) = server(Patience { greeting: SHORT, verdict: LONG, goodbye: LONG }).await;
        for given_up in [smtp.probe().await, smtp.send(&mail()).await] {
            let said = given_up.unwrap_err().0;
            assert!(said.contains("took longer"), "{said}");
        }
    }

    #[tokio::test]
    async fn a_server_that_takes_a_mail_need_not_say_goodbye() {
        let (listener, smtp) = server(Patience { greeting: LONG, verdict: LONG, goodbye: SHORT }).await;
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
        let (listener, impatient) = server(Patience { greeting: LONG, verdict: SHORT, goodbye: SHORT }).await;
        let mail = mail();
        let (given_up, mut late) = tokio::join!(impatient.send(&mail), take_mail(&listener));
        let said = given_up.unwrap_err().0;
        assert!(said.contains("took longer"), "{said}");
        // Of the same server by then.
        let patient = Smtp { patience: Patience { verdict: LONG, ..impatient.patience }, ..impatient };
        let refused = async {
            let mut stream = take_mail(&listener).await;
            let _ = late.write_all(b"250 taken\r\n").await;
            stream.write_all(b"554 refused\r\n").await.unwrap();
        };
        let (sent, ()) = tokio::join!(patient.send(&mail), refused);
        let said = sent.unwrap_err().0;
        assert!(said.contains("refused"), "{said}");
    }
}
