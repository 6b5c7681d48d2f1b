//! Checks that no request costs other users more than its share: many clients of one account send each endpoint's most
//! expensive requests concurrently, while other users send ordinary ones.
//!
//! The cost is measured with the optimised program: without optimisation, rendering takes so much longer than waiting for the
//! database that even small responses cost others more. `AGORA_FAIRNESS_BINARY` is the path of the program; `scripts/fairness`
//! builds it and runs this suite. `AGORA_FAIRNESS_ONLY` selects the endpoints whose method and path contain it.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/backend.rs"]
mod backend;
#[path = "../support/client.rs"]
mod client;
mod clients;
mod http;
mod names;
mod network;
mod ordinary;
#[path = "../support/picture.rs"]
mod picture;
mod pictures;
#[path = "../support/postgres.rs"]
mod private_postgres;
#[path = "../support/process.rs"]
mod process;
mod requests;
mod seed;
mod store;
mod walk;
mod worst_cases;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use agora_http::routes;
use tokio::runtime::Runtime;

use crate::network::Network;
use crate::store::Store;
use crate::walk::walk;
use crate::worst_cases::WORST_CASES;

/// Held during a measurement, so that only one runs at a time.
static MACHINE: Mutex<()> = Mutex::new(());

fn measure_on(store: impl FnOnce() -> Store) {
    let _machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let network = Runtime::new().unwrap().block_on(Network::new(store()));
    walk(&network);
}

#[test]
#[ignore = "measures the optimised program: scripts/fairness"]
fn no_endpoint_costs_others_more_than_its_share_on_sqlite() {
    measure_on(|| Store::Sqlite);
}

#[test]
#[ignore = "measures the optimised program: scripts/fairness"]
fn no_endpoint_costs_others_more_than_its_share_on_postgresql() {
    measure_on(Store::postgres);
}

#[test]
fn every_endpoint_has_one_worst_case() {
    let cases: Vec<_> = WORST_CASES.iter().map(|case| (case.method.to_owned(), case.path)).collect();
    let endpoints: BTreeSet<_> = routes::endpoints().iter().map(|it| (it.method.to_string(), it.path)).collect();
    let missing: Vec<_> = endpoints.iter().filter(|it| !cases.contains(it)).collect();
    assert!(missing.is_empty(), "tests/fairness/worst_cases.rs has nothing about {missing:?}");
    let unknown: Vec<_> = cases.iter().filter(|it| !endpoints.contains(it)).collect();
    assert!(unknown.is_empty(), "there is no {unknown:?}");
    assert_eq!(cases.len(), endpoints.len(), "an endpoint has two worst cases");
    for case in WORST_CASES {
        assert!(!case.asks.is_empty(), "nothing is asked of {} {}", case.method, case.path);
        for (parameter, ..) in case.asks {
            assert_eq!(case.path.contains('{'), !parameter.is_empty(), "{} {}", case.method, case.path);
        }
    }
}
