//! What reading lists from a replica takes off the server that takes writes.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::keeper::{Keeper, until};
use crate::network::{People, Sample};
use crate::options::Options;
use crate::report::Report;
use crate::round;
use crate::service::{Kind, SeededDatabase};
use crate::table::{Cell, Table, median};
use crate::works::Subject;

/// Lists, and a post, which is always read from the server that takes writes.
const SUBJECTS: [Subject; 6] =
    [Subject::Post, Subject::Feed20, Subject::Feed1000, Subject::Comments, Subject::UserPosts, Subject::Public];

const COLUMNS: [&str; 7] =
    ["work", "lists from", "req/s", "of without", "primary µs", "replica µs", "busier of without"];

/// Of how many of a hundred accounts the lists come from the replica where they come from both: from somewhat more than half, since the server
/// that takes writes does all else.
const SHARE: u32 = 55;

/// Measures each path by a service that knows of no replica, by one that reads all lists from it, and by one that reads those of [`SHARE`] of
/// the accounts from it, in turns, on PostgreSQL. Where the servers are the limit, the busier one is: their groups can see to that.
pub(crate) fn run(keeper: &Arc<Keeper>, options: &Options, report: &mut Report) -> Result<()> {
    let place = SeededDatabase::seeded(keeper, options, Kind::Postgres, options.size(), 4)?;
    let primary = place.postgres.as_ref().context("there is no server")?;
    let replica = primary.replica(keeper)?;
    for (server, group) in [primary, &replica].into_iter().zip(&options.server_groups) {
        server.put_into(group)?;
    }
    let with = [("AGORA_DATABASE_READ_URL", replica.url()), ("AGORA_LOG", "warn,agora_database=info".to_owned())];
    let both = [&with[..], &[("AGORA_DATABASE_READ_SHARE", SHARE.to_string())]].concat();
    let services = [place.serve()?, place.serve_with(&with)?, place.serve_with(&both)?];
    until("the replica", || Ok(place.log().contains("lists are read from the replica")))?;
    let sample = Sample::taken(&services[0])?;
    let mut table = Table::new("Lists from a replica".to_owned(), &COLUMNS);
    for subject in SUBJECTS {
        crate::note(subject.name());
        let work = |service| subject.prepare(&People { service }, &sample);
        let works = services.iter().map(work).collect::<Result<Vec<_>>>()?;
        let mut rounds = services.each_ref().map(|_| Vec::new());
        for _ in 0..options.rounds {
            for ((service, work), rounds) in services.iter().zip(&works).zip(&mut rounds) {
                let before = replica.cpu()?;
                let round = round::service((&place, service), keeper, &work.traffic, options.load())?;
                let replica = replica.cpu()?.saturating_sub(before);
                rounds.push((round.driven.rate(), round.database_cpu, per_request(replica, round.driven.requests)));
            }
        }
        let without = &rounds[0];
        for (from, rounds) in ["primary", "replica", "both"].into_iter().zip(&rounds) {
            let busier = without.iter().zip(rounds).map(|((_, before, _), (_, here, there))| here.max(*there) / before);
            let ratio = median(busier);
            let middle = |figure: fn(&(f64, f64, f64)) -> f64| Cell::from(median(rounds.iter().map(figure)));
            let more = median(without.iter().zip(rounds).map(|((before, ..), (now, ..))| now / before));
            let names: [Cell; 2] = [subject.name().into(), from.into()];
            let figures = [middle(|round| round.0), more.into(), middle(|round| round.1), middle(|round| round.2)];
            table.row(names.into_iter().chain(figures).chain([ratio.into()]));
        }
    }
    report.add(table)
}

fn per_request(time: Duration, requests: u64) -> f64 {
    time.as_secs_f64() * 1e6 / requests.max(1) as f64
}
