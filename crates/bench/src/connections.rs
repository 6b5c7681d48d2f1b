//! Whether many connections are served as well as some.

use std::sync::Arc;

use anyhow::Result;

use crate::keeper::Keeper;
use crate::network::{People, Sample};
use crate::options::Options;
use crate::report::Report;
use crate::round;
use crate::round::Round;
use crate::service::SeededDatabase;
use crate::table::{Cell, Table, median};
use crate::works::Subject;
use crate::wrk::Load;

const SOME: u32 = 32;
const MANY: u32 = 512;

const COLUMNS: [&str; 8] = ["work", "connections", "req/s", "p50 ms", "p99 ms", "max ms", "errors", "of 32"];

/// Measures reads with some and with many connections, in turns.
pub(crate) fn run(keeper: &Arc<Keeper>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let place = SeededDatabase::seeded(keeper, options, kind, options.size(), 4)?;
        let service = place.serve()?;
        let sample = Sample::taken(&service)?;
        let mut table = Table::new(format!("Connections on {}", kind.name()), &COLUMNS);
        for subject in [Subject::Post, Subject::Feed20] {
            let work = subject.prepare(&People { service: &service }, &sample)?;
            let (mut some, mut many) = (Vec::new(), Vec::new());
            for _ in 0..options.rounds {
                for (connections, rounds) in [(SOME, &mut some), (MANY, &mut many)] {
                    let load = Load { connections, ..options.load() };
                    rounds.push(round::service((&place, &service), keeper, &work.traffic, load)?);
                }
            }
            let ratios = some.iter().zip(&many).map(|(some, many)| many.driven.rate() / some.driven.rate());
            let ratio = median(ratios);
            table.row(row(subject, SOME, &some, None));
            table.row(row(subject, MANY, &many, ratio));
        }
        report.add(table)?;
    }
    Ok(())
}

fn row(subject: Subject, connections: u32, rounds: &[Round], ratio: Option<f64>) -> Vec<Cell> {
    let middle = |figure: fn(&Round) -> f64| Cell::from(median(rounds.iter().map(figure)));
    vec![
        subject.name().into(),
        connections.to_string().as_str().into(),
        middle(|round| round.driven.rate()),
        middle(|round| round.driven.p50 as f64 / 1e3),
        middle(|round| round.driven.p99 as f64 / 1e3),
        middle(|round| round.driven.max as f64 / 1e3),
        (rounds.iter().map(|round| round.errors).sum::<u64>() as f64).into(),
        ratio.into(),
    ]
}
