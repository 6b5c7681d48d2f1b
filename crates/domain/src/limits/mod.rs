//! Rate limits: they keep passwords from being guessed, accounts from being made by the thousand, and one client from
//! sending more requests than the operator allows.
//!
//! Events are counted in windows of a minute, or of an hour for a few of them. A window begins with the first event; once
//! the limit is reached, every further event is refused until the window ends.
//!
//! Work that takes a core for long, such as hashing a password, waits in a queue, of which each [`Requester`] has a
//! bounded share. The adapters see to that.

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
