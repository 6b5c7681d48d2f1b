//! The mail adapter: what mails say, and the SMTP server that they are handed to.
//!
//! Texts are files of plain text, of which an operator can replace each: see [`Templates`]. [`Smtp`] is the domain's
//! [`MailTransport`](agora_domain::mail::MailTransport) over lettre.

#![forbid(unsafe_code)]

mod server;
mod templates;
mod transport;

pub use server::{ServerError, check_sender, check_url};
pub use templates::{TemplateError, Templates};
pub use transport::Smtp;
