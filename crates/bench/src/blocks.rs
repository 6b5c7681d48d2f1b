//! What blocks cost those who have them: the same network twice, where the readers of one keep apart from 1,000 users each.

use std::sync::Arc;

use anyhow::Result;
use serde_json::json;

use crate::api::Request;
use crate::keeper::Keeper;
use crate::network::{People, Sample, me};
use crate::options::Options;
use crate::report::Report;
use crate::round;
use crate::round::Round;
use crate::service::{PASSWORD, SeededDatabase, Service};
use crate::table::{Cell, Table, median};
use crate::works::{ACCOUNTS, Subject};

/// How many users each reader blocks.
const BLOCKED: usize = 1_000;

/// What is done by the readers who follow 20.
const SUBJECTS: [Subject; 7] = [
    Subject::Post,
    Subject::Feed20,
    Subject::Comments,
    Subject::UserPosts,
    Subject::Public,
    Subject::Profile,
    Subject::Like,
];

const COLUMNS: [&str; 6] = ["work", "blocks", "req/s", "p50 ms", "p99 ms", "of none"];

/// Measures each path with and without blocks, in turns.
pub(crate) fn run(keeper: &Arc<Keeper>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let none = SeededDatabase::seeded(keeper, options, kind, options.size(), 4)?;
        let many = SeededDatabase::seeded(keeper, options, kind, options.size(), 4)?;
        let services = [none.serve()?, many.serve()?];
        let [without, with] = &services;
        register(without)?;
        block(with, &register(with)?)?;
        none.settle()?;
        many.settle()?;
        let places = [(&none, without), (&many, with)];
        let samples = [Sample::taken(without)?, Sample::taken(with)?];
        let mut table = Table::new(format!("Blocks on {}", kind.name()), &COLUMNS);
        for subject in SUBJECTS {
            crate::note(&format!("{}: {}", kind.name(), subject.name()));
            let work = |(_, service): (_, &_), sample| subject.prepare(&People { service }, sample);
            let works = [work(places[0], &samples[0])?, work(places[1], &samples[1])?];
            let mut rounds = [Vec::new(), Vec::new()];
            for _ in 0..options.rounds {
                for ((place, work), rounds) in places.iter().zip(&works).zip(&mut rounds) {
                    rounds.push(round::service(*place, keeper, &work.traffic, options.load())?);
                }
            }
            let [without, with] = &rounds;
            let ratio = median(without.iter().zip(with).map(|(none, many)| many.driven.rate() / none.driven.rate()));
            table.row(row(subject, 0, without, None));
            table.row(row(subject, BLOCKED, with, ratio));
        }
        report.add(table)?;
    }
    Ok(())
}

/// Registers users who never do anything, so that both networks look the same to everybody.
fn register(service: &Service) -> Result<Vec<String>> {
    for n in 1..=BLOCKED {
        let username = format!("stranger_{n}");
        let email = format!("{username}@example.org");
        let body = json!({ "username": username, "email": email, "password": PASSWORD });
        service.api.expect(&Request::post("/api/auth/register", "", Some(&body)))?;
    }
    service.log_in("stranger", BLOCKED)?.iter().map(|token| me(&service.api, token)).collect()
}

/// Has each reader block these users.
fn block(service: &Service, users: &[String]) -> Result<()> {
    for reader in (People { service }).readers(20, ACCOUNTS + 1)? {
        for user in users {
            service.api.expect(&Request {
                method: "PUT",
                ..Request::post(format!("/api/users/{user}/block"), &reader, None)
            })?;
        }
    }
    Ok(())
}

fn row(subject: Subject, blocks: usize, rounds: &[Round], ratio: Option<f64>) -> Vec<Cell> {
    let middle = |figure: fn(&Round) -> f64| Cell::from(median(rounds.iter().map(figure)));
    vec![
        subject.name().into(),
        (blocks as f64).into(),
        middle(|round| round.driven.rate()),
        middle(|round| round.driven.p50 as f64 / 1e3),
        middle(|round| round.driven.p99 as f64 / 1e3),
        ratio.into(),
    ]
}
