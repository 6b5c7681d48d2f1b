//! Live updates: events are delivered to the clients that have a stream open.
//!
//! A repository appends an [`Event`] to the [`EventLog`] in the transaction of the change, so that there is never a change
//! without its event. [`LiveUpdates`] reads the log, finds the streams whose topics an event matches, checks what their listeners
//! may view, and sends each a [`Delivery`]. Nothing waits for a listener.

mod delivery;
mod model;
mod ports;
mod service;
mod streams;
mod subscription;

pub use model::*;
pub use ports::*;
pub use service::*;
pub use streams::*;
pub use subscription::*;

#[cfg(test)]
mod tests;
