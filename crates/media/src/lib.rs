//! Images: [`Cleaner`] checks uploads and removes their metadata, [`ObjectImageStore`] stores them in object storage.
//!
//! | module | what it has |
//! |---|---|
//! | `clean` | the cleaner, one file per format; it keeps only what is needed to render an image |
//! | `store` | the image store over any [`object_store::ObjectStore`] |
//! | `location` | opening the store of a URL, as in the setting `AGORA_MEDIA_URL`: a directory, a bucket or memory |
//! | `probe` | a check that a store writes, reads and deletes an object |
//! | `limit` | timeouts of storage operations |
//! | `health` | the health check of the store |
//! | `failure` | errors of storage, sanitized for the log |

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
