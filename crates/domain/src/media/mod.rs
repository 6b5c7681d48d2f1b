//! Images: their types, the ports that check and store them, the sweep, and the check of a store.
//!
//! An image is stored before the row that references it and deleted after that row, so that no row ever references a missing
//! object. While no row references it, the image is on record in [`UnreferencedImages`], from before it is stored until it is
//! deleted. What a crash leaves behind is therefore on record, and [`MediaSweep`] deletes it. The sweep deletes nothing else,
//! however many more objects the store holds.

mod attachments;
mod check;
mod model;
mod ports;
mod previews;
mod service;
mod sweep;

pub use attachments::*;
pub use check::*;
pub use model::*;
pub use ports::*;
pub use previews::*;
pub use service::*;
pub use sweep::*;

#[cfg(test)]
mod tests;
