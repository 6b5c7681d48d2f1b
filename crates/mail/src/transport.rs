//! Handing mails to a server.

use std::time::Duration;

use agora_domain::mail::{MailTransport, NotTaken, OutgoingMail};
use async_trait::async_trait;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use tokio::time::timeout;

use crate::server::{ServerError, connector, parse_sender};
use crate::templates::Templates;

/// How long a mail may take, from the connection to the server's last word.
const MAIL_TIME: Duration = Duration::from_secs(30);

/// A server that mails are handed to, one at a time.
pub struct Smtp {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    sender: Mailbox,
    templates: Templates,
}

impl Smtp {
    /// Speaks to the server that a URL names, in the name of a sender. Nothing is connected before there is a mail.
    ///
    /// # Errors
    /// [`ServerError`].
    pub fn new(url: &str, sender: &str, templates: Templates) -> Result<Self, ServerError> {
        let sender = parse_sender(sender)?;
        let transport = connector(url, sender.email.domain())?;
        Ok(Self { transport, sender, templates })
    }

    /// Tries whether the server can be reached, is who it says, and takes the credentials. Nothing is sent.
    ///
    /// # Errors
    /// [`NotTaken`].
    pub async fn probe(&self) -> Result<(), NotTaken> {
        match in_time(self.transport.test_connection()).await? {
            true => Ok(()),
            false => Err(NotTaken("the server ended the connection".to_owned())),
        }
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
async fn in_time<T>(work: impl Future<Output = Result<T, lettre::transport::smtp::Error>>) -> Result<T, NotTaken> {
    match timeout(MAIL_TIME, work).await {
        Ok(done) => done.map_err(|error| NotTaken(error.to_string())),
        Err(_) => Err(NotTaken(format!("the server took longer than {} s", MAIL_TIME.as_secs()))),
    }
}

#[async_trait]
impl MailTransport for Smtp {
    async fn send(&self, mail: &OutgoingMail) -> Result<(), NotTaken> {
        let message = self.message(mail)?;
        in_time(self.transport.send(message)).await.map(drop)
    }
}
