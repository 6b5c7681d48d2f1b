//! Whether the first page of a search comes as quickly as the network grows.

use std::ops::RangeInclusive;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::json;

use crate::api::Request;
use crate::keeper::Keeper;
use crate::network::People;
use crate::options::Options;
use crate::report::Report;
use crate::service::{SeededDatabase, Service, Size};
use crate::table::{Cell, Table, median};
use crate::wrk::Load;
use crate::{check, round, works};

/// How many accounts search.
const READERS: usize = 16;

const CONNECTIONS: u32 = 8;

/// What is looked for. The network writes from a small vocabulary, so that its words are common: "old" is in one post of ten.
const QUERIES: [(&str, &str, RangeInclusive<u64>); 5] = [
    ("a common word", "old", works::PAGE..=works::PAGE),
    ("a rare word", "zugzwang", RARE..=RARE),
    ("three words", "neighbour+repaired+bicycle", 1..=works::PAGE),
    ("a phrase", "%22an+old+bicycle%22", works::PAGE..=works::PAGE),
    ("a word that is nowhere", "zyzzyva", 0..=0),
];

/// How many posts have the rare word.
const RARE: u64 = 3;

/// What a search came to.
struct Cost {
    rate: f64,
    p50: f64,
    p99: f64,
    cpu: f64,
    errors: u64,
}

/// Measures each search in networks of each size.
pub(crate) fn run(keeper: &Arc<Keeper>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let mut table = Table::new(
            format!("Searches on {}", kind.name()),
            &["search", "posts", "req/s", "p50 ms", "p99 ms", "CPU µs, service and database", "errors", "p50 of first"],
        );
        let mut firsts: Vec<f64> = Vec::new();
        for posts in options.sizes() {
            let place = SeededDatabase::seeded(keeper, options, kind, Size { posts, ..options.size() }, 4)?;
            let service = place.serve()?;
            write_rare(&service)?;
            for (number, (name, query, found)) in QUERIES.into_iter().enumerate() {
                let cost = measure(keeper, options, (&place, &service), query, found);
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

/// Writes the posts with the rare word: the newest, so that all others come after them.
fn write_rare(service: &Service) -> Result<()> {
    let token = service.log_in_as("hermit")?;
    for number in 0..RARE {
        let text = json!({ "text": format!("Zugzwang number {number}") });
        service.api.expect(&Request::post("/api/posts/create", &token, Some(&text)))?;
    }
    Ok(())
}

fn measure(
    keeper: &Arc<Keeper>,
    options: &Options,
    at: (&SeededDatabase, &Service),
    query: &str,
    found: RangeInclusive<u64>,
) -> Result<Cost> {
    let (_, service) = at;
    let tokens = People { service }.readers(20, READERS)?;
    let path = format!("/api/search?type=posts&size={}&q={query}", works::PAGE);
    let requests = tokens.iter().map(|token| Request::get(path.clone(), token)).collect();
    let work = works::reads(&service.api, requests, |_, data| check::verify_posts(data, found.clone()))?;
    let load = Load { connections: CONNECTIONS, ..options.load() };
    let rounds = (0..options.rounds).map(|_| round::service(at, keeper, &work.traffic, load));
    let rounds = rounds.collect::<Result<Vec<_>>>()?;
    let middle = |figure: fn(&round::Round) -> f64| median(rounds.iter().map(figure)).context("no round");
    Ok(Cost {
        rate: middle(|round| round.driven.rate())?,
        p50: middle(|round| round.driven.p50 as f64 / 1e3)?,
        p99: middle(|round| round.driven.p99 as f64 / 1e3)?,
        cpu: middle(|round| round.service_cpu + round.database_cpu)?,
        errors: rounds.iter().map(|round| round.errors).sum(),
    })
}
