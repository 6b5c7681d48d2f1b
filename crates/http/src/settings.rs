//! How the service is set up, and what it keeps while it runs.

use std::{io, sync::Arc, time::Duration};

use actix_web::web::{Data, ServiceConfig};

use crate::{
    core::{Capacity, LoadLimits, MacKeys, Paths, Services, State, Stopping, TrustedProxies},
    endpoints::{docs::ApiDocument, health::Readiness},
    middleware::{AccountConcurrency, CompressionLimit, CorsOrigins, HttpMetrics, RateLimiter, RequestLog, Throttling},
    openapi,
    response::ListReads,
    router,
};

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
    pub mac_keys: MacKeys,
    /// Whether the service was told to stop.
    pub stopping: Stopping,
    /// What is measured of requests; nothing when nobody looks at it.
    pub metrics: Option<Arc<HttpMetrics>>,
}

/// What the layers keep while the service runs, each its own. All workers share it.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) state: Data<State>,
    pub(crate) capacity: Data<Capacity>,
    paths: Data<Paths>,
    rate_limiter: Data<RateLimiter>,
    request_log: Data<RequestLog>,
    account_concurrency: Data<AccountConcurrency>,
    compression: Data<CompressionLimit>,
    list_reads: Data<ListReads>,
    readiness: Data<Readiness>,
    document: Data<ApiDocument>,
}

impl Shared {
    /// Creates it for these use cases and settings.
    ///
    /// # Errors
    /// When two endpoints have the same path.
    pub(crate) fn new(services: Services, settings: Settings) -> io::Result<Self> {
        let capacity = Data::new(Capacity::new(settings.load));
        let rate_limiter = RateLimiter::new(settings.throttling);
        if let Some(metrics) = &settings.metrics {
            metrics.attach(Arc::clone(&capacity), rate_limiter.refusals());
        }
        Ok(Self {
            capacity,
            paths: Data::new(router::paths().map_err(io::Error::other)?),
            rate_limiter: Data::new(rate_limiter),
            request_log: Data::new(RequestLog::new(settings.metrics)),
            account_concurrency: Data::new(AccountConcurrency::new(settings.workers)),
            compression: Data::new(CompressionLimit::new(settings.workers)),
            list_reads: Data::new(ListReads::new(settings.workers)),
            readiness: Data::new(Readiness::new(services.probes.clone())),
            document: Data::new(ApiDocument::new(|| openapi::document().to_json())),
            state: Data::new(State {
                services,
                public_url: settings.public_url,
                max_image_bytes: settings.max_image_bytes,
                request_time: settings.request_time,
                trusted_proxies: settings.trusted_proxies,
                mac_keys: settings.mac_keys,
                stopping: settings.stopping,
            }),
        })
    }

    /// Makes it known to the requests of an app.
    pub(crate) fn register(self, app: &mut ServiceConfig) {
        app.app_data(self.state)
            .app_data(self.capacity)
            .app_data(self.paths)
            .app_data(self.rate_limiter)
            .app_data(self.request_log)
            .app_data(self.account_concurrency)
            .app_data(self.compression)
            .app_data(self.list_reads)
            .app_data(self.readiness)
            .app_data(self.document);
    }
}
