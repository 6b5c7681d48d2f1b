//! The mail adapter: the texts of mails, and sending them through an SMTP server.
//!
//! The texts are plain text files, each of which an operator can replace: see [`Templates`]. [`Smtp`] is the domain's
//! [`MailTransport`](agora_domain::mail::MailTransport) over lettre.

#![forbid(unsafe_code)]

mod server;
mod templates;
mod transport;

pub use server::{ServerError, check_sender, check_url};
pub use templates::{TemplateError, Templates};
pub use transport::Smtp;
