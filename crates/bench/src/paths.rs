//! What a social backend does all day, beside a bare handler and pgbench.

use std::sync::Arc;

use anyhow::{Context, Result};

use crate::{
    keeper::Keeper,
    network::{People, Sample},
    options::Options,
    pgbench::Pgbench,
    report::Report,
    round::{self, Round},
    service::{Bare, Place, Service},
    table::{Cell, Table, median},
    works::Subject,
};

const COLUMNS: [&str; 13] = [
    "work",
    "req/s",
    "p50 ms",
    "p99 ms",
    "service CPU µs",
    "PostgreSQL CPU µs",
    "errors",
    "peak MiB",
    "bare req/s",
    "bare CPU µs",
    "of bare",
    "pgbench/s",
    "of pgbench",
];

/// Measures each path on each database.
pub(crate) fn run(keeper: &Arc<Keeper>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let place = Place::seeded(keeper, options, kind, options.size(), 4)?;
        let service = place.serve()?;
        let people = People { service: &service };
        let first = people.readers(1000, 1)?;
        let sample = Sample::taken_as(&service.api, first.first().context("a reader")?)?;
        let mut table = Table::new(format!("Paths on {}", kind.name()), &COLUMNS);
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
    pgbench: Option<f64>,
}

fn measure(
    keeper: &Arc<Keeper>,
    options: &Options,
    (place, service): (&Place, &Service),
    subject: Subject,
    sample: &Sample,
) -> Result<(Vec<Cell>, Option<String>)> {
    crate::note(&format!("{}: {}", place.kind.name(), subject.name()));
    let directory = keeper.directory();
    let work = subject.prepare(&People { service }, sample)?;
    let bare = Bare::start(keeper, &options.bare()?, work.typical.status, &work.typical.text)?;
    let pgbench = place.postgres.as_ref().map(|postgres| {
        Pgbench::of(
            postgres,
            &service.api,
            (&options.directory.join("pgbench"), subject.slug()),
            &work.groups,
            work.choice,
        )
    });
    let pgbench = pgbench.transpose()?;
    let mut turns = Vec::new();
    for _ in 0..options.rounds {
        let service = round::service((place, service), directory, &work, options.load())?;
        let (bare, bare_cpu) = round::bare(&bare, directory, &work, options.load())?;
        let pgbench = pgbench.as_ref().map(|pgbench| pgbench.run(options.seconds)).transpose()?;
        turns.push(Turn { service, bare: bare.rate(), bare_cpu, pgbench });
    }
    let note = pgbench.map(|it| format!("pgbench, {}: best with {} connections", subject.name(), it.connections));
    Ok((row(subject, &turns), note))
}

fn row(subject: Subject, turns: &[Turn]) -> Vec<Cell> {
    let middle = |figure: fn(&Turn) -> f64| Cell::from(median(turns.iter().map(figure)));
    let errors: u64 = turns.iter().map(|turn| turn.service.errors).sum();
    vec![
        subject.name().into(),
        middle(|turn| turn.service.driven.rate()),
        middle(|turn| turn.service.driven.p50 as f64 / 1e3),
        middle(|turn| turn.service.driven.p99 as f64 / 1e3),
        middle(|turn| turn.service.service_cpu),
        middle(|turn| turn.service.database_cpu),
        (errors as f64).into(),
        middle(|turn| turn.service.peak as f64 / f64::from(1 << 20)),
        middle(|turn| turn.bare),
        middle(|turn| turn.bare_cpu),
        middle(|turn| turn.service.driven.rate() / turn.bare),
        median(turns.iter().filter_map(|turn| turn.pgbench)).into(),
        median(turns.iter().filter_map(|turn| Some(turn.service.driven.rate() / turn.pgbench?))).into(),
    ]
}
