//! Metrics of requests, and the server that exposes all metrics to Prometheus.
//!
//! None of this is created unless metrics are enabled.

mod page;
mod requests;
mod server;

use std::fmt;
use std::sync::{Arc, OnceLock};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Registry;

use crate::core::Capacity;
use crate::middleware::Refusals;
pub use crate::middleware::metrics::page::Page;
pub(crate) use crate::middleware::metrics::requests::Requests;
pub use crate::middleware::metrics::server::serve;

/// The metrics of one HTTP service.
pub struct HttpMetrics {
    pub(crate) requests: Requests,
    load: OnceLock<Load>,
}

/// Where the gauges of the current load and the counters of refusals are read.
struct Load {
    capacity: Arc<Capacity>,
    refusals: Arc<Refusals>,
}

impl HttpMetrics {
    /// Creates the metrics of one service and registers them. They are passed to the service in [`Settings`](crate::Settings).
    pub fn register(registry: &mut Registry) -> Arc<Self> {
        let metrics = Arc::new(Self { requests: Requests::register(registry), load: OnceLock::new() });
        registry.register_collector(Box::new(Arc::clone(&metrics)));
        metrics
    }

    pub(crate) fn attach(&self, capacity: Arc<Capacity>, refusals: Arc<Refusals>) {
        // If there are several services, the metrics show the first.
        let _ = self.load.set(Load { capacity, refusals });
    }
}

impl fmt::Debug for HttpMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpMetrics").finish_non_exhaustive()
    }
}

impl Collector for HttpMetrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(Load { capacity, refusals }) = self.load.get() else { return Ok(()) };
        let (uploads, answers, limits) = (&capacity.uploads, &capacity.answers, &capacity.limits);
        let mut page = Page::new(encoder);
        page.gauge("agora_http_requests_in_flight", "Requests in flight", capacity.requests.in_use())?;
        page.gauge("agora_http_requests_in_flight_max", "The most requests in flight", limits.requests)?;
        page.gauge("agora_http_connections", "Connections of clients", capacity.connections.in_use())?;
        page.gauge("agora_http_connections_max", "The most connections of clients", limits.connections)?;
        page.gauge("agora_http_upload_bytes", "Memory set aside for large bodies", uploads.held())?;
        page.gauge("agora_http_upload_bytes_max", "The most memory for large bodies", limits.upload_bytes)?;
        page.gauge("agora_http_uploads_waiting", "Large bodies that wait for memory", uploads.waiting())?;
        page.gauge("agora_http_answer_bytes", "Memory of large answers", answers.held())?;
        page.gauge("agora_http_answer_bytes_max", "The most memory of large answers", limits.answer_bytes)?;
        page.gauge("agora_http_answers_waiting", "Large answers that wait for memory", answers.waiting())?;
        let overloaded = [
            ("connections", capacity.connections.refused()),
            ("requests", capacity.requests.refused()),
            ("uploads", uploads.refused()),
            ("answers", answers.refused()),
        ];
        page.counters(
            "agora_http_refusals",
            "Requests and connections that were refused, by the limit that they were beyond",
            "limit",
            overloaded.into_iter().chain(refusals.totals()),
        )
    }
}
