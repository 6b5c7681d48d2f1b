//! The slowdown of other requests while a very large account is erased.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;

use crate::api::Request;
use crate::options::Options;
use crate::report::Report;
use crate::round::Round;
use crate::service::{PASSWORD, SeededDatabase};
use crate::supervisor::Supervisor;
use crate::table::{Cell, Table, median};
use crate::wrk::Load;
use crate::{mixed, round};

/// The number of posts of the account. Each has ten likes, and the account likes every public post of others.
const POSTS: u64 = 100_000;

/// A moderate load, with pauses, so that requests do not wait for a CPU core.
const CONNECTIONS: u32 = 16;
const PAUSE: Duration = Duration::from_millis(40);

/// The message that the service logs when the account is erased.
const ERASED: &str = "erased a deleted account";

const COLUMNS: [&str; 7] = ["reads and writes", "rounds", "req/s", "p50 ms", "p99 ms", "greatest p99 ms", "errors"];

/// Measures reads and writes before the account is deleted, while it is erased, and afterwards.
pub(crate) fn run(supervisor: &Arc<Supervisor>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let place = SeededDatabase::with_celebrity(supervisor, options, kind, options.size(), 4, POSTS)?;
        let service = place.serve_with(&[("AGORA_LOG", "warn,agora_operations=info".to_owned())])?;
        let traffic = mixed::mixture(&service)?;
        let load = Load { connections: CONNECTIONS, pause: PAUSE, ..options.load() };
        let measure = || round::service((&place, &service), supervisor, &traffic, load);
        let alone = |_| measure();
        let before = (0..options.rounds).map(alone).collect::<Result<Vec<_>>>()?;

        let token = service.log_in_as("celebrity")?;
        let password = json!({ "currentPassword": PASSWORD });
        let begun = Instant::now();
        service.api.expect(&Request::post("/api/users/me/delete", &token, Some(&password)))?;
        let answered = begun.elapsed();
        let mut meanwhile = Vec::new();
        while !place.log().contains(ERASED) {
            meanwhile.push(measure()?);
        }
        let erased = begun.elapsed();
        let after = (0..options.rounds).map(alone).collect::<Result<Vec<_>>>()?;

        let mut table = Table::new(format!("Deletion of a large account on {}", kind.name()), &COLUMNS);
        table.row(row("before", &before));
        table.row(row("while it is erased", &meanwhile));
        table.row(row("after", &after));
        let p99 = |rounds: &[Round]| median(rounds.iter().map(|round| round.result.p99 as f64)).context("no round");
        table.note(format!("p99 while it is erased, of before: {:.2}", p99(&meanwhile)? / p99(&before)?));
        table.note(format!("the request was answered in {:.1} ms", answered.as_secs_f64() * 1e3));
        table.note(format!("nothing was left of the account after {:.0} s", erased.as_secs_f64()));
        report.add(table)?;
    }
    Ok(())
}

fn row(name: &str, rounds: &[Round]) -> Vec<Cell> {
    let middle = |figure: fn(&Round) -> f64| Cell::from(median(rounds.iter().map(figure)));
    vec![
        name.into(),
        (rounds.len() as f64).into(),
        middle(|round| round.result.rate()),
        middle(|round| round.result.p50 as f64 / 1e3),
        middle(|round| round.result.p99 as f64 / 1e3),
        (rounds.iter().map(|round| round.result.p99).max().unwrap_or_default() as f64 / 1e3).into(),
        (rounds.iter().map(|round| round.errors).sum::<u64>() as f64).into(),
    ]
}
