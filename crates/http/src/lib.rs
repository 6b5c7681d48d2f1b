//! The HTTP/JSON interface: requests become calls of one use case, results become responses.
//!
//! [`routes`] holds the whole route table on one page, with who may call what; `router` finds what a request is for.
//! `guard` stands before every handler: it authenticates, bounds the time and turns panics into responses. Each
//! feature's module holds its handlers next to the types of their requests and responses. Every failure leaves through
//! `error`. [`openapi`] describes all of it.

#![forbid(unsafe_code)]

#[cfg(feature = "bench")]
pub mod bench;
mod core;
mod endpoints;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod middleware;
pub mod openapi;
mod request;
mod response;
mod router;
pub mod routes;
mod transport;

use std::{io, net::TcpListener, sync::Arc, time::Duration};

use actix_http::{HttpService, Protocol, error::DispatchError};
use actix_service::{ServiceFactoryExt, fn_service, map_config};
use actix_web::{
    App,
    body::MessageBody,
    dev::{AppConfig, Server, ServiceRequest, ServiceResponse},
    middleware::{Condition, Next, from_fn},
    rt::net::TcpStream,
    web,
};
pub use core::{
    client_ip::TrustedProxies,
    mac::Seal,
    state::{Services, Settings, Stopping},
};
pub use middleware::{cors::CorsOrigins, load_shedding::LoadLimits, metrics, rate_limit::Throttling};
use tokio::sync::Semaphore;

use crate::{
    core::state::State,
    middleware::{compress, cors, load_shedding, rate_limit, request_log},
    transport::{connection::LINGER, reject::turn_away, stream::Stream},
};

/// How much longer than a request may take the server waits at shutdown for those in flight.
const SHUTDOWN_MARGIN: Duration = Duration::from_secs(5);

/// How many connections beyond the limit are told so at once; others are closed without.
const TOLD: usize = 256;

/// Serves the interface on `listener` until the returned server's handle is told to stop; gracefully, it then stops
/// accepting, finishes what is in flight and resolves. Signals are the caller's matter.
///
/// # Errors
/// When the listener cannot be used.
pub fn serve(listener: TcpListener, services: Services, settings: Settings) -> io::Result<Server> {
    let (workers, origins) = (settings.workers, settings.cors_origins.clone());
    let longest = settings.load.body_time + settings.request_time + SHUTDOWN_MARGIN;
    let state = web::Data::new(State::new(services, settings)?);
    let told = Arc::new(Semaphore::new(TOLD));
    let builder = Server::build();
    let stopping = builder.graceful_shutdown_signal();
    // What `HttpServer` does, but with a stream that looks after the time its client takes.
    let connections = move || {
        let (state, stopping) = (state.clone(), stopping.clone());
        let (shared, told) = (Arc::clone(&state), Arc::clone(&told));
        let asks_origins = origins != CorsOrigins::None;
        let app = App::new()
            .app_data(state)
            .default_service(router::dispatch())
            .wrap(from_fn(take_on))
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
        fn_service(move |tcp| accept(tcp, Arc::clone(&shared), Arc::clone(&told))).and_then(http)
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

/// Takes a request on, within the limits of the service and of its client. One layer: each takes allocations.
async fn take_on(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<load_shedding::Answer>, actix_web::Error> {
    let handle = async |request| next.call(request).await;
    let compressed = async |request| compress::compress(request, handle).await;
    let limited = async |request| rate_limit::limit(request, compressed).await;
    load_shedding::admit(request, limited).await
}

/// Takes a connection on, unless there are too many.
async fn accept(
    tcp: TcpStream,
    state: Arc<State>,
    told: Arc<Semaphore>,
) -> Result<(Stream, Protocol, Option<std::net::SocketAddr>), DispatchError> {
    let Some(place) = state.overload.connections.enter() else {
        if let Ok(_told) = told.try_acquire() {
            turn_away(tcp, &state.services).await;
        }
        return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into());
    };
    // A client that is gone already is noticed when it is read from.
    let _ = tcp.set_nodelay(true);
    let address = tcp.peer_addr().ok();
    Ok((Stream::new(tcp, state, place), Protocol::Http1, address))
}

/// How made-up values are tried in tests: the same cases each time, so that a failure has to do with the change that it
/// stands beside. `PROPTEST_CASES` makes them more.
#[cfg(test)]
fn made_up() -> proptest::test_runner::Config {
    use proptest::test_runner::{Config, RngSeed};
    Config { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::default() }
}
