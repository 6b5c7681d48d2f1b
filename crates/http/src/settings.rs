//! The settings of the interface, and the state that its workers share.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::{Data, ServiceConfig};
use tokio::sync::Semaphore;

use crate::core::{
    Capacity, EffectiveSetting, LoadLimits, MAX_CONCURRENT_REPLAYS, MacKeys, Replica, ReplicaServices, Services,
    ShutdownFlag, State, TrustedProxies,
};
use crate::endpoints::configuration::Configuration;
use crate::endpoints::docs::ApiDocs;
use crate::endpoints::health::Readiness;
use crate::endpoints::overview::Figures;
use crate::endpoints::pages::Pages;
use crate::middleware::{
    AccountConcurrency, CompressionLimit, CorsOrigins, HttpMetrics, RateLimiter, RemoteParent, RequestLog, Throttling,
    Traffic,
};
use crate::response::ListReads;
use crate::router;

/// The settings of the interface.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The number of threads that serve requests.
    pub workers: usize,
    /// Whether the database executes writes in parallel, where they compete with reads for cores. If so, an account may have
    /// only as many writes in progress as reads.
    pub parallel_writes: bool,
    /// The base URL of the service as clients reach it, without a slash at the end. Every link begins with it.
    pub public_url: String,
    /// The maximum size of an uploaded image in bytes.
    pub max_image_bytes: usize,
    /// How long the work on a request may take before it is answered 503, not counting the time in which its body arrives.
    pub request_time: Duration,
    /// The sites whose pages may call the service from a browser.
    pub cors_origins: CorsOrigins,
    /// The proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: TrustedProxies,
    /// The rate limits per client address and per account.
    pub throttling: Throttling,
    /// The limits on concurrency and memory, and the deadlines of clients.
    pub load: LoadLimits,
    /// The keys for the MACs of cursors, requests and responses. They must be the same on every node.
    pub mac_keys: MacKeys,
    /// Whether the web client (`/app`) is served.
    pub has_app: bool,
    /// Whether the console for administrators (`/console`) is served.
    pub has_console: bool,
    /// Whether the service is shutting down.
    pub stopping: ShutdownFlag,
    /// The settings in effect, for administrators to read.
    pub configuration: Vec<EffectiveSetting>,
    /// The metrics of requests; `None` if metrics are not exported.
    pub metrics: Option<Arc<HttpMetrics>>,
    /// Continues the trace of the caller; `None` if traces are not exported.
    pub remote_parent: Option<RemoteParent>,
}

/// The state that all workers share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) state: Data<State>,
    pub(crate) capacity: Data<Capacity>,
    /// Registers the state of each layer with an app.
    register: Arc<dyn Fn(&mut ServiceConfig) + Send + Sync>,
}

impl Shared {
    /// Creates the state for these use cases and settings.
    ///
    /// # Errors
    /// If the paths of two endpoints conflict.
    pub(crate) fn new(services: Services, replica: Option<ReplicaServices>, settings: Settings) -> io::Result<Self> {
        let capacity = Data::new(Capacity::new(settings.load));
        let rate_limiter = Data::new(RateLimiter::new(settings.throttling));
        if let Some(metrics) = &settings.metrics {
            metrics.attach(Arc::clone(&capacity), rate_limiter.refusals());
        }
        let paths = Data::new(router::paths().map_err(io::Error::other)?);
        let traffic = Arc::new(Traffic::new(services.overview.clock.now()));
        let figures = Data::new(Figures::new(services.overview.clone(), Arc::clone(&traffic)));
        let configuration = Data::new(Configuration::new(settings.configuration));
        let request_log = Data::new(RequestLog::new(settings.metrics, traffic, settings.remote_parent));
        let account_concurrency = Data::new(AccountConcurrency::new(settings.workers, settings.parallel_writes));
        let compression = Data::new(CompressionLimit::new(settings.workers));
        let list_reads = Data::new(ListReads::new(settings.workers));
        let readiness = Data::new(Readiness::new(services.probes.clone()));
        let pages = Data::new(Pages::new(settings.has_app, settings.has_console));
        let docs = Data::new(ApiDocs::default());
        let state_over = |services, replica| {
            Data::new(State {
                services,
                replica,
                public_url: settings.public_url.clone(),
                max_image_bytes: settings.max_image_bytes,
                request_time: settings.request_time,
                trusted_proxies: settings.trusted_proxies.clone(),
                mac_keys: settings.mac_keys.clone(),
                stopping: settings.stopping.clone(),
                replays: Semaphore::new(MAX_CONCURRENT_REPLAYS),
            })
        };
        let replica =
            replica.map(|ReplicaServices { replica, services }| Replica { replica, state: state_over(services, None) });
        let state = state_over(services, replica);
        let (shared_state, shared_capacity) = (state.clone(), capacity.clone());
        let register = move |app: &mut ServiceConfig| {
            app.app_data(shared_state.clone()).app_data(shared_capacity.clone()).app_data(paths.clone());
            app.app_data(rate_limiter.clone()).app_data(request_log.clone()).app_data(account_concurrency.clone());
            app.app_data(compression.clone()).app_data(list_reads.clone());
            app.app_data(readiness.clone()).app_data(docs.clone()).app_data(pages.clone());
            app.app_data(figures.clone()).app_data(configuration.clone());
        };
        Ok(Self { state, capacity, register: Arc::new(register) })
    }

    /// Makes the state available to the requests of an app.
    pub(crate) fn register(&self, app: &mut ServiceConfig) {
        (self.register)(app);
    }
}
