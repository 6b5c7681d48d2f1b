//! A round: some seconds of load, while responses are checked, and the CPU time and memory of the service are measured.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};

use crate::service::{BareServer, SeededDatabase, Service};
use crate::supervisor::Supervisor;
use crate::workloads::{ResponseSize, Traffic};
use crate::wrk::{Load, LoadResult};
use crate::{usage, wrk};

/// The relative deviation that is allowed of the average size of a response.
const SIZE_TOLERANCE: f64 = 0.02;

/// The result of a round.
pub(crate) struct Round {
    pub(crate) result: LoadResult,
    /// Microseconds of CPU time of the service per request.
    pub(crate) service_cpu: f64,
    /// Microseconds of CPU time of the database server per request; 0 for SQLite.
    pub(crate) database_cpu: f64,
    /// Failed requests and wrong answers.
    pub(crate) errors: u64,
    /// The peak of the service's resident memory, in bytes.
    pub(crate) peak: u64,
}

/// Runs a round on the service.
pub(crate) fn service(
    (place, service): (&SeededDatabase, &Service),
    supervisor: &Supervisor,
    traffic: &Traffic,
    load: Load,
) -> Result<Round> {
    usage::reset_peak(service.id())?;
    let (service_before, database_before) = (service.cpu()?, place.database_cpu()?);
    let stop = AtomicBool::new(false);
    let (result, checked) = thread::scope(|scope| {
        let checks = scope.spawn(|| traffic.check.run(&service.api, &stop));
        let result = wrk::drive(supervisor, service.api.base(), &traffic.requests, load);
        stop.store(true, Ordering::Relaxed);
        (result, checks.join())
    });
    let (result, checked) = (result?, checked.map_err(|_| anyhow!("the checks failed"))?);
    let requests = result.requests + checked.requests;
    let mut errors = result.errors() + checked.errors;
    if result.errors() > 0 {
        crate::note(&format!("failed requests:{}", result.error_summary()));
    }
    if let Some(size) = traffic.size
        && !is_near(result.size(), size, traffic.requests.len() as f64 / result.requests.max(1) as f64)
    {
        errors += 1;
        crate::note(&format!("wrong answers: {:.0} bytes instead of {:.0}", result.size(), size.mean));
    }
    Ok(Round {
        service_cpu: per_request(service.cpu()?.saturating_sub(service_before), requests),
        database_cpu: per_request(place.database_cpu()?.saturating_sub(database_before), requests),
        errors,
        peak: usage::peak(service.id())?,
        result,
    })
}

/// Runs a round on the bare handler; returns the result of wrk, and the microseconds of CPU time per request.
pub(crate) fn bare(
    bare: &BareServer,
    supervisor: &Supervisor,
    traffic: &Traffic,
    load: Load,
) -> Result<(LoadResult, f64)> {
    let before = bare.cpu()?;
    let result = wrk::drive(supervisor, bare.api.base(), &traffic.requests, load)?;
    let cpu = per_request(bare.cpu()?.saturating_sub(before), result.requests);
    Ok((result, cpu))
}

/// Returns whether the average size of responses is as expected. Since a round may end in the middle of the list of requests, the
/// average may be off by up to the spread of sizes times `list`, the length of the list in relation to all requests sent.
fn is_near(found: f64, size: ResponseSize, list: f64) -> bool {
    (found - size.mean).abs() <= size.mean * SIZE_TOLERANCE + size.spread * list.min(1.0)
}

fn per_request(time: Duration, requests: u64) -> f64 {
    time.as_secs_f64() * 1e6 / requests.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_size_may_deviate_if_the_last_pass_over_the_list_is_incomplete() {
        let size = ResponseSize { mean: 1000.0, spread: 500.0 };
        assert!(is_near(1019.0, size, 0.0) && !is_near(1021.0, size, 0.0));
        assert!(is_near(950.0, size, 0.1) && !is_near(900.0, size, 0.1));
    }
}
