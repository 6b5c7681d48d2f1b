//! Mail to users, and the tokens in it that reset passwords and verify addresses (`contract`: Accounts).
//!
//! A request puts a mail into the outbox, in the transaction of its change; [`MailDelivery`] sends it later, and retries for
//! up to [`RETRY_PERIOD_MILLIS`] if the mail server does not accept it. The text of a mail is up to the adapter.

mod delivery;
mod model;
mod ports;
mod service;

pub use delivery::*;
pub use model::*;
pub use ports::*;
pub use service::*;

#[cfg(test)]
mod tests;
