//! The drift of times and memory under minutes of mixed reads and writes.

use std::sync::Arc;

use anyhow::Result;

use crate::check::Check;
use crate::network::{Accounts, Rng, Sample, me};
use crate::options::Options;
use crate::report::Report;
use crate::round::Round;
use crate::service::{SeededDatabase, Service};
use crate::supervisor::Supervisor;
use crate::table::{Cell, Table};
use crate::workloads::{Scenario, Traffic};
use crate::wrk::Load;
use crate::{round, usage};

/// The percentage of each kind of request: 80 % reads, 20 % writes.
const SHARES: [(Scenario, usize); 6] = [
    (Scenario::Post, 40),
    (Scenario::Feed20, 20),
    (Scenario::Feed1000, 5),
    (Scenario::Comments, 15),
    (Scenario::Like, 14),
    (Scenario::NewPost, 6),
];

/// The number of requests in the list that is sent in rotation.
const REQUESTS: usize = 10_000;

/// The length of a sample in seconds.
const SLICE: u64 = 10;

const COLUMNS: [&str; 8] = ["second", "req/s", "p50 ms", "p99 ms", "max ms", "service MiB", "WAL MiB", "errors"];

/// Sends a mixture of requests for some minutes.
pub(crate) fn run(supervisor: &Arc<Supervisor>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let place = SeededDatabase::seeded(supervisor, options, kind, options.size(), 4)?;
        let service = place.serve()?;
        let traffic = mixture(&service)?;
        let load = Load { seconds: SLICE, ..options.load() };
        let mut table = Table::new(format!("80 % reads, 20 % writes on {}", kind.name()), &COLUMNS);
        let mut samples: Vec<Vec<f64>> = Vec::new();
        for slice in 1..=(options.mixed_seconds / SLICE).max(3) {
            let round = round::service((&place, &service), supervisor, &traffic, load)?;
            let sample = sample(&round, usage::resident(service.id())?, place.wal_size()?);
            let mut row: Vec<Cell> = vec![(slice * SLICE).to_string().as_str().into()];
            row.extend(sample.iter().map(|figure| Cell::from(*figure)));
            table.row(row);
            samples.push(sample);
        }
        let mut row: Vec<Cell> = vec!["last third of first".into()];
        row.extend(drift(&samples).into_iter().map(Cell::from));
        // A ratio of errors is meaningless.
        row.pop();
        row.push(Cell::None);
        table.row(row);
        report.add(table)?;
    }
    Ok(())
}

fn sample(round: &Round, memory: u64, wal: u64) -> Vec<f64> {
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let millis = |micros: u64| micros as f64 / 1e3;
    let result = &round.result;
    let times = [result.p50, result.p99, result.max].map(millis);
    [&[result.rate()], &times[..], &[mebibytes(memory), mebibytes(wal), round.errors as f64]].concat()
}

/// Returns the ratio of the mean of each figure in the last third of the samples to that in the first third.
fn drift(samples: &[Vec<f64>]) -> Vec<Option<f64>> {
    let third = samples.len() / 3;
    let mean = |samples: &[Vec<f64>], figure: usize| {
        samples.iter().filter_map(|sample| sample.get(figure)).sum::<f64>() / samples.len() as f64
    };
    let figures = samples.first().map_or(0, Vec::len);
    let (first, last) = (samples.get(..third), samples.get(samples.len() - third..));
    let ratio = |figure| {
        let (first, last) = (mean(first?, figure), mean(last?, figure));
        (first > 0.0).then(|| last / first)
    };
    (0..figures).map(ratio).collect()
}

/// Prepares requests of all kinds in their percentages, shuffled.
pub(crate) fn mixture(service: &Service) -> Result<Traffic> {
    let accounts = Accounts { service };
    let sample = Sample::taken(service)?;
    let mut requests = Vec::new();
    for (scenario, share) in SHARES {
        let work = scenario.prepare(&accounts, &sample)?;
        requests.extend(work.traffic.requests.iter().cycle().take(REQUESTS * share / 100).cloned());
    }
    Rng::new(3).shuffle(&mut requests);
    let token = service.log_in_as("writer_64")?;
    let author = me(&service.api, &token)?;
    Ok(Traffic { requests, check: Check::Posts { token, author }, size: None })
}
