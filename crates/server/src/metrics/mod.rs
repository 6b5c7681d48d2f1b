//! Metrics for Prometheus, at a separate address. They are created only if that address is configured, and reading them sends no
//! query to the database.

mod service;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::Server;
use agora_database::{CallMeter, CallOutcome};
use agora_http::metrics::HttpMetrics;
use agora_operations::host::Bound;
use anyhow::Result;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

pub(crate) use self::service::ServiceMetrics;

/// The metrics, before they are served.
pub(crate) struct Metrics {
    bound: Bound,
    registry: Registry,
    /// Metrics of requests.
    pub(crate) http: Arc<HttpMetrics>,
    /// Metrics of database calls.
    pub(crate) calls: Arc<CallTimes>,
    /// The delay between an event and its delivery to the streams of this node.
    pub(crate) lag: Histogram,
}

impl Metrics {
    /// Creates the metrics to be served at the bound address.
    pub(crate) fn new(bound: Bound) -> Self {
        let mut registry = Registry::default();
        registry.register("agora_build", "The running version", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        let http = HttpMetrics::register(&mut registry);
        let calls = CallTimes::register(&mut registry);
        let lag = Histogram::new(TIMES);
        registry.register_with_unit(
            "agora_event_lag",
            "The time from the commit of a change until its event was passed to the streams of this node",
            Unit::Seconds,
            lag.clone(),
        );
        Self { bound, registry, http, calls, lag }
    }

    /// Starts to serve the metrics, with those of the service; returns the address and the server.
    pub(crate) fn serve(mut self, service: ServiceMetrics) -> Result<(SocketAddr, Server)> {
        self.registry.register_collector(Box::new(service));
        let address = self.bound.address;
        Ok((address, agora_http::metrics::serve(self.bound.listen()?, self.registry)?))
    }
}

/// The buckets of the histograms of times, in seconds. They are few, since there are dozens of operations.
const TIMES: [f64; 9] = [0.0005, 0.001, 0.005, 0.025, 0.1, 0.25, 1.0, 5.0, 20.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Operation {
    operation: &'static str,
}

/// The durations of database calls by operation, and the numbers of failed and abandoned calls.
pub(crate) struct CallTimes {
    times: Family<Operation, Histogram, fn() -> Histogram>,
    failed: Counter,
    abandoned: Counter,
}

impl CallTimes {
    fn register(registry: &mut Registry) -> Arc<Self> {
        let times: Family<_, _, fn() -> _> = Family::new_with_constructor(|| Histogram::new(TIMES));
        let calls = Self { times, failed: Counter::default(), abandoned: Counter::default() };
        registry.register_with_unit(
            "agora_database_call_duration",
            "The duration of database calls, queueing included",
            Unit::Seconds,
            calls.times.clone(),
        );
        registry.register(
            "agora_database_failed_calls",
            "Database calls that failed: the database unreachable or overloaded, or a defect",
            calls.failed.clone(),
        );
        registry.register(
            "agora_database_abandoned_calls",
            "Database calls whose request was cancelled or timed out",
            calls.abandoned.clone(),
        );
        Arc::new(calls)
    }
}

impl CallMeter for CallTimes {
    fn ended(&self, operation: &'static str, time: Duration, outcome: CallOutcome) {
        self.times.get_or_create(&Operation { operation }).observe(time.as_secs_f64());
        match outcome {
            CallOutcome::Answered => {}
            CallOutcome::Failed => _ = self.failed.inc(),
            CallOutcome::Abandoned => _ = self.abandoned.inc(),
        }
    }
}
