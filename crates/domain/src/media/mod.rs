//! Images: what the domain needs of them, the ports that check and keep them, the sweep, and the check of a store.
//!
//! An image is stored before the row that names it and deleted after the row that named it, so that no row ever names
//! a missing object. As long as no row names it, it is on record as [`UnreferencedImages`], from before it is stored until
//! it is deleted. What a crash leaves behind is therefore on record, and [`MediaSweep`] collects it: that and nothing
//! else, however many more objects the store holds.

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
