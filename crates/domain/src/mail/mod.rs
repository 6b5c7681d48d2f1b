//! Mail: what is sent to whom, the tokens in it and what they are good for (`contract`: Account life).
//!
//! A request puts a mail into the outbox, in the transaction of its change; [`MailDelivery`] sends it later, as often as it
//! takes. What a mail says is up to the adapter.

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
