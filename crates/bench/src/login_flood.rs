//! What reads suffer while many log in, which takes CPU on purpose.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde_json::json;

use crate::api::Request;
use crate::keeper::Keeper;
use crate::network::{People, Sample};
use crate::options::Options;
use crate::report::Report;
use crate::round::Round;
use crate::service::{Kind, PASSWORD, SeededDatabase, Size};
use crate::table::{Cell, Table, median};
use crate::works::Subject;
use crate::wrk::Load;
use crate::{round, wrk};

/// The cost of a password hash, as it is by default.
const COST: u32 = 12;

/// How many log in at once, each again and again.
const CLIENTS: u32 = 24;

/// How many read.
const READERS: u32 = 4;

/// The time until all hashes that run at once are being made.
const BEGINNING: Duration = Duration::from_secs(1);

const SIZE: Size = Size { posts: 5000, users: 2000 };

const COLUMNS: [&str; 6] = ["post by id", "req/s", "p50 ms", "p99 ms", "max ms", "errors"];

/// Measures a read while nobody logs in and while many do, in turns.
pub(crate) fn run(keeper: &Arc<Keeper>, options: &Options, report: &mut Report) -> Result<()> {
    let place = SeededDatabase::seeded(keeper, options, Kind::Sqlite, SIZE, COST)?;
    let service = place.serve()?;
    let api = &service.api;
    let sample = Sample::taken(&service)?;
    let work = Subject::Post.prepare(&People { service: &service }, &sample)?;
    let login = |n| {
        let body = json!({ "identifier": format!("writer_{n}"), "password": PASSWORD });
        Request::post("/api/auth/login", "", Some(&body))
    };
    let logins: Vec<Request> = (1..=CLIENTS).map(login).collect();
    let load = Load { connections: READERS, ..options.load() };
    let flood = Load { connections: CLIENTS, threads: 1, seconds: load.seconds + 2 * BEGINNING.as_secs(), ..load };
    let (mut idle, mut flooded, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        idle.push(round::service((&place, &service), keeper, &work.traffic, load)?);
        let (round, driven) = thread::scope(|scope| {
            let flood = scope.spawn(|| wrk::drive(keeper, api.base(), &logins, flood));
            thread::sleep(BEGINNING);
            (round::service((&place, &service), keeper, &work.traffic, load), flood.join())
        });
        let driven = driven.map_err(|_| anyhow!("the flood failed"))??;
        anyhow::ensure!(driven.errors() == 0, "logins failed:{}", driven.told());
        flooded.push(round?);
        rates.push(driven.rate());
    }
    let mut table = Table::new(format!("Login flood on {}", Kind::Sqlite.name()), &COLUMNS);
    table.row(row("alone", &idle));
    table.row(row("while many log in", &flooded));
    let ratios = |figure: fn(&Round) -> f64| median(idle.iter().zip(&flooded).map(|(a, b)| figure(b) / figure(a)));
    let figures: [fn(&Round) -> f64; 4] = [
        |round| round.driven.rate(),
        |round| round.driven.p50 as f64,
        |round| round.driven.p99 as f64,
        |round| round.driven.max as f64,
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
        middle(|round| round.driven.rate()),
        middle(|round| round.driven.p50 as f64 / 1e3),
        middle(|round| round.driven.p99 as f64 / 1e3),
        middle(|round| round.driven.max as f64 / 1e3),
        (rounds.iter().map(|round| round.errors).sum::<u64>() as f64).into(),
    ]
}
