//! The time of reads as the network and the number of followed accounts grow.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::network::{Accounts, Sample};
use crate::options::Options;
use crate::report::Report;
use crate::service::{Kind, SeededDatabase, Service, Size};
use crate::supervisor::Supervisor;
use crate::table::{Cell, Table, median};
use crate::workloads::Workload;
use crate::wrk::Load;
use crate::{round, workloads};

/// The numbers of accounts that readers follow.
const FOLLOWED: [u32; 4] = [10, 100, 1000, 5000];

/// The number of readers of each kind.
const READERS: usize = 16;

/// The number of readers who follow 5,000 accounts that mostly never post.
const SILENT_READERS: usize = 4;

/// Few connections, so that the time of a response is measured and not that in a queue.
const LOAD: Load = Load { connections: 2, threads: 1, seconds: 1, pause: Duration::ZERO };

/// The cost of a read: the median time in milliseconds, and the CPU time in microseconds.
#[derive(Debug, Clone, Copy)]
struct Cost {
    p50: f64,
    cpu: f64,
}

/// The costs of reads in one network, each with the name of the read.
type Costs = Vec<(String, Option<Cost>)>;

/// Measures each read in networks of each size.
pub(crate) fn run(supervisor: &Arc<Supervisor>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let mut grown: Vec<(u64, Costs)> = Vec::new();
        for posts in options.sizes() {
            let place = SeededDatabase::seeded(supervisor, options, kind, Size { posts, ..options.size() }, 4)?;
            let service = place.serve()?;
            let found = costs(supervisor, options, (&place, &service));
            grown.push((posts, found.with_context(|| format!("{posts} posts on {}", kind.name()))?));
        }
        report.add(table(kind, "p50 in ms", &grown, |cost| cost.p50))?;
        report.add(table(kind, "CPU µs, service and database", &grown, |cost| cost.cpu))?;
    }
    Ok(())
}

fn costs(supervisor: &Arc<Supervisor>, options: &Options, at: (&SeededDatabase, &Service)) -> Result<Costs> {
    let (_, service) = at;
    let (api, accounts, sample) = (&service.api, Accounts { service }, Sample::taken(service)?);
    let measure = |work: &Workload| cost(supervisor, options, at, work).map(Some);
    let mut costs = Costs::new();
    for followed in FOLLOWED.into_iter().filter(|followed| options.has_readers(*followed)) {
        let tokens = accounts.readers(followed, READERS)?;
        for (name, page) in [("first", 1), ("tenth", 10)] {
            // A reader who follows few accounts may have no tenth page.
            let work = workloads::feed_page(api, &tokens, page)?;
            let cost = work.map_or(Ok(None), |work| measure(&work))?;
            costs.push((format!("feed, {followed} followed, {name} page"), cost));
        }
    }
    if options.has_readers(5000) {
        let work = workloads::feed_page(api, &accounts.silent(SILENT_READERS)?, 1)?;
        let cost = work.map_or(Ok(None), |work| measure(&work))?;
        costs.push(("feed, 5000 mostly silent followed, first page".to_owned(), cost));
    }
    let tokens = accounts.readers(20, READERS)?;
    for (name, work) in [
        ("post by id", workloads::posts(api, &tokens, &sample)?),
        ("comments page", workloads::comments(api, &tokens, &sample)?),
        ("a user's posts page", workloads::posts_of_user(api, &tokens, &sample)?),
        ("likes page", workloads::likers(api, &tokens, &sample)?),
    ] {
        costs.push((name.to_owned(), measure(&work)?));
    }
    Ok(costs)
}

fn cost(
    supervisor: &Arc<Supervisor>,
    options: &Options,
    at: (&SeededDatabase, &Service),
    work: &Workload,
) -> Result<Cost> {
    let rounds = (0..options.rounds).map(|_| round::service(at, supervisor, &work.traffic, LOAD));
    let rounds = rounds.collect::<Result<Vec<_>>>()?;
    let errors: u64 = rounds.iter().map(|round| round.errors).sum();
    anyhow::ensure!(errors == 0, "{errors} errors");
    let p50 = median(rounds.iter().map(|round| round.result.p50 as f64 / 1e3));
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
