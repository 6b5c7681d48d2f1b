//! What Prometheus is shown, at an address of its own. Nothing of it is made unless that is configured, and nothing that
//! is shown is asked of the database.

mod calls;
mod service;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use actix_web::dev::Server;
use agora_http::metrics::HttpMetrics;
use anyhow::Result;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

pub(crate) use self::calls::CallTimes;
pub(crate) use self::service::ServiceMetrics;

/// What is shown, before it is.
pub(crate) struct Metrics {
    listener: TcpListener,
    registry: Registry,
    /// What is measured of requests.
    pub(crate) http: Arc<HttpMetrics>,
    /// What is measured of calls of the database.
    pub(crate) calls: Arc<CallTimes>,
}

impl Metrics {
    /// Measures for those who will connect to the listener.
    pub(crate) fn new(listener: TcpListener) -> Self {
        let mut registry = Registry::default();
        registry.register("agora_build", "The version that runs", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        let http = HttpMetrics::register(&mut registry);
        let calls = CallTimes::register(&mut registry);
        Self { listener, registry, http, calls }
    }

    /// Shows all that, and this as well: where, and the server.
    pub(crate) fn serve(mut self, service: ServiceMetrics) -> Result<(SocketAddr, Server)> {
        self.registry.register_collector(Box::new(service));
        let address = self.listener.local_addr()?;
        Ok((address, agora_http::metrics::serve(self.listener, self.registry)?))
    }
}
