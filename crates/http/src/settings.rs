//! How the service is set up, and what it keeps while it runs.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::{Data, ServiceConfig};
use tokio::sync::Semaphore;

use crate::core::{
    Capacity, EffectiveSetting, LoadLimits, MacKeys, REPLAYS, Replica, ReplicaServices, Services, State, Stopping,
    TrustedProxies,
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

/// How the interface is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many threads serve requests.
    pub workers: usize,
    /// Whether the database carries out writes in parallel, each on a core that reads need as well. Then an account has no more
    /// writes in progress than reads.
    pub parallel_writes: bool,
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
    /// What is served at once, and how long clients may take.
    pub load: LoadLimits,
    /// Makes the codes in cursors and of requests: the same on every node.
    pub mac_keys: MacKeys,
    /// Whether the client in the browser is served.
    pub has_app: bool,
    /// Whether the console of administrators is served.
    pub has_console: bool,
    /// Whether the service was told to stop.
    pub stopping: Stopping,
    /// The settings in effect, for administrators to read.
    pub configuration: Vec<EffectiveSetting>,
    /// What is measured of requests; nothing when nobody looks at it.
    pub metrics: Option<Arc<HttpMetrics>>,
    /// What takes traces over; nothing when none are followed.
    pub remote_parent: Option<RemoteParent>,
}

/// What the layers keep while the service runs, each its own. All workers share it.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) state: Data<State>,
    pub(crate) capacity: Data<Capacity>,
    register: Arc<dyn Fn(&mut ServiceConfig) + Send + Sync>,
}

impl Shared {
    /// Creates it for these use cases and settings.
    ///
    /// # Errors
    /// When two endpoints have the same path.
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
                replays: Semaphore::new(REPLAYS),
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

    /// Makes it known to the requests of an app.
    pub(crate) fn register(&self, app: &mut ServiceConfig) {
        (self.register)(app);
    }
}
