//! The HTTP/JSON interface: requests become calls of one use case, results become responses.
//!
//! The folders are layers, each of which uses only itself and those before it:
//!
//! | layer | what is in it |
//! |---|---|
//! | `core` | errors, services and settings, the identity of requests and clients, limits |
//! | `transport` | what actix-http lacks |
//! | `request` | what is read of a request |
//! | `response` | what is answered |
//! | `middleware` | what happens before and after every handler |
//! | `endpoints` | the handlers |
//!
//! Above them, [`routes`] declares every endpoint on one page; `router` calls the endpoint of a request; `openapi` describes
//! all of it, for the document that is committed and served.
//!
//! # The middleware stack
//!
//! From the outside in, as `serve` and `middleware_stack` below put it together:
//!
//! | middleware | what it does | why it stands there |
//! |---|---|---|
//! | `request_log::observe` | gives the request its id and finds its route; logs and counts its end | outermost: whatever refuses a request is logged under its id |
//! | `cors` | answers preflights, and marks responses for pages of other sites | before any refusal, which a page could not read otherwise; not there without `AGORA_CORS_ORIGINS` |
//! | `load_shedding::shed_load` | 503 when too many requests are in flight; bounds the memory of answers and the time of bodies | before anything is done for the request |
//! | `rate_limit::limit` | 429 by client address | before the token is looked up |
//! | `compress::compress` | compresses JSON beyond 1 KiB; `/docs` is kept compressed | inside the limits: what they refuse is small; it works while the request still counts as in flight |
//! | `router::dispatch` | calls the endpoint; 404 and 405 | the policy of the endpoint is known from here on |
//! | `authorize::authorize` | rate limits of logins and registrations, 401, rate limit of the account, 403, a NUL in the address, share of the account, `Idempotency-Key`; the deadline, panics | each needs the policy or the caller; `routes` puts it in front of every handler |

#![forbid(unsafe_code)]
// What describes the interface is not looked at then.
#![cfg_attr(not(feature = "openapi"), allow(dead_code, unused_imports))]

#[cfg(feature = "bench")]
pub mod bench;
mod core;
mod endpoints;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod middleware;
#[cfg(feature = "openapi")]
pub mod openapi;
mod request;
mod response;
mod router;
pub mod routes;
mod settings;
mod transport;

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use actix_http::HttpService;
use actix_service::{ServiceFactoryExt, fn_service, map_config};
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{AppConfig, Server, ServiceRequest, ServiceResponse};
use actix_web::middleware::{Condition, Next, from_fn};
use actix_web::{App, HttpRequest};
pub use core::{EffectiveSetting, LoadLimits, MacKeys, ReplicaServices, Services, Stopping, TrustedProxies};
pub use middleware::{CorsOrigins, RemoteParent, Throttling, metrics};
pub use settings::Settings;

use crate::core::{Client, State, shared};
use crate::middleware::{compress, cors, load_shedding, rate_limit, request_log};
use crate::settings::Shared;
use crate::transport::{Acceptor, LINGER, Stream};

/// How much longer than a request may take the server waits at shutdown for those in flight.
const SHUTDOWN_MARGIN: Duration = Duration::from_secs(5);

/// Serves the interface on `listener` until the returned server's handle is told to stop; gracefully, it then stops
/// accepting, finishes what is in flight and resolves. Signals are the caller's matter. Lists are read from the replica, if there is
/// one.
///
/// # Errors
/// When the listener cannot be used.
pub fn serve(
    listener: TcpListener,
    services: Services,
    replica: Option<ReplicaServices>,
    settings: Settings,
) -> io::Result<Server> {
    let (workers, origins) = (settings.workers, settings.cors_origins.clone());
    let longest = settings.load.body_time + settings.request_time + SHUTDOWN_MARGIN;
    let shared = Shared::new(services, replica, settings)?;
    let acceptor = Acceptor::new(shared.state.clone().into_inner(), shared.capacity.clone().into_inner());
    let builder = Server::build();
    let stopping = builder.graceful_shutdown_signal();
    // What `HttpServer` does, but with a stream with deadlines for its client.
    let connections = move || {
        let (shared, acceptor, stopping) = (shared.clone(), acceptor.clone(), stopping.clone());
        let asks_origins = origins != CorsOrigins::None;
        let app = App::new()
            .configure(|app| shared.register(app))
            .default_service(router::dispatch())
            .wrap(from_fn(middleware_stack))
            .wrap(Condition::new(asks_origins, origins.middleware()))
            .wrap(Condition::new(asks_origins, from_fn(cors::render_refusal)))
            .wrap(from_fn(request_log::observe));
        let http = HttpService::build()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            // The stream's matter.
            .client_request_timeout(Duration::ZERO)
            .client_disconnect_timeout(LINGER)
            .on_connect_ext(|stream: &Stream, data| drop(data.insert(stream.connection())))
            .finish(map_config(app, |()| AppConfig::default()));
        fn_service(move |tcp| {
            let acceptor = acceptor.clone();
            async move { acceptor.accept(tcp).await }
        })
        .and_then(http)
    };
    Ok(builder
        .workers(workers)
        // Not the limit: this one would leave connections waiting.
        .max_concurrent_connections(usize::MAX - 1)
        .disable_signals()
        .shutdown_timeout(longest.as_secs())
        .listen("agora", listener, connections)?
        .run())
}

/// Sheds load, holds the client to its rate limit and compresses the answer, in this order. One layer of actix-web, since
/// each takes allocations.
async fn middleware_stack(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let handle = async |request| next.call(request).await;
    let compressed = async |request| compress::compress(request, handle).await;
    let limited = async |request| rate_limit::limit(request, compressed).await;
    let client = |request: &HttpRequest| Ok(Client::of(shared::<State>(request)?, request).0);
    load_shedding::shed_load(request, client, limited).await
}

/// Returns how made-up values are tried in tests: the same cases each time, so that a failure has to do with the change
/// that it stands beside. `PROPTEST_CASES` makes them more.
#[cfg(test)]
fn proptest_config() -> proptest::test_runner::Config {
    use proptest::test_runner::{Config, RngSeed};
    Config { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::default() }
}
