//! Images: [`Cleaner`] checks uploads and removes their metadata, [`ObjectImageStore`] keeps them in object storage.
//!
//! | module | what it does |
//! |---|---|
//! | `clean` | one file per format; only what is needed to render an image survives |
//! | `store` | the image store over any [`object_store::ObjectStore`] |
//! | `location` | which store the text of the setting `AGORA_MEDIA_URL` names: a directory, a bucket or the memory |
//! | `probe` | whether a store takes an object, returns it and deletes it |
//! | `limit` | how long storage may take |
//! | `health` | whether the store answers |
//! | `failure` | what storage says when it fails, fit for the log |

#![forbid(unsafe_code)]

mod clean;
mod failure;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod health;
mod limit;
mod location;
#[cfg(test)]
#[path = "../../../tests/support/port.rs"]
mod port;
mod probe;
#[cfg(test)]
#[path = "../../../tests/support/s3.rs"]
mod s3_server;
mod store;

pub use clean::{Cleaner, ImageLimits};
pub use failure::Failure;
pub use location::{OpenError, check_url, open};
pub use probe::{Probe, probe};
pub use store::ObjectImageStore;
