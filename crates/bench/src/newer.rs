//! The throughput of the feed before and after many newer posts by an author whom nobody follows.

use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::json;

use crate::api::Request;
use crate::network::Accounts;
use crate::options::Options;
use crate::report::Report;
use crate::service::{SeededDatabase, Service};
use crate::supervisor::Supervisor;
use crate::table::{Cell, Table, median};
use crate::wrk::Load;
use crate::{round, workloads, wrk};

/// The number of newer posts.
const NEWER: u64 = 240_000;

const FOLLOWED: [u32; 4] = [20, 100, 1000, 5000];
const READERS: usize = 16;

/// Measures feeds before and after.
pub(crate) fn run(supervisor: &Arc<Supervisor>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let place = SeededDatabase::seeded(supervisor, options, kind, options.size(), 4)?;
        let service = place.serve()?;
        let before = measure(supervisor, options, (&place, &service))?;
        crate::note(&format!("{}: writing {NEWER} newer posts", kind.name()));
        let written = write(supervisor, options, &service)?;
        let after = measure(supervisor, options, (&place, &service))?;
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

fn measure(supervisor: &Arc<Supervisor>, options: &Options, at: (&SeededDatabase, &Service)) -> Result<Vec<Feed>> {
    let (_, service) = at;
    let feed = |followed| {
        let tokens = Accounts { service }.readers(followed, READERS)?;
        let work = workloads::feed(&service.api, &tokens)?;
        let rounds = (0..options.rounds).map(|_| round::service(at, supervisor, &work.traffic, options.load()));
        let rounds = rounds.collect::<Result<Vec<_>>>()?;
        Ok(Feed {
            rate: median(rounds.iter().map(|round| round.result.rate())).context("no round")?,
            p50: median(rounds.iter().map(|round| round.result.p50 as f64 / 1e3)).context("no round")?,
            errors: rounds.iter().map(|round| round.errors).sum(),
        })
    };
    FOLLOWED.into_iter().filter(|followed| options.has_readers(*followed)).map(feed).collect()
}

/// Writes posts of an account without followers, as fast as possible; returns their number.
fn write(supervisor: &Arc<Supervisor>, options: &Options, service: &Service) -> Result<u64> {
    let token = service.log_in_as("hermit")?;
    let post = Request::post("/api/posts/create", &token, Some(&json!({ "text": "Nobody follows me." })));
    let mut written = 0;
    while written < NEWER {
        let result = wrk::drive(
            supervisor,
            service.api.base(),
            std::slice::from_ref(&post),
            Load { seconds: 2, ..options.load() },
        )?;
        anyhow::ensure!(result.errors() == 0, "posts failed:{}", result.error_summary());
        written += result.requests;
    }
    Ok(written)
}
