//! The server of `/metrics`, on an address of its own.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_http::{HttpService, KeepAlive};
use actix_service::{Service as _, apply_fn_factory, map_config};
use actix_web::dev::{AppConfig, Server};
use actix_web::http::{Method, header};
use actix_web::rt::time::timeout;
use actix_web::web::Data;
use actix_web::{App, HttpResponse, web};
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

/// The most connections at once: enough for a few Prometheus servers and a person who tries it out.
const MAX_CONNECTIONS: usize = 16;

/// How long a connection may last in total. It is for one request, and slow clients must not hold the few connections.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);

/// The content type of OpenMetrics, which Prometheus and compatible collectors accept.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves the registered metrics at `GET /metrics`, on one thread, until the returned server is stopped by its handle. Signals
/// are left to the caller.
///
/// # Errors
/// When the listener cannot be used.
pub fn serve(listener: TcpListener, registry: Registry) -> io::Result<Server> {
    let registry = Data::from(Arc::new(registry));
    let connections = move || {
        let app = App::new().app_data(registry.clone()).route("/metrics", web::route().to(render));
        let http = HttpService::build()
            .keep_alive(KeepAlive::Disabled)
            // The timeout of the connection includes it.
            .client_request_timeout(Duration::ZERO)
            .finish(map_config(app, |()| AppConfig::default()))
            .tcp();
        apply_fn_factory(http, |tcp, http| {
            let served = http.call(tcp);
            async move { timeout(CONNECTION_TIMEOUT, served).await.unwrap_or(Ok(())) }
        })
    };
    let builder = Server::build().workers(1).max_concurrent_connections(MAX_CONNECTIONS).disable_signals();
    Ok(builder.listen("agora-metrics", listener, connections)?.run())
}

async fn render(method: Method, registry: Data<Registry>) -> HttpResponse {
    if ![Method::GET, Method::HEAD].contains(&method) {
        return HttpResponse::MethodNotAllowed().insert_header((header::ALLOW, "GET, HEAD")).finish();
    }
    let mut page = String::new();
    match text::encode(&mut page, &registry) {
        Ok(()) => HttpResponse::Ok().insert_header((header::CONTENT_TYPE, CONTENT_TYPE)).body(page),
        Err(error) => {
            tracing::error!(%error, "could not encode the metrics");
            HttpResponse::InternalServerError().finish()
        }
    }
}
