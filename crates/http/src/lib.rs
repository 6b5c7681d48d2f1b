//! The HTTP/JSON interface: requests become calls of one use case, results become responses.
//!
//! [`routes`] holds the whole route table on one page, with who may call what. `guard` stands before every handler: it
//! authenticates, bounds the time and turns panics into responses. Each feature's module holds its handlers next to
//! the types of their requests and responses. Every failure leaves through `error`. [`openapi`] describes all of it.

#![forbid(unsafe_code)]

mod accounts;
#[cfg(feature = "bench")]
pub mod bench;
mod body;
mod comments;
mod compress;
mod conditional;
mod cursor;
mod docs;
mod envelope;
mod error;
mod extract;
mod follows;
mod form;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod guard;
mod idempotency;
mod json;
mod media;
mod observe;
pub mod openapi;
mod paging;
mod posts;
mod products;
mod render;
pub mod routes;
mod seal;
mod state;
mod users;

use std::{io, net::TcpListener, time::Duration};

use actix_web::{App, HttpServer, dev::Server, middleware::from_fn, web};
pub use seal::Seal;
pub use state::{Services, Settings};

use crate::state::State;

/// How long the server waits at shutdown for requests in flight: a little longer than a request may take.
const SHUTDOWN_SECONDS: u64 = 35;

/// Serves the interface on `listener` until the returned server's handle is told to stop; gracefully, it then stops
/// accepting, finishes what is in flight and resolves. Signals are the caller's matter.
///
/// # Errors
/// When the listener cannot be used.
pub fn serve(listener: TcpListener, services: Services, settings: Settings) -> io::Result<Server> {
    let workers = settings.workers;
    let state = web::Data::new(State { services, settings });
    let server = HttpServer::new(move || {
        App::new()
            .app_data(state.clone())
            .configure(routes::configure)
            .default_service(web::to(error::unknown_route))
            .wrap(from_fn(compress::compress))
            .wrap(from_fn(observe::observe))
    });
    Ok(server
        .workers(workers)
        .tcp_nodelay(true)
        .disable_signals()
        .shutdown_timeout(SHUTDOWN_SECONDS)
        // How long a client that still sends is listened to after it was refused, so that it sees the refusal.
        .client_disconnect_timeout(Duration::from_secs(5))
        .listen(listener)?
        .run())
}

/// How made-up values are tried in tests: the same cases each time, so that a failure has to do with the change that it
/// stands beside. `PROPTEST_CASES` makes them more.
#[cfg(test)]
fn made_up() -> proptest::test_runner::Config {
    use proptest::test_runner::{Config, RngSeed};
    Config { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::default() }
}
