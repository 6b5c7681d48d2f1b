//! The throughput of the common requests of a social network, compared with a bare handler and pgbench.

use std::sync::Arc;

use anyhow::{Context, Result};

use crate::network::{Accounts, Sample, me};
use crate::options::Options;
use crate::pgbench::{Pgbench, Run};
use crate::report::Report;
use crate::round::Round;
use crate::service::{BareServer, Kind, SeededDatabase, Service};
use crate::supervisor::Supervisor;
use crate::table::{Cell, Table, median};
use crate::workloads::{Scenario, Workload};
use crate::{round, timeline};

const COLUMNS: [&str; 10] = [
    "work",
    "req/s",
    "p50 ms",
    "p99 ms",
    "service CPU µs",
    "peak MiB",
    "errors",
    "bare req/s",
    "bare CPU µs",
    "of bare",
];

const POSTGRES_COLUMNS: [&str; 6] =
    ["PostgreSQL CPU µs", "pgbench/s", "its PostgreSQL CPU µs", "of pgbench", "timeline/s", "of timeline"];

/// Measures each path on each database.
pub(crate) fn run(supervisor: &Arc<Supervisor>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let place = SeededDatabase::seeded(supervisor, options, kind, options.size(), 4)?;
        let service = place.serve()?;
        let sample = Sample::taken(&service)?;
        let columns = if kind == Kind::Postgres { &POSTGRES_COLUMNS[..] } else { &[] };
        let mut table = Table::new(format!("Paths on {}", kind.name()), &[&COLUMNS, columns].concat());
        for scenario in options.scenarios() {
            let measured = measure(supervisor, options, (&place, &service), scenario, &sample);
            let (row, note) = measured.with_context(|| format!("{} on {}", scenario.name(), kind.name()))?;
            table.row(row);
            if let Some(note) = note {
                table.note(note);
            }
        }
        report.add(table)?;
    }
    Ok(())
}

/// The results of one round of the service, the bare handler and pgbench.
struct ComparedRound {
    service: Round,
    bare: f64,
    bare_cpu: f64,
    pgbench: Option<Run>,
    timeline: Option<Run>,
}

fn measure(
    supervisor: &Arc<Supervisor>,
    options: &Options,
    (place, service): (&SeededDatabase, &Service),
    scenario: Scenario,
    sample: &Sample,
) -> Result<(Vec<Cell>, Option<String>)> {
    crate::note(&format!("{}: {}", place.kind.name(), scenario.name()));
    let work = scenario.prepare(&Accounts { service }, sample)?;
    let bare = BareServer::start(supervisor, &options.bare()?, work.typical.status, &work.typical.text)?;
    let (pgbench, timeline) = limits(options, (place, service), scenario, &work)?;
    let mut rounds = Vec::new();
    for _ in 0..options.rounds {
        let service = round::service((place, service), supervisor, &work.traffic, options.load())?;
        let (bare, bare_cpu) = round::bare(&bare, supervisor, &work.traffic, options.load())?;
        let run = |pgbench: &Option<Pgbench<'_>>| pgbench.as_ref().map(|it| it.run(options.seconds)).transpose();
        let (pgbench, timeline) = (run(&pgbench)?, run(&timeline)?);
        rounds.push(ComparedRound { service, bare: bare.rate(), bare_cpu, pgbench, timeline });
    }
    let note = pgbench.map(|pgbench| {
        let timeline = timeline.map(|it| format!(", of the timeline table with {}", it.connections));
        let timeline = timeline.unwrap_or_default();
        format!("{}: pgbench is best with {} connections{timeline}", scenario.name(), pgbench.connections)
    });
    Ok((row(place.kind, scenario, &rounds), note))
}

/// Prepares the limits on PostgreSQL: pgbench with the statements of the service and, for a feed, with a timeline table.
fn limits<'a>(
    options: &Options,
    (place, service): (&'a SeededDatabase, &Service),
    scenario: Scenario,
    work: &Workload,
) -> Result<(Option<Pgbench<'a>>, Option<Pgbench<'a>>)> {
    let Some(postgres) = &place.postgres else { return Ok((None, None)) };
    let (directory, slug) = (options.directory.join("pgbench"), scenario.slug());
    let pgbench = Pgbench::of(postgres, &service.api, (&directory, slug), &work.groups, work.choice)?;
    if !matches!(scenario, Scenario::Feed20 | Scenario::Feed1000) {
        return Ok((Some(pgbench), None));
    }
    let readers =
        work.traffic.requests.iter().map(|request| me(&service.api, &request.token)).collect::<Result<Vec<_>>>()?;
    let timeline = timeline::limit(postgres, (&directory, &format!("timeline-{slug}")), &readers)?;
    Ok((Some(pgbench), Some(timeline)))
}

fn row(kind: Kind, scenario: Scenario, rounds: &[ComparedRound]) -> Vec<Cell> {
    let middle = |figure: fn(&ComparedRound) -> f64| Cell::from(median(rounds.iter().map(figure)));
    let middle_of = |figure: fn(&ComparedRound) -> Option<f64>| Cell::from(median(rounds.iter().filter_map(figure)));
    let errors: u64 = rounds.iter().map(|round| round.service.errors).sum();
    let mut row = vec![
        scenario.name().into(),
        middle(|round| round.service.result.rate()),
        middle(|round| round.service.result.p50 as f64 / 1e3),
        middle(|round| round.service.result.p99 as f64 / 1e3),
        middle(|round| round.service.service_cpu),
        middle(|round| round.service.peak as f64 / f64::from(1 << 20)),
        (errors as f64).into(),
        middle(|round| round.bare),
        middle(|round| round.bare_cpu),
        middle(|round| round.service.result.rate() / round.bare),
    ];
    if kind == Kind::Postgres {
        row.extend([
            middle(|round| round.service.database_cpu),
            middle_of(|round| Some(round.pgbench.as_ref()?.rate)),
            middle_of(|round| Some(round.pgbench.as_ref()?.cpu)),
            middle_of(|round| Some(round.service.result.rate() / round.pgbench.as_ref()?.rate)),
            middle_of(|round| Some(round.timeline.as_ref()?.rate)),
            middle_of(|round| Some(round.service.result.rate() / round.timeline.as_ref()?.rate)),
        ]);
    }
    row
}
