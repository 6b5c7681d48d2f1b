//! What the handlers work with.

use std::{sync::Arc, time::Duration};

use agora_domain::{
    accounts::{Accounts, Authentication},
    comments::Comments,
    follows::Follows,
    id::IdGenerator,
    idempotency::Idempotency,
    media::{ImageKey, Media},
    posts::Posts,
    products::Products,
};

use crate::{
    overload::{Limits, Overload},
    seal::Seal,
};

/// The use cases.
pub struct Services {
    /// Login and sessions.
    pub authentication: Authentication,
    /// Accounts, profiles and roles.
    pub accounts: Accounts,
    /// Posts and likes.
    pub posts: Posts,
    /// Comments.
    pub comments: Comments,
    /// Who follows whom.
    pub follows: Follows,
    /// The catalog.
    pub products: Products,
    /// Stored images.
    pub media: Media,
    /// Requests that are sent again.
    pub idempotency: Idempotency,
    /// Makes request ids.
    pub ids: Arc<dyn IdGenerator>,
}

/// How the interface is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many threads serve requests.
    pub workers: usize,
    /// Where clients reach the service, without a slash at the end: the beginning of every link.
    pub public_url: String,
    /// The most bytes an uploaded image has.
    pub max_image_bytes: usize,
    /// How long the work on a request may take, its body's coming in not counted; then it is answered 503.
    pub request_time: Duration,
    /// What is taken on at once, and how long clients may take.
    pub limits: Limits,
    /// Makes the codes in cursors and of requests: the same on every node.
    pub seal: Seal,
}

pub(crate) struct State {
    pub(crate) services: Services,
    pub(crate) settings: Settings,
    pub(crate) overload: Arc<Overload>,
}

impl State {
    pub(crate) fn new(services: Services, settings: Settings) -> Self {
        let overload = Arc::new(Overload::new(settings.limits));
        Self { services, settings, overload }
    }

    /// The address at which clients fetch an image: where it is kept, or else here.
    pub(crate) fn image_url(&self, key: &ImageKey) -> String {
        let here = || format!("{}/media/{}", self.settings.public_url, key.as_str());
        self.services.media.public_url(key).unwrap_or_else(here)
    }
}
