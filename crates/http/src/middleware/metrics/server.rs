//! Shows the measurements at an address of their own.

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

/// The most connections: a few servers that look, and who tries it out.
const CONNECTIONS: usize = 16;

/// How long a connection lasts at most, whatever its client does or leaves undone: it is for one request, and few may be
/// held by those who dawdle.
const TIME: Duration = Duration::from_secs(10);

/// The format: that of OpenMetrics, which Prometheus and all that reads like it understand.
const FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves what is registered at `GET /metrics`, on one thread, until the returned server's handle is told to stop.
/// Signals are the caller's matter.
///
/// # Errors
/// When the listener cannot be used.
pub fn serve(listener: TcpListener, registry: Registry) -> io::Result<Server> {
    let registry = Data::from(Arc::new(registry));
    let connections = move || {
        let app = App::new().app_data(registry.clone()).route("/metrics", web::route().to(show));
        let http = HttpService::build()
            .keep_alive(KeepAlive::Disabled)
            // That of the connection is bounded.
            .client_request_timeout(Duration::ZERO)
            .finish(map_config(app, |()| AppConfig::default()))
            .tcp();
        apply_fn_factory(http, |tcp, http| {
            let served = http.call(tcp);
            async move { timeout(TIME, served).await.unwrap_or(Ok(())) }
        })
    };
    let builder = Server::build().workers(1).max_concurrent_connections(CONNECTIONS).disable_signals();
    Ok(builder.listen("agora-metrics", listener, connections)?.run())
}

async fn show(method: Method, registry: Data<Registry>) -> HttpResponse {
    if ![Method::GET, Method::HEAD].contains(&method) {
        return HttpResponse::MethodNotAllowed().insert_header((header::ALLOW, "GET, HEAD")).finish();
    }
    let mut page = String::new();
    match text::encode(&mut page, &registry) {
        Ok(()) => HttpResponse::Ok().insert_header((header::CONTENT_TYPE, FORMAT)).body(page),
        Err(error) => {
            tracing::error!(%error, "the metrics could not be written");
            HttpResponse::InternalServerError().finish()
        }
    }
}
