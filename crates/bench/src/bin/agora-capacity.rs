//! Computes the tables of `docs/scaling.md`, which say how many accounts each tier serves, from the cost of requests in
//! `docs/performance.md` and assumptions about what members do. Usage: `cargo run --package agora-bench --bin agora-capacity`;
//! `--help` lists the assumptions that can be changed.

#![forbid(unsafe_code)]

use std::fmt;
use std::io::{self, Write};

use anyhow::{Context, Result};
use clap::Parser;

/// The document with the measured costs.
const MEASURED: &str = include_str!("../../../../docs/performance.md");

/// Computes how many accounts a machine serves, from the measured costs and these assumptions.
#[derive(Debug, Clone, Parser)]
struct Assumed {
    /// The fraction of the accounts that is active on a day
    #[arg(long, default_value_t = 0.2)]
    active: f64,
    /// The load of the busiest hour, as a multiple of the average
    #[arg(long, default_value_t = 2.5)]
    peak: f64,
    /// The maximum utilization of a core in that hour
    #[arg(long, default_value_t = 0.5)]
    busy: f64,
    /// The fraction of the active accounts that has a stream of live updates open in that hour
    #[arg(long, default_value_t = 0.1)]
    streams: f64,
    /// The fraction of the posts that has an image, of 300 kB
    #[arg(long, default_value_t = 0.3)]
    images: f64,
    /// The number of years that the disks must last
    #[arg(long, default_value_t = 3.0)]
    years: f64,
    /// The disk of a database machine, in TB
    #[arg(long, default_value_t = 8.0)]
    disk: f64,
    /// The cores of a machine that runs one node
    #[arg(long, default_value_t = 16)]
    node_cores: u32,
    /// The cores of a machine that runs a PostgreSQL server
    #[arg(long, default_value_t = 64)]
    server_cores: u32,
}

/// An action of active members.
struct Act {
    name: &'static str,
    /// The workload in `docs/performance.md` with the same cost.
    work: &'static str,
    /// How often an active member does it per day.
    a_day: f64,
    kind: Kind,
    /// The bytes that it adds to the database, on SQLite and on PostgreSQL.
    bytes: [f64; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A list that a replica may serve.
    List,
    /// Another read.
    Read,
    Write,
}

const NOTHING: [f64; 2] = [0.0, 0.0];

#[rustfmt::skip]
const ACTS: [Act; 10] = [
    Act { name: "feed pages", work: "feed, 20 followed", a_day: 10.0, kind: Kind::List, bytes: NOTHING },
    Act { name: "pages of the public timeline", work: "public timeline", a_day: 2.0, kind: Kind::List, bytes: NOTHING },
    Act { name: "pages of comments", work: "comments page", a_day: 4.0, kind: Kind::List, bytes: NOTHING },
    Act { name: "pages of a user's posts", work: "a user's posts page", a_day: 2.0, kind: Kind::List, bytes: NOTHING },
    Act { name: "single posts", work: "post by id", a_day: 5.0, kind: Kind::Read, bytes: NOTHING },
    Act { name: "profiles and other small reads", work: "profile by id", a_day: 20.0, kind: Kind::Read, bytes: NOTHING },
    Act { name: "likes", work: "like and unlike", a_day: 4.0, kind: Kind::Write, bytes: LIKE },
    Act { name: "follows", work: "like and unlike", a_day: 0.2, kind: Kind::Write, bytes: FOLLOW },
    Act { name: "comments", work: "new post", a_day: 0.8, kind: Kind::Write, bytes: COMMENT },
    Act { name: "posts", work: "new post", a_day: 0.4, kind: Kind::Write, bytes: POST },
];

/// The bytes of a row with its indexes, on SQLite and on PostgreSQL: the size of the tables after
/// `agora demo seed --posts 50000 --users 5000` and indexing by the service, divided by the number of rows. Posts include the
/// search index.
const LIKE: [f64; 2] = [219.0, 303.0];
const FOLLOW: [f64; 2] = [219.0, 300.0];
const COMMENT: [f64; 2] = [349.0, 832.0];
const POST: [f64; 2] = [730.0, 2150.0];
const ACCOUNT: [f64; 2] = [400.0, 1040.0];

/// The CPU time of a login at the default cost of a hash, in microseconds, and the number of logins of an active member per day.
const LOGIN: f64 = 250_000.0;
const LOGINS: f64 = 0.05;

/// The most streams of a node.
const STREAMS: f64 = 10_000.0;

/// The size of an image in bytes.
const IMAGE: f64 = 300e3;

/// The CPU time of a request in microseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    /// That of the service on SQLite, database included.
    embedded: f64,
    /// That of the service on PostgreSQL.
    service: f64,
    /// That of PostgreSQL.
    database: f64,
}

/// Returns the figure in the row of a workload and in a column, of the table below a heading of the document.
fn figure(heading: &str, work: &str, column: &str) -> Result<f64> {
    let (_, below) = MEASURED.split_once(&format!("\n### {heading}\n")).with_context(|| heading.to_owned())?;
    let mut rows = below.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| row.split('|').map(|cell| cell.trim().replace(',', "")).collect::<Vec<_>>();
    let columns = cells(rows.next().with_context(|| format!("no table below {heading}"))?);
    let place = columns.iter().position(|name| name == column).with_context(|| column.to_owned())?;
    let work = work.replace(',', "");
    let row = rows.map(cells).find(|row| row.get(1) == Some(&work)).with_context(|| work.clone())?;
    row.get(place).and_then(|cell| cell.parse().ok()).with_context(|| format!("{work}, {column}"))
}

fn cost(work: &str) -> Result<Cost> {
    Ok(Cost {
        embedded: figure("SQLite", work, "service CPU µs")?,
        service: figure("PostgreSQL", work, "service CPU µs")?,
        database: figure("PostgreSQL", work, "PostgreSQL CPU µs")?,
    })
}

/// The requests of an active member per day, their CPU time in microseconds, and the bytes that they add to the database.
#[derive(Debug, Clone, Copy, Default)]
struct Day {
    requests: f64,
    embedded: f64,
    service: f64,
    lists: f64,
    database: f64,
    bytes: [f64; 2],
}

fn day() -> Result<Day> {
    let mut day = Day { embedded: LOGINS * LOGIN, service: LOGINS * LOGIN, requests: LOGINS, ..Day::default() };
    for act in &ACTS {
        let cost = cost(act.work)?;
        day.requests += act.a_day;
        day.embedded += act.a_day * cost.embedded;
        day.service += act.a_day * cost.service;
        day.database += act.a_day * cost.database;
        if act.kind == Kind::List {
            day.lists += act.a_day * cost.database;
        }
        for (sum, bytes) in day.bytes.iter_mut().zip(act.bytes) {
            *sum += act.a_day * bytes;
        }
    }
    Ok(day)
}

impl Assumed {
    /// Returns the number of cores that the busiest hour requires, given the CPU time of an active member per day.
    fn cores(&self, accounts: f64, micros: f64) -> f64 {
        self.a_second(accounts, micros) / 1e6 / self.busy
    }

    /// Converts an amount per active member and day into the amount per second of the busiest hour.
    fn a_second(&self, accounts: f64, a_day: f64) -> f64 {
        accounts * self.active * a_day * self.peak / 86_400.0
    }

    /// Returns the number of open streams in the busiest hour.
    fn streams(&self, accounts: f64) -> f64 {
        accounts * self.active * self.streams
    }

    /// Returns the bytes of a database after a number of years; `database` is 0 for SQLite and 1 for PostgreSQL.
    fn bytes(&self, accounts: f64, years: f64, day: &Day, database: usize) -> f64 {
        let [of_acts, of_account] = [day.bytes, ACCOUNT].map(|bytes| bytes.get(database).copied().unwrap_or_default());
        accounts * (self.active * 365.0 * years * of_acts + of_account)
    }

    /// Returns the most accounts that a tier serves, and the resource that limits it: the cores, given their number and the CPU
    /// time of an active member per day; the streams, if the number of nodes is limited; or the disk, given the bytes of an
    /// account.
    fn end(&self, cores: (u32, f64), nodes: Option<f64>, bytes: f64) -> (f64, &'static str) {
        let by_cores = (f64::from(cores.0) / self.cores(1.0, cores.1), "cores");
        let by_streams = nodes.map(|nodes| (nodes * STREAMS / self.streams(1.0), "streams"));
        let by_disk = (self.disk * 1e12 / bytes, "disk");
        [Some(by_cores), by_streams, Some(by_disk)]
            .into_iter()
            .flatten()
            .fold((f64::INFINITY, ""), |least, this| if this.0 < least.0 { this } else { least })
    }
}

/// Displays a number with two significant digits and thousands separators.
struct Rounded(f64);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 10.0 {
            return write!(f, "{:.*}", if self.0 < 1.0 { 2 } else { 1 }, self.0);
        }
        let unit = 10_f64.powf(self.0.log10().floor() - 1.0);
        let digits = format!("{:.0}", (self.0 / unit).round() * unit);
        for (place, digit) in digits.chars().enumerate() {
            let is_thousand = place > 0 && (digits.len() - place).is_multiple_of(3);
            write!(f, "{}{digit}", if is_thousand { "," } else { "" })?;
        }
        Ok(())
    }
}

fn tables(assumed: &Assumed) -> Result<String> {
    let day = day()?;
    let mut text = String::from("| somebody who is there, on a day | times |\n|---|---:|\n");
    for act in &ACTS {
        text += &format!("| {} | {} |\n", act.name, act.a_day);
    }
    text += &format!("| logins | {LOGINS} |\n\n");
    text += "| accounts | requests/s | posts an hour | streams | cores, SQLite | cores of nodes | of PostgreSQL | of these for lists | GB a year, SQLite | PostgreSQL | of images |\n";
    text += "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
    let posts = ACTS.iter().find(|act| act.name == "posts").map_or(0.0, |act| act.a_day);
    for accounts in [10_000.0, 100_000.0, 1_000_000.0, 10_000_000.0] {
        let cells = [
            accounts,
            assumed.a_second(accounts, day.requests),
            assumed.a_second(accounts, posts) * 3600.0,
            assumed.streams(accounts),
            assumed.cores(accounts, day.embedded),
            assumed.cores(accounts, day.service),
            assumed.cores(accounts, day.database),
            assumed.cores(accounts, day.lists),
            assumed.bytes(accounts, 1.0, &day, 0) / 1e9,
            assumed.bytes(accounts, 1.0, &day, 1) / 1e9,
            accounts * assumed.active * posts * assumed.images * IMAGE * 365.0 / 1e9,
        ];
        text += &cells.map(|cell| format!("| {} ", Rounded(cell))).concat();
        text += "|\n";
    }
    let Assumed { node_cores, server_cores, years, .. } = *assumed;
    let [sqlite, postgres] = [0, 1].map(|database| assumed.bytes(1.0, years, &day, database));
    let without_lists = day.database - day.lists * OFF_PRIMARY;
    text += "\n| tier | machines | up to accounts | posts an hour | what gives out |\n|---|---|---:|---:|---|\n";
    for (tier, machines, (accounts, what)) in [
        ("1", format!("one of {node_cores} cores"), assumed.end((node_cores, day.embedded), Some(1.0), sqlite)),
        (
            "2",
            format!("a node, and a server of {server_cores} cores"),
            assumed.end((server_cores, day.database), Some(1.0), postgres),
        ),
        ("3", "a server, and nodes as needed".to_owned(), assumed.end((server_cores, day.database), None, postgres)),
        (
            "3, with replicas",
            "a server, and nodes and replicas as needed".to_owned(),
            assumed.end((server_cores, without_lists), None, postgres),
        ),
    ] {
        let posts = assumed.a_second(accounts, posts) * 3600.0;
        text += &format!("| {tier} | {machines} | {} | {} | {what} |\n", Rounded(accounts), Rounded(posts));
    }
    Ok(text)
}

/// The part of the cost of lists that a replica takes off the primary, at least (`scripts/bench replica`).
const OFF_PRIMARY: f64 = 0.9;

fn main() -> Result<()> {
    let assumed = Assumed::parse();
    io::stdout().write_all(tables(&assumed)?.as_bytes())?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_the_document_are_those_computed() {
        let document = include_str!("../../../../docs/scaling.md");
        let tables = tables(&Assumed::parse_from(["agora-capacity"])).unwrap();
        assert!(document.contains(&tables), "put these into docs/scaling.md:\n{tables}");
    }

    #[test]
    fn numbers_have_two_significant_digits() {
        let text = [0.04, 9.96, 10.0, 123.0, 98_765.0, 1_250_000.0].map(|number| Rounded(number).to_string());
        assert_eq!(text, ["0.04", "10.0", "10", "120", "99,000", "1,300,000"]);
    }
}
