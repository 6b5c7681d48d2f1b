//! The HTTP/JSON interface: turns each request into a call of one use case, and its result into a response.
//!
//! The modules are layers, each of which uses only itself and those below it in this table:
//!
//! | layer | contents |
//! |---|---|
//! | `endpoints` | the handlers |
//! | `middleware` | what happens before and after every handler |
//! | `response` | envelopes, lists, entity tags, the JSON of the domain's values |
//! | `request` | extractors and parsers: bodies, parameters, paging, preconditions |
//! | `transport` | what actix-http lacks |
//! | `core` | errors, services and settings, the identity of requests and clients, limits |
//!
//! Above them, [`routes`] declares every endpoint in one table, `router` calls the endpoint of a request, and `openapi`
//! generates the OpenAPI document that is committed and served.
//!
//! # The middleware stack
//!
//! From the outermost to the innermost, as `serve` and `middleware_stack` below assemble it:
//!
//! | middleware | what it does | why at this position |
//! |---|---|---|
//! | `request_log::observe` | gives the request its id and finds its route; logs and counts its end | outermost, so that every rejection is logged under the id of its request |
//! | `cors` | answers preflights, and adds CORS headers to responses | outside everything that rejects, since a page cannot read a response without these headers; absent without `AGORA_CORS_ORIGINS` |
//! | `load_shedding::shed_load` | 503 when too many requests are in flight; bounds the memory of responses and the time for request bodies | before any work is done for the request |
//! | `rate_limit::limit` | 429 by client address | before the token is checked |
//! | `compress::compress` | compresses JSON beyond 1 KiB; `/docs` is stored compressed | inside the limits: their rejections are too small to compress, and the request counts as in flight while its response is compressed |
//! | `router::dispatch` | calls the endpoint; 404 and 405 | the policy of the endpoint is known from here on |
//! | `authorize::authorize` | rate limits of logins and registrations, 401, rate limit of the account, 403, 400 for a NUL in the URL, concurrency limit of the account, `Idempotency-Key`; the deadline, panics | each needs the policy or the caller; `routes` puts it in front of every handler |

#![forbid(unsafe_code)]
// Without the feature, nothing reads the descriptions that `openapi` is made of.
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
pub use core::{EffectiveSetting, LoadLimits, MacKeys, ReplicaServices, Services, ShutdownFlag, TrustedProxies};
pub use middleware::{CorsOrigins, RemoteParent, Throttling, metrics};
pub use settings::Settings;

use crate::core::{Client, State, shared};
use crate::middleware::{compress, cors, load_shedding, rate_limit, request_log};
use crate::settings::Shared;
use crate::transport::{Acceptor, LINGER, Stream};

/// How long the server waits at shutdown for requests in flight, beyond the longest time that a request may take.
const SHUTDOWN_MARGIN: Duration = Duration::from_secs(5);

/// Serves the interface on `listener` until the returned server is stopped through its handle.
///
/// After a graceful stop it accepts no more connections, finishes the requests in flight and resolves. Signals are left to the
/// caller. Lists are read from `replica`, if there is one.
///
/// # Errors
/// If the listener cannot be used.
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
    // Does what `HttpServer` does, but over a stream that enforces deadlines on its client.
    let connections = move || {
        let (shared, acceptor, stopping) = (shared.clone(), acceptor.clone(), stopping.clone());
        let has_cors = origins != CorsOrigins::None;
        let app = App::new()
            .configure(|app| shared.register(app))
            .default_service(router::dispatch())
            .wrap(from_fn(middleware_stack))
            .wrap(Condition::new(has_cors, origins.middleware()))
            .wrap(Condition::new(has_cors, from_fn(cors::render_refusal)))
            .wrap(from_fn(request_log::observe));
        let http = HttpService::build()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            // `Stream` enforces this deadline itself.
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
        // The limit is enforced by `Acceptor`, which answers 503: at this one, connections would wait instead.
        .max_concurrent_connections(usize::MAX - 1)
        .disable_signals()
        .shutdown_timeout(longest.as_secs())
        .listen("agora", listener, connections)?
        .run())
}

/// Sheds load, enforces the rate limit of the client and compresses the response, in this order. They are one layer of
/// actix-web, since each layer costs allocations.
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

/// Returns the configuration of property tests: the seed is fixed, so that a new failure is due to a change of the code.
/// `PROPTEST_CASES` raises the number of cases.
#[cfg(test)]
fn proptest_config() -> proptest::test_runner::Config {
    use proptest::test_runner::{Config, RngSeed};
    Config { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::default() }
}
