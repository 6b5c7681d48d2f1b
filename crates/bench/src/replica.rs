//! How much load a replica takes off the primary when lists are read from it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::network::{Accounts, Sample};
use crate::options::Options;
use crate::report::Report;
use crate::round;
use crate::service::{Kind, SeededDatabase};
use crate::supervisor::{Supervisor, until};
use crate::table::{Cell, Table, median};
use crate::workloads::Scenario;

/// Lists, and a single post, which is always read from the primary.
const SCENARIOS: [Scenario; 6] =
    [Scenario::Post, Scenario::Feed20, Scenario::Feed1000, Scenario::Comments, Scenario::UserPosts, Scenario::Public];

const COLUMNS: [&str; 7] =
    ["work", "lists from", "req/s", "of without", "primary µs", "replica µs", "busier of without"];

/// The percentage of accounts whose lists come from the replica when both servers are used: somewhat more than half, since the
/// primary does all other work.
const SHARE: u32 = 55;

/// Measures each workload on PostgreSQL with three services, alternately: without a replica, with all lists from it, and with
/// the lists of [`SHARE`] percent of the accounts from it. If the servers are the bottleneck, which cgroups can ensure, the
/// busier one limits the throughput.
pub(crate) fn run(supervisor: &Arc<Supervisor>, options: &Options, report: &mut Report) -> Result<()> {
    let place = SeededDatabase::seeded(supervisor, options, Kind::Postgres, options.size(), 4)?;
    let primary = place.postgres.as_ref().context("there is no server")?;
    let replica = primary.replica(supervisor)?;
    for (server, group) in [primary, &replica].into_iter().zip(&options.server_groups) {
        server.put_into(group)?;
    }
    let with = [("AGORA_DATABASE_READ_URL", replica.url()), ("AGORA_LOG", "warn,agora_database=info".to_owned())];
    let both = [&with[..], &[("AGORA_DATABASE_READ_SHARE", SHARE.to_string())]].concat();
    let services = [place.serve()?, place.serve_with(&with)?, place.serve_with(&both)?];
    until("the replica", || Ok(place.log().contains("lists are read from the replica")))?;
    let sample = Sample::taken(&services[0])?;
    let mut table = Table::new("Lists from a replica".to_owned(), &COLUMNS);
    for scenario in SCENARIOS {
        crate::note(scenario.name());
        let work = |service| scenario.prepare(&Accounts { service }, &sample);
        let workloads = services.iter().map(work).collect::<Result<Vec<_>>>()?;
        let mut rounds = services.each_ref().map(|_| Vec::new());
        for _ in 0..options.rounds {
            for ((service, work), rounds) in services.iter().zip(&workloads).zip(&mut rounds) {
                let before = replica.cpu()?;
                let round = round::service((&place, service), supervisor, &work.traffic, options.load())?;
                let replica = replica.cpu()?.saturating_sub(before);
                rounds.push((round.result.rate(), round.database_cpu, per_request(replica, round.result.requests)));
            }
        }
        let without = &rounds[0];
        for (from, rounds) in ["primary", "replica", "both"].into_iter().zip(&rounds) {
            let busier = without.iter().zip(rounds).map(|((_, before, _), (_, here, there))| here.max(*there) / before);
            let ratio = median(busier);
            let middle = |figure: fn(&(f64, f64, f64)) -> f64| Cell::from(median(rounds.iter().map(figure)));
            let more = median(without.iter().zip(rounds).map(|((before, ..), (now, ..))| now / before));
            let names: [Cell; 2] = [scenario.name().into(), from.into()];
            let figures = [middle(|round| round.0), more.into(), middle(|round| round.1), middle(|round| round.2)];
            table.row(names.into_iter().chain(figures).chain([ratio.into()]));
        }
    }
    report.add(table)
}

fn per_request(time: Duration, requests: u64) -> f64 {
    time.as_secs_f64() * 1e6 / requests.max(1) as f64
}
