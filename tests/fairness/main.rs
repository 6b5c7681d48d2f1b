//! No request costs others more than its share: each endpoint is asked for the worst that it allows by many clients of one
//! account at once, while others are at their ordinary work.
//!
//! What a request costs is a matter of the optimised program: without optimisation, putting an answer together takes
//! so much longer than waiting for it that even small answers cost others more. `AGORA_FAIRNESS_BINARY` names the program;
//! `scripts/fairness` builds it and runs this. `AGORA_FAIRNESS_ONLY` is a part of the method and path of those endpoints
//! that are of interest.

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

/// Only one at a time has the machine.
static MACHINE: Mutex<()> = Mutex::new(());

fn walk_on(store: impl FnOnce() -> Store) {
    let _machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let network = Runtime::new().unwrap().block_on(Network::new(store()));
    walk(&network);
}

#[test]
#[ignore = "measures the optimised program: scripts/fairness"]
fn no_endpoint_costs_others_more_than_its_share_on_sqlite() {
    walk_on(|| Store::Sqlite);
}

#[test]
#[ignore = "measures the optimised program: scripts/fairness"]
fn no_endpoint_costs_others_more_than_its_share_on_postgresql() {
    walk_on(Store::postgres);
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
