//! Whether reads stay as fast as the network grows, and as more are followed.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::keeper::Keeper;
use crate::network::{People, Sample};
use crate::options::Options;
use crate::report::Report;
use crate::service::{Kind, SeededDatabase, Service, Size};
use crate::table::{Cell, Table, median};
use crate::works::Work;
use crate::wrk::Load;
use crate::{round, works};

/// How many accounts the readers follow.
const FOLLOWED: [u32; 4] = [10, 100, 1000, 5000];

/// How many of each kind of reader read.
const READERS: usize = 16;

/// How many follow 5,000 that mostly never post.
const SILENT_READERS: usize = 4;

/// Few, so that what is measured is the time of an answer and not of a queue.
const LOAD: Load = Load { connections: 2, threads: 1, seconds: 1, pause: Duration::ZERO };

/// What a read costs.
#[derive(Debug, Clone, Copy)]
struct Cost {
    p50: f64,
    cpu: f64,
}

/// The reads of one network, each with its name.
type Costs = Vec<(String, Option<Cost>)>;

/// Measures each read in networks of each size.
pub(crate) fn run(keeper: &Arc<Keeper>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let mut grown: Vec<(u64, Costs)> = Vec::new();
        for posts in options.sizes() {
            let place = SeededDatabase::seeded(keeper, options, kind, Size { posts, ..options.size() }, 4)?;
            let service = place.serve()?;
            let found = costs(keeper, options, (&place, &service));
            grown.push((posts, found.with_context(|| format!("{posts} posts on {}", kind.name()))?));
        }
        report.add(table(kind, "p50 in ms", &grown, |cost| cost.p50))?;
        report.add(table(kind, "CPU µs, service and database", &grown, |cost| cost.cpu))?;
    }
    Ok(())
}

fn costs(keeper: &Arc<Keeper>, options: &Options, at: (&SeededDatabase, &Service)) -> Result<Costs> {
    let (_, service) = at;
    let (api, people, sample) = (&service.api, People { service }, Sample::taken(service)?);
    let measure = |work: &Work| cost(keeper, options, at, work).map(Some);
    let mut costs = Costs::new();
    for followed in FOLLOWED.into_iter().filter(|followed| options.has_readers(*followed)) {
        let tokens = people.readers(followed, READERS)?;
        for (name, page) in [("first", 1), ("tenth", 10)] {
            // Who follows few may have no tenth page.
            let work = works::feed_page(api, &tokens, page)?;
            let cost = work.map_or(Ok(None), |work| measure(&work))?;
            costs.push((format!("feed, {followed} followed, {name} page"), cost));
        }
    }
    if options.has_readers(5000) {
        let work = works::feed_page(api, &people.silent(SILENT_READERS)?, 1)?;
        let cost = work.map_or(Ok(None), |work| measure(&work))?;
        costs.push(("feed, 5000 mostly silent followed, first page".to_owned(), cost));
    }
    let tokens = people.readers(20, READERS)?;
    for (name, work) in [
        ("post by id", works::posts(api, &tokens, &sample)?),
        ("comments page", works::comments(api, &tokens, &sample)?),
        ("a user's posts page", works::posts_of_user(api, &tokens, &sample)?),
        ("likes page", works::likers(api, &tokens, &sample)?),
    ] {
        costs.push((name.to_owned(), measure(&work)?));
    }
    Ok(costs)
}

fn cost(keeper: &Arc<Keeper>, options: &Options, at: (&SeededDatabase, &Service), work: &Work) -> Result<Cost> {
    let rounds = (0..options.rounds).map(|_| round::service(at, keeper, &work.traffic, LOAD));
    let rounds = rounds.collect::<Result<Vec<_>>>()?;
    let errors: u64 = rounds.iter().map(|round| round.errors).sum();
    anyhow::ensure!(errors == 0, "{errors} errors");
    let p50 = median(rounds.iter().map(|round| round.driven.p50 as f64 / 1e3));
    let cpu = median(rounds.iter().map(|round| round.service_cpu + round.database_cpu));
    Ok(Cost { p50: p50.unwrap_or_default(), cpu: cpu.unwrap_or_default() })
}

fn table(kind: Kind, what: &str, grown: &[(u64, Costs)], figure: fn(Cost) -> f64) -> Table {
    let sizes: Vec<String> = grown.iter().map(|(posts, _)| format!("{posts} posts")).collect();
    let mut columns = vec!["work"];
    columns.extend(sizes.iter().map(String::as_str));
    columns.push("last of first");
    let mut table = Table::new(format!("Growth on {}: {what}", kind.name()), &columns);
    let names = grown.first().map(|(_, costs)| costs.as_slice()).unwrap_or_default();
    for (number, (name, _)) in names.iter().enumerate() {
        let of = |(_, costs): &(u64, Costs)| costs.get(number).and_then(|(_, cost)| cost.map(figure));
        let figures: Vec<Option<f64>> = grown.iter().map(of).collect();
        let mut there = figures.iter().flatten();
        let growth = there.next().zip(there.next_back()).map(|(first, last)| last / first);
        let mut row: Vec<Cell> = vec![name.as_str().into()];
        row.extend(figures.iter().map(|figure| Cell::from(*figure)));
        row.push(growth.into());
        table.row(row);
    }
    table.note(format!("{} connections; no errors", LOAD.connections));
    table
}
