//! Compares the throughput with many connections and with few.

use std::sync::Arc;

use anyhow::Result;

use crate::network::{Accounts, Sample};
use crate::options::Options;
use crate::report::Report;
use crate::round;
use crate::round::Round;
use crate::service::SeededDatabase;
use crate::supervisor::Supervisor;
use crate::table::{Cell, Table, median};
use crate::workloads::Scenario;
use crate::wrk::Load;

const SOME: u32 = 32;
const MANY: u32 = 512;

const COLUMNS: [&str; 8] = ["work", "connections", "req/s", "p50 ms", "p99 ms", "max ms", "errors", "of 32"];

/// Measures reads with few and with many connections, alternately.
pub(crate) fn run(supervisor: &Arc<Supervisor>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let place = SeededDatabase::seeded(supervisor, options, kind, options.size(), 4)?;
        let service = place.serve()?;
        let sample = Sample::taken(&service)?;
        let mut table = Table::new(format!("Connections on {}", kind.name()), &COLUMNS);
        for scenario in [Scenario::Post, Scenario::Feed20] {
            let work = scenario.prepare(&Accounts { service: &service }, &sample)?;
            let (mut some, mut many) = (Vec::new(), Vec::new());
            for _ in 0..options.rounds {
                for (connections, rounds) in [(SOME, &mut some), (MANY, &mut many)] {
                    let load = Load { connections, ..options.load() };
                    rounds.push(round::service((&place, &service), supervisor, &work.traffic, load)?);
                }
            }
            let ratios = some.iter().zip(&many).map(|(some, many)| many.result.rate() / some.result.rate());
            let ratio = median(ratios);
            table.row(row(scenario, SOME, &some, None));
            table.row(row(scenario, MANY, &many, ratio));
        }
        report.add(table)?;
    }
    Ok(())
}

fn row(scenario: Scenario, connections: u32, rounds: &[Round], ratio: Option<f64>) -> Vec<Cell> {
    let middle = |figure: fn(&Round) -> f64| Cell::from(median(rounds.iter().map(figure)));
    vec![
        scenario.name().into(),
        connections.to_string().as_str().into(),
        middle(|round| round.result.rate()),
        middle(|round| round.result.p50 as f64 / 1e3),
        middle(|round| round.result.p99 as f64 / 1e3),
        middle(|round| round.result.max as f64 / 1e3),
        (rounds.iter().map(|round| round.errors).sum::<u64>() as f64).into(),
        ratio.into(),
    ]
}
