//! The time of the first page of a search as the network grows.

use std::ops::RangeInclusive;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::json;

use crate::api::Request;
use crate::network::Accounts;
use crate::options::Options;
use crate::report::Report;
use crate::service::{SeededDatabase, Service, Size};
use crate::supervisor::Supervisor;
use crate::table::{Cell, Table, median};
use crate::wrk::Load;
use crate::{check, round, workloads};

/// The number of accounts that search.
const READERS: usize = 16;

const CONNECTIONS: u32 = 8;

/// The queries: name, text, and number of results. The texts of the network have a small vocabulary, so that its words are
/// common: "old" is in one post of ten.
const QUERIES: [(&str, &str, RangeInclusive<u64>); 5] = [
    ("a common word", "old", workloads::PAGE..=workloads::PAGE),
    ("a rare word", "zugzwang", RARE..=RARE),
    ("three words", "neighbour+repaired+bicycle", 1..=workloads::PAGE),
    ("a phrase", "%22an+old+bicycle%22", workloads::PAGE..=workloads::PAGE),
    ("a word that is nowhere", "zyzzyva", 0..=0),
];

/// The number of posts with the rare word.
const RARE: u64 = 3;

/// The cost of a search.
struct Cost {
    rate: f64,
    p50: f64,
    p99: f64,
    cpu: f64,
    errors: u64,
}

/// Measures each search in networks of each size.
pub(crate) fn run(supervisor: &Arc<Supervisor>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let mut table = Table::new(
            format!("Searches on {}", kind.name()),
            &["search", "posts", "req/s", "p50 ms", "p99 ms", "CPU µs, service and database", "errors", "p50 of first"],
        );
        let mut firsts: Vec<f64> = Vec::new();
        for posts in options.sizes() {
            let place = SeededDatabase::seeded(supervisor, options, kind, Size { posts, ..options.size() }, 4)?;
            let service = place.serve()?;
            write_rare(&service)?;
            for (number, (name, query, found)) in QUERIES.into_iter().enumerate() {
                let cost = measure(supervisor, options, (&place, &service), query, found);
                let cost = cost.with_context(|| format!("{name} in {posts} posts on {}", kind.name()))?;
                if firsts.len() <= number {
                    firsts.push(cost.p50);
                }
                let ratio = firsts.get(number).map(|first| cost.p50 / first);
                let mut row: Vec<Cell> = vec![name.into(), posts.to_string().as_str().into()];
                row.extend([cost.rate, cost.p50, cost.p99, cost.cpu, cost.errors as f64].map(Cell::from));
                row.push(ratio.into());
                table.row(row);
            }
        }
        table.note(format!("{CONNECTIONS} connections"));
        report.add(table)?;
    }
    Ok(())
}

/// Writes the posts with the rare word. They are the newest, so that a scan by time goes through all others after them.
fn write_rare(service: &Service) -> Result<()> {
    let token = service.log_in_as("hermit")?;
    for number in 0..RARE {
        let text = json!({ "text": format!("Zugzwang number {number}") });
        service.api.expect(&Request::post("/api/posts/create", &token, Some(&text)))?;
    }
    Ok(())
}

fn measure(
    supervisor: &Arc<Supervisor>,
    options: &Options,
    at: (&SeededDatabase, &Service),
    query: &str,
    found: RangeInclusive<u64>,
) -> Result<Cost> {
    let (_, service) = at;
    let tokens = Accounts { service }.readers(20, READERS)?;
    let path = format!("/api/search?type=posts&size={}&q={query}", workloads::PAGE);
    let requests = tokens.iter().map(|token| Request::get(path.clone(), token)).collect();
    let work = workloads::reads(&service.api, requests, |_, data| check::verify_posts(data, found.clone()))?;
    let load = Load { connections: CONNECTIONS, ..options.load() };
    let rounds = (0..options.rounds).map(|_| round::service(at, supervisor, &work.traffic, load));
    let rounds = rounds.collect::<Result<Vec<_>>>()?;
    let middle = |figure: fn(&round::Round) -> f64| median(rounds.iter().map(figure)).context("no round");
    Ok(Cost {
        rate: middle(|round| round.result.rate())?,
        p50: middle(|round| round.result.p50 as f64 / 1e3)?,
        p99: middle(|round| round.result.p99 as f64 / 1e3)?,
        cpu: middle(|round| round.service_cpu + round.database_cpu)?,
        errors: rounds.iter().map(|round| round.errors).sum(),
    })
}
