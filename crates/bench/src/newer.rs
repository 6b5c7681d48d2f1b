//! Whether the feed stays as fast when many newer posts come from authors whom nobody follows.

use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::json;

use crate::api::Request;
use crate::keeper::Keeper;
use crate::network::People;
use crate::options::Options;
use crate::report::Report;
use crate::service::{SeededDatabase, Service};
use crate::table::{Cell, Table, median};
use crate::wrk::Load;
use crate::{round, works, wrk};

/// How many newer posts.
const NEWER: u64 = 240_000;

const FOLLOWED: [u32; 4] = [20, 100, 1000, 5000];
const READERS: usize = 16;

/// Measures feeds before and after.
pub(crate) fn run(keeper: &Arc<Keeper>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let place = SeededDatabase::seeded(keeper, options, kind, options.size(), 4)?;
        let service = place.serve()?;
        let before = measure(keeper, options, (&place, &service))?;
        crate::note(&format!("{}: writing {NEWER} newer posts", kind.name()));
        let written = write(keeper, options, &service)?;
        let after = measure(keeper, options, (&place, &service))?;
        let columns = ["feed", "before, req/s", "p50 ms", "after, req/s", "p50 ms", "after of before", "errors"];
        let mut table =
            Table::new(format!("Feed after {written} newer posts by nobody followed, on {}", kind.name()), &columns);
        for ((followed, before), after) in FOLLOWED.iter().zip(before).zip(after) {
            let name = format!("{followed} followed");
            let mut row: Vec<Cell> = vec![name.as_str().into()];
            let ratio = after.rate / before.rate;
            let errors = (before.errors + after.errors) as f64;
            row.extend([before.rate, before.p50, after.rate, after.p50, ratio, errors].map(Cell::from));
            table.row(row);
        }
        report.add(table)?;
    }
    Ok(())
}

struct Feed {
    rate: f64,
    p50: f64,
    errors: u64,
}

fn measure(keeper: &Arc<Keeper>, options: &Options, at: (&SeededDatabase, &Service)) -> Result<Vec<Feed>> {
    let (_, service) = at;
    let feed = |followed| {
        let tokens = People { service }.readers(followed, READERS)?;
        let work = works::feed(&service.api, &tokens)?;
        let rounds = (0..options.rounds).map(|_| round::service(at, keeper, &work.traffic, options.load()));
        let rounds = rounds.collect::<Result<Vec<_>>>()?;
        Ok(Feed {
            rate: median(rounds.iter().map(|round| round.driven.rate())).context("no round")?,
            p50: median(rounds.iter().map(|round| round.driven.p50 as f64 / 1e3)).context("no round")?,
            errors: rounds.iter().map(|round| round.errors).sum(),
        })
    };
    FOLLOWED.into_iter().filter(|followed| options.has_readers(*followed)).map(feed).collect()
}

/// Writes as somebody whom nobody follows, as fast as it goes; how many posts.
fn write(keeper: &Arc<Keeper>, options: &Options, service: &Service) -> Result<u64> {
    let token = service.log_in_as("hermit")?;
    let post = Request::post("/api/posts/create", &token, Some(&json!({ "text": "Nobody follows me." })));
    let mut written = 0;
    while written < NEWER {
        let driven =
            wrk::drive(keeper, service.api.base(), std::slice::from_ref(&post), Load { seconds: 2, ..options.load() })?;
        anyhow::ensure!(driven.errors() == 0, "posts failed:{}", driven.told());
        written += driven.requests;
    }
    Ok(written)
}
