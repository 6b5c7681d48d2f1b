//! How often one may try: what keeps passwords from being guessed, accounts from being made by the thousand, and one client
//! from sending more requests than the operator allows.
//!
//! What is counted is counted in windows of a minute. A window begins with the first event; once the limit is reached,
//! everything further is refused until it is over.
//!
//! What takes a core for long, such as a password's hash, waits in a queue, of which each [`Requester`] has a bounded
//! share: that is a matter of the adapters.

mod model;
mod ports;
mod service;

#[cfg(test)]
pub(crate) mod tests;

pub use model::{Allowance, ClientAddress, Counted, Limit, MAILS_AN_HOUR, Requester, Window};
pub use ports::Counters;
#[cfg(any(test, feature = "mocks"))]
pub use ports::MockCounters;
pub use service::Limits;
