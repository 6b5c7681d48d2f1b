//! The cost of blocks for the blocking account: compares two equal networks, in one of which each reader blocks 1,000 users.

use std::sync::Arc;

use anyhow::Result;
use serde_json::json;

use crate::api::Request;
use crate::network::{Accounts, Sample, me};
use crate::options::Options;
use crate::report::Report;
use crate::round;
use crate::round::Round;
use crate::service::{PASSWORD, SeededDatabase, Service};
use crate::supervisor::Supervisor;
use crate::table::{Cell, Table, median};
use crate::workloads::{ACCOUNTS, Scenario};

/// The number of users that each reader blocks.
const BLOCKED: usize = 1_000;

/// The workloads, by readers who follow 20 accounts.
const SCENARIOS: [Scenario; 7] = [
    Scenario::Post,
    Scenario::Feed20,
    Scenario::Comments,
    Scenario::UserPosts,
    Scenario::Public,
    Scenario::Profile,
    Scenario::Like,
];

const COLUMNS: [&str; 6] = ["work", "blocks", "req/s", "p50 ms", "p99 ms", "of none"];

/// Measures each workload with and without blocks, alternately.
pub(crate) fn run(supervisor: &Arc<Supervisor>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let none = SeededDatabase::seeded(supervisor, options, kind, options.size(), 4)?;
        let many = SeededDatabase::seeded(supervisor, options, kind, options.size(), 4)?;
        let services = [none.serve()?, many.serve()?];
        let [without, with] = &services;
        register(without)?;
        block(with, &register(with)?)?;
        none.settle()?;
        many.settle()?;
        let places = [(&none, without), (&many, with)];
        let samples = [Sample::taken(without)?, Sample::taken(with)?];
        let mut table = Table::new(format!("Blocks on {}", kind.name()), &COLUMNS);
        for scenario in SCENARIOS {
            crate::note(&format!("{}: {}", kind.name(), scenario.name()));
            let work = |(_, service): (_, &_), sample| scenario.prepare(&Accounts { service }, sample);
            let workloads = [work(places[0], &samples[0])?, work(places[1], &samples[1])?];
            let mut rounds = [Vec::new(), Vec::new()];
            for _ in 0..options.rounds {
                for ((place, work), rounds) in places.iter().zip(&workloads).zip(&mut rounds) {
                    rounds.push(round::service(*place, supervisor, &work.traffic, options.load())?);
                }
            }
            let [without, with] = &rounds;
            let ratio = median(without.iter().zip(with).map(|(none, many)| many.result.rate() / none.result.rate()));
            table.row(row(scenario, 0, without, None));
            table.row(row(scenario, BLOCKED, with, ratio));
        }
        report.add(table)?;
    }
    Ok(())
}

/// Registers the users to block. They do nothing, so that blocking them changes no response; returns their ids.
fn register(service: &Service) -> Result<Vec<String>> {
    for n in 1..=BLOCKED {
        let username = format!("stranger_{n}");
        let email = format!("{username}@example.org");
        let body = json!({ "username": username, "email": email, "password": PASSWORD });
        service.api.expect(&Request::post("/api/auth/register", "", Some(&body)))?;
    }
    service.log_in("stranger", BLOCKED)?.iter().map(|token| me(&service.api, token)).collect()
}

/// Makes each reader block these users.
fn block(service: &Service, users: &[String]) -> Result<()> {
    for reader in (Accounts { service }).readers(20, ACCOUNTS + 1)? {
        for user in users {
            service.api.expect(&Request {
                method: "PUT",
                ..Request::post(format!("/api/users/{user}/block"), &reader, None)
            })?;
        }
    }
    Ok(())
}

fn row(scenario: Scenario, blocks: usize, rounds: &[Round], ratio: Option<f64>) -> Vec<Cell> {
    let middle = |figure: fn(&Round) -> f64| Cell::from(median(rounds.iter().map(figure)));
    vec![
        scenario.name().into(),
        (blocks as f64).into(),
        middle(|round| round.result.rate()),
        middle(|round| round.result.p50 as f64 / 1e3),
        middle(|round| round.result.p99 as f64 / 1e3),
        ratio.into(),
    ]
}
