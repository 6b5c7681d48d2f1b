//! Images: [`Cleaner`] checks uploads and removes their metadata, [`ObjectImageStore`] keeps them in object storage.
//!
//! | module | what it does |
//! |---|---|
//! | `clean` | one file per format; only what is needed to render an image survives |
//! | `store` | the image store over any [`object_store::ObjectStore`] |
//! | `location` | which store the text of the setting `AGORA_MEDIA_URL` names |

mod clean;
mod location;
mod store;

pub use clean::{Cleaner, ImageLimits};
pub use location::{OpenError, open};
pub use store::ObjectImageStore;
