//! What a social backend does all day, beside a bare handler and pgbench.

use std::sync::Arc;

use anyhow::{Context, Result};

use crate::keeper::Keeper;
use crate::network::{People, Sample, me};
use crate::options::Options;
use crate::pgbench::{Pgbench, Run};
use crate::report::Report;
use crate::round::Round;
use crate::service::{Bare, Kind, SeededDatabase, Service};
use crate::table::{Cell, Table, median};
use crate::works::{Subject, Work};
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
pub(crate) fn run(keeper: &Arc<Keeper>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let place = SeededDatabase::seeded(keeper, options, kind, options.size(), 4)?;
        let service = place.serve()?;
        let sample = Sample::taken(&service)?;
        let columns = if kind == Kind::Postgres { &POSTGRES_COLUMNS[..] } else { &[] };
        let mut table = Table::new(format!("Paths on {}", kind.name()), &[&COLUMNS, columns].concat());
        for subject in options.subjects() {
            let measured = measure(keeper, options, (&place, &service), subject, &sample);
            let (row, note) = measured.with_context(|| format!("{} on {}", subject.name(), kind.name()))?;
            table.row(row);
            if let Some(note) = note {
                table.note(note);
            }
        }
        report.add(table)?;
    }
    Ok(())
}

/// What one turn of each came to.
struct Turn {
    service: Round,
    bare: f64,
    bare_cpu: f64,
    pgbench: Option<Run>,
    timeline: Option<Run>,
}

fn measure(
    keeper: &Arc<Keeper>,
    options: &Options,
    (place, service): (&SeededDatabase, &Service),
    subject: Subject,
    sample: &Sample,
) -> Result<(Vec<Cell>, Option<String>)> {
    crate::note(&format!("{}: {}", place.kind.name(), subject.name()));
    let work = subject.prepare(&People { service }, sample)?;
    let bare = Bare::start(keeper, &options.bare()?, work.typical.status, &work.typical.text)?;
    let (pgbench, timeline) = limits(options, (place, service), subject, &work)?;
    let mut turns = Vec::new();
    for _ in 0..options.rounds {
        let service = round::service((place, service), keeper, &work.traffic, options.load())?;
        let (bare, bare_cpu) = round::bare(&bare, keeper, &work.traffic, options.load())?;
        let run = |pgbench: &Option<Pgbench<'_>>| pgbench.as_ref().map(|it| it.run(options.seconds)).transpose();
        let (pgbench, timeline) = (run(&pgbench)?, run(&timeline)?);
        turns.push(Turn { service, bare: bare.rate(), bare_cpu, pgbench, timeline });
    }
    let note = pgbench.map(|pgbench| {
        let timeline = timeline.map(|it| format!(", of the timeline table with {}", it.connections));
        let timeline = timeline.unwrap_or_default();
        format!("{}: pgbench is best with {} connections{timeline}", subject.name(), pgbench.connections)
    });
    Ok((row(place.kind, subject, &turns), note))
}

/// pgbench with the statements of the service and, for a feed, with a timeline table.
fn limits<'a>(
    options: &Options,
    (place, service): (&'a SeededDatabase, &Service),
    subject: Subject,
    work: &Work,
) -> Result<(Option<Pgbench<'a>>, Option<Pgbench<'a>>)> {
    let Some(postgres) = &place.postgres else { return Ok((None, None)) };
    let (directory, slug) = (options.directory.join("pgbench"), subject.slug());
    let pgbench = Pgbench::of(postgres, &service.api, (&directory, slug), &work.groups, work.choice)?;
    if !matches!(subject, Subject::Feed20 | Subject::Feed1000) {
        return Ok((Some(pgbench), None));
    }
    let readers =
        work.traffic.requests.iter().map(|request| me(&service.api, &request.token)).collect::<Result<Vec<_>>>()?;
    let timeline = timeline::limit(postgres, (&directory, &format!("timeline-{slug}")), &readers)?;
    Ok((Some(pgbench), Some(timeline)))
}

fn row(kind: Kind, subject: Subject, turns: &[Turn]) -> Vec<Cell> {
    let middle = |figure: fn(&Turn) -> f64| Cell::from(median(turns.iter().map(figure)));
    let middle_of = |figure: fn(&Turn) -> Option<f64>| Cell::from(median(turns.iter().filter_map(figure)));
    let errors: u64 = turns.iter().map(|turn| turn.service.errors).sum();
    let mut row = vec![
        subject.name().into(),
        middle(|turn| turn.service.driven.rate()),
        middle(|turn| turn.service.driven.p50 as f64 / 1e3),
        middle(|turn| turn.service.driven.p99 as f64 / 1e3),
        middle(|turn| turn.service.service_cpu),
        middle(|turn| turn.service.peak as f64 / f64::from(1 << 20)),
        (errors as f64).into(),
        middle(|turn| turn.bare),
        middle(|turn| turn.bare_cpu),
        middle(|turn| turn.service.driven.rate() / turn.bare),
    ];
    if kind == Kind::Postgres {
        row.extend([
            middle(|turn| turn.service.database_cpu),
            middle_of(|turn| Some(turn.pgbench.as_ref()?.rate)),
            middle_of(|turn| Some(turn.pgbench.as_ref()?.cpu)),
            middle_of(|turn| Some(turn.service.driven.rate() / turn.pgbench.as_ref()?.rate)),
            middle_of(|turn| Some(turn.timeline.as_ref()?.rate)),
            middle_of(|turn| Some(turn.service.driven.rate() / turn.timeline.as_ref()?.rate)),
        ]);
    }
    row
}
