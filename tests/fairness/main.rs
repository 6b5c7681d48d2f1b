//! No request costs others more than its share, whatever its endpoint.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod worst_cases;

use std::collections::BTreeSet;

use agora_http::routes;

use crate::worst_cases::WORST_CASES;

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
