//! What the handlers work with.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use agora_domain::{
    accounts::{Accounts, Authentication},
    comments::Comments,
    follows::Follows,
    health::Probes,
    id::IdGenerator,
    idempotency::Idempotency,
    limits::Limits,
    media::{ImageKey, Media},
    posts::Posts,
    products::Products,
};

use crate::{
    core::{client_ip::TrustedProxies, log_sampler::Failures, mac::Seal},
    endpoints::health::Readiness,
    middleware::{
        compress::CompressionLimit,
        cors::CorsOrigins,
        load_shedding::{LoadLimits, Overload},
        metrics::HttpMetrics,
        rate_limit::{Refusals, Throttles, Throttling},
    },
    response::list::ListReads,
    router::Paths,
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
    /// How often a client may try to log in and to register.
    pub limits: Limits,
    /// Requests that are sent again.
    pub idempotency: Idempotency,
    /// Makes request ids.
    pub ids: Arc<dyn IdGenerator>,
    /// Asks what the service depends on.
    pub probes: Probes,
}

/// Whether the service was told to stop: from then on it says that it is not ready.
#[derive(Debug, Clone, Default)]
pub struct Stopping(Arc<AtomicBool>);

impl Stopping {
    /// Says that it was.
    pub fn begin(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
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
    /// Whose pages may call the service from a browser.
    pub cors_origins: CorsOrigins,
    /// Whose word about where a request comes from counts.
    pub trusted_proxies: TrustedProxies,
    /// How many requests are served.
    pub throttling: Throttling,
    /// What is taken on at once, and how long clients may take.
    pub load: LoadLimits,
    /// Makes the codes in cursors and of requests: the same on every node.
    pub seal: Seal,
    /// Whether the service was told to stop.
    pub stopping: Stopping,
    /// What is measured of requests; nothing when nobody looks at it.
    pub metrics: Option<Arc<HttpMetrics>>,
}

pub(crate) struct State {
    pub(crate) services: Services,
    pub(crate) settings: Settings,
    pub(crate) paths: Paths,
    pub(crate) throttles: Throttles,
    pub(crate) overload: Arc<Overload>,
    pub(crate) failures: Failures,
    pub(crate) refusals: Arc<Refusals>,
    pub(crate) readiness: Arc<Readiness>,
    pub(crate) list_reads: ListReads,
    pub(crate) compression: CompressionLimit,
}

impl State {
    pub(crate) fn new(services: Services, settings: Settings) -> io::Result<Self> {
        let paths = Paths::new().map_err(io::Error::other)?;
        let (throttles, overload) =
            (settings.throttling.into(), Arc::new(Overload::new(settings.load, settings.workers)));
        let (refusals, readiness) = (Arc::default(), Arc::new(Readiness::new(services.probes.clone())));
        if let Some(metrics) = &settings.metrics {
            metrics.look_at(Arc::clone(&overload), Arc::clone(&refusals));
        }
        let failures = Failures::default();
        let list_reads = ListReads::new(settings.workers);
        let compression = CompressionLimit::new(settings.workers);
        Ok(Self {
            services,
            settings,
            paths,
            throttles,
            overload,
            failures,
            refusals,
            readiness,
            list_reads,
            compression,
        })
    }

    /// The address at which clients fetch an image: where it is kept, or else here.
    pub(crate) fn image_url(&self, key: &ImageKey) -> String {
        let here = || format!("{}/media/{}", self.settings.public_url, key.as_str());
        self.services.media.public_url(key).unwrap_or_else(here)
    }
}
