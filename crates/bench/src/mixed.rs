//! Whether anything drifts while members read and write for minutes.

use std::sync::Arc;

use anyhow::Result;

use crate::check::Check;
use crate::keeper::Keeper;
use crate::network::{Dice, People, Sample, me};
use crate::options::Options;
use crate::report::Report;
use crate::round::Round;
use crate::service::{SeededDatabase, Service};
use crate::table::{Cell, Table};
use crate::works::{Subject, Traffic};
use crate::wrk::Load;
use crate::{round, usage};

/// Of a hundred requests, those of each kind: 80 reads, 20 writes.
const SHARES: [(Subject, usize); 6] = [
    (Subject::Post, 40),
    (Subject::Feed20, 20),
    (Subject::Feed1000, 5),
    (Subject::Comments, 15),
    (Subject::Like, 14),
    (Subject::NewPost, 6),
];

/// How many requests are built before the first is sent.
const REQUESTS: usize = 10_000;

/// How long a sample is.
const SLICE: u64 = 10;

const COLUMNS: [&str; 8] = ["second", "req/s", "p50 ms", "p99 ms", "max ms", "service MiB", "WAL MiB", "errors"];

/// Drives all kinds of requests for some minutes.
pub(crate) fn run(keeper: &Arc<Keeper>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let place = SeededDatabase::seeded(keeper, options, kind, options.size(), 4)?;
        let service = place.serve()?;
        let traffic = mixture(&service)?;
        let load = Load { seconds: SLICE, ..options.load() };
        let mut table = Table::new(format!("80 % reads, 20 % writes on {}", kind.name()), &COLUMNS);
        let mut samples: Vec<Vec<f64>> = Vec::new();
        for slice in 1..=(options.mixed_seconds / SLICE).max(3) {
            let round = round::service((&place, &service), keeper, &traffic, load)?;
            let sample = sample(&round, usage::resident(service.id())?, place.wal_size()?);
            let mut row: Vec<Cell> = vec![(slice * SLICE).to_string().as_str().into()];
            row.extend(sample.iter().map(|figure| Cell::from(*figure)));
            table.row(row);
            samples.push(sample);
        }
        let mut row: Vec<Cell> = vec!["last third of first".into()];
        row.extend(drift(&samples).into_iter().map(Cell::from));
        // Errors are not to be compared.
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
    let driven = &round.driven;
    let times = [driven.p50, driven.p99, driven.max].map(millis);
    [&[driven.rate()], &times[..], &[mebibytes(memory), mebibytes(wal), round.errors as f64]].concat()
}

/// Returns the mean of each figure in the last third over that in the first.
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

/// Requests of all kinds in their shares, mixed.
pub(crate) fn mixture(service: &Service) -> Result<Traffic> {
    let people = People { service };
    let sample = Sample::taken(service)?;
    let mut requests = Vec::new();
    for (subject, share) in SHARES {
        let work = subject.prepare(&people, &sample)?;
        requests.extend(work.traffic.requests.iter().cycle().take(REQUESTS * share / 100).cloned());
    }
    Dice::new(3).shuffle(&mut requests);
    let token = service.log_in_as("writer_64")?;
    let author = me(&service.api, &token)?;
    Ok(Traffic { requests, check: Check::Posts { token, author }, size: None })
}
