//! How often one may try: what keeps passwords from being guessed, accounts from being made by the thousand, and one client
//! from sending more requests than the operator allows.
//!
//! What is counted is counted in windows of a minute. A window begins with the first event; once the limit is reached,
//! everything further is refused until it is over.
//!
//! What takes a core for long, such as a password's hash, waits in a queue, of which each account and each address has a
//! bounded share ([`QueueShares`]).

mod model;
mod ports;
mod service;
mod shares;

#[cfg(test)]
pub(crate) mod tests;

pub use model::{Allowance, ClientAddress, Counted, Limit, Window};
pub use ports::Counters;
#[cfg(any(test, feature = "mocks"))]
pub use ports::MockCounters;
pub use service::Limits;
pub use shares::{QueuePlace, QueueShares, Requester};
