//! The slowdown of reads while many clients log in, which is expensive in CPU time by design.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde_json::json;

use crate::api::Request;
use crate::network::{Accounts, Sample};
use crate::options::Options;
use crate::report::Report;
use crate::round::Round;
use crate::service::{Kind, PASSWORD, SeededDatabase, Size};
use crate::supervisor::Supervisor;
use crate::table::{Cell, Table, median};
use crate::workloads::Scenario;
use crate::wrk::Load;
use crate::{round, wrk};

/// The default cost of a password hash.
const COST: u32 = 12;

/// The number of clients that log in repeatedly.
const CLIENTS: u32 = 24;

/// The number of connections that read.
const READERS: u32 = 4;

/// The time until all hashing threads are busy.
const WARM_UP: Duration = Duration::from_secs(1);

const SIZE: Size = Size { posts: 5000, users: 2000 };

const COLUMNS: [&str; 6] = ["post by id", "req/s", "p50 ms", "p99 ms", "max ms", "errors"];

/// Measures reads without logins and beside many logins, alternately.
pub(crate) fn run(supervisor: &Arc<Supervisor>, options: &Options, report: &mut Report) -> Result<()> {
    let place = SeededDatabase::seeded(supervisor, options, Kind::Sqlite, SIZE, COST)?;
    let service = place.serve()?;
    let api = &service.api;
    let sample = Sample::taken(&service)?;
    let work = Scenario::Post.prepare(&Accounts { service: &service }, &sample)?;
    let login = |n| {
        let body = json!({ "identifier": format!("writer_{n}"), "password": PASSWORD });
        Request::post("/api/auth/login", "", Some(&body))
    };
    let logins: Vec<Request> = (1..=CLIENTS).map(login).collect();
    let load = Load { connections: READERS, ..options.load() };
    let flood = Load { connections: CLIENTS, threads: 1, seconds: load.seconds + 2 * WARM_UP.as_secs(), ..load };
    let (mut idle, mut flooded, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        idle.push(round::service((&place, &service), supervisor, &work.traffic, load)?);
        let (round, result) = thread::scope(|scope| {
            let flood = scope.spawn(|| wrk::drive(supervisor, api.base(), &logins, flood));
            thread::sleep(WARM_UP);
            (round::service((&place, &service), supervisor, &work.traffic, load), flood.join())
        });
        let result = result.map_err(|_| anyhow!("the flood failed"))??;
        anyhow::ensure!(result.errors() == 0, "logins failed:{}", result.error_summary());
        flooded.push(round?);
        rates.push(result.rate());
    }
    let mut table = Table::new(format!("Login flood on {}", Kind::Sqlite.name()), &COLUMNS);
    table.row(row("alone", &idle));
    table.row(row("while many log in", &flooded));
    let ratios = |figure: fn(&Round) -> f64| median(idle.iter().zip(&flooded).map(|(a, b)| figure(b) / figure(a)));
    let figures: [fn(&Round) -> f64; 4] = [
        |round| round.result.rate(),
        |round| round.result.p50 as f64,
        |round| round.result.p99 as f64,
        |round| round.result.max as f64,
    ];
    let mut ratio: Vec<Cell> = vec!["ratio".into()];
    ratio.extend(figures.map(|figure| Cell::from(ratios(figure))));
    ratio.push(Cell::None);
    table.row(ratio);
    table.note(format!("{READERS} connections read; {CLIENTS} clients log in without pause, cost {COST}"));
    let rate = median(rates).unwrap_or_default();
    table.note(format!("{rate:.1} logins per second; none failed"));
    report.add(table)
}

fn row(name: &str, rounds: &[Round]) -> Vec<Cell> {
    let middle = |figure: fn(&Round) -> f64| Cell::from(median(rounds.iter().map(figure)));
    vec![
        name.into(),
        middle(|round| round.result.rate()),
        middle(|round| round.result.p50 as f64 / 1e3),
        middle(|round| round.result.p99 as f64 / 1e3),
        middle(|round| round.result.max as f64 / 1e3),
        (rounds.iter().map(|round| round.errors).sum::<u64>() as f64).into(),
    ]
}
