//! A round: a work is driven for some seconds, while its answers are checked and what is used is counted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};

use crate::keeper::Keeper;
use crate::service::{Bare, SeededDatabase, Service};
use crate::works::{Bytes, Traffic};
use crate::wrk::{Driven, Load};
use crate::{usage, wrk};

/// By which part the average size of an answer may be off.
const SIZE_TOLERANCE: f64 = 0.02;

/// What a round of the service came to.
pub(crate) struct Round {
    pub(crate) driven: Driven,
    /// Microseconds of CPU for each request, of the service and of the database's own processes.
    pub(crate) service_cpu: f64,
    pub(crate) database_cpu: f64,
    /// Failed requests and wrong answers.
    pub(crate) errors: u64,
    /// The most bytes that the service had in memory.
    pub(crate) peak: u64,
}

/// Drives the service.
pub(crate) fn service(
    (place, service): (&SeededDatabase, &Service),
    keeper: &Keeper,
    traffic: &Traffic,
    load: Load,
) -> Result<Round> {
    usage::forget_peak(service.id())?;
    let (service_before, database_before) = (service.cpu()?, place.database_cpu()?);
    let stop = AtomicBool::new(false);
    let (driven, checked) = thread::scope(|scope| {
        let checks = scope.spawn(|| traffic.check.run(&service.api, &stop));
        let driven = wrk::drive(keeper, service.api.base(), &traffic.requests, load);
        stop.store(true, Ordering::Relaxed);
        (driven, checks.join())
    });
    let (driven, checked) = (driven?, checked.map_err(|_| anyhow!("the checks failed"))?);
    let requests = driven.requests + checked.requests;
    let mut errors = driven.errors() + checked.errors;
    if driven.errors() > 0 {
        crate::note(&format!("failed requests:{}", driven.told()));
    }
    if let Some(size) = traffic.size
        && !is_near(driven.size(), size, traffic.requests.len() as f64 / driven.requests.max(1) as f64)
    {
        errors += 1;
        crate::note(&format!("wrong answers: {:.0} bytes instead of {:.0}", driven.size(), size.mean));
    }
    Ok(Round {
        service_cpu: per_request(service.cpu()?.saturating_sub(service_before), requests),
        database_cpu: per_request(place.database_cpu()?.saturating_sub(database_before), requests),
        errors,
        peak: usage::peak(service.id())?,
        driven,
    })
}

/// Drives the bare handler: what came of it, and its microseconds of CPU for each request.
pub(crate) fn bare(bare: &Bare, keeper: &Keeper, traffic: &Traffic, load: Load) -> Result<(Driven, f64)> {
    let before = bare.cpu()?;
    let driven = wrk::drive(keeper, bare.api.base(), &traffic.requests, load)?;
    let cpu = per_request(bare.cpu()?.saturating_sub(before), driven.requests);
    Ok((driven, cpu))
}

/// Returns whether answers are on average as large as they should be. A round ends in the middle of the list of
/// requests, which is such a part of all that were sent.
fn is_near(found: f64, size: Bytes, list: f64) -> bool {
    (found - size.mean).abs() <= size.mean * SIZE_TOLERANCE + size.spread * list.min(1.0)
}

fn per_request(time: Duration, requests: u64) -> f64 {
    time.as_secs_f64() * 1e6 / requests.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_may_differ_by_what_the_end_of_the_list_lacks() {
        let size = Bytes { mean: 1000.0, spread: 500.0 };
        assert!(is_near(1019.0, size, 0.0) && !is_near(1021.0, size, 0.0));
        assert!(is_near(950.0, size, 0.1) && !is_near(900.0, size, 0.1));
    }
}
