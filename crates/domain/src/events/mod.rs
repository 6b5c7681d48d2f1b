//! Live updates: what happens is told to those who listen, while they listen.
//!
//! A repository puts an [`Event`] on the [`EventLog`] in the transaction of the change that it tells of, so that there is
//! never a change without its event. [`LiveUpdates`] reads the log, finds the streams that an event concerns, asks what
//! their listeners may view, and hands each its [`Delivery`]. Nothing waits for a listener.

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
