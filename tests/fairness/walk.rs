//! The walk over the route table: each endpoint's worst case, and what it costs others.

use std::collections::BTreeMap;
use std::time::Duration;
use std::{env, fmt};

use agora_http::routes;
use agora_http::routes::Endpoint;

use crate::clients::{Answers, Load, is_served};
use crate::network::Network;
use crate::ordinary::{Reader, Reads, other_requests};
use crate::store::Store;
use crate::worst_cases::{WORST_CASES, WorstCase};

/// How many times longer than alone somebody else's read may take.
const RATIO: f64 = 5.0;
/// The most memory of the service.
const MEMORY: u64 = 300 << 20;

const WARM_UP: Duration = Duration::from_millis(200);
const ALONE: Duration = Duration::from_millis(500);
/// Before how many endpoints it is measured what reads take alone, and then before which one of so many.
const FIRST: usize = 5;
const EVERY: usize = 10;
const UNDER_LOAD: Duration = Duration::from_secs(1);

/// Endpoints that do not ask the database: what they cost others is measured once.
const WITHOUT_DATABASE: &[&str] = &[
    "/media/{key}",
    "/health/live",
    "/api-docs/openapi.json",
    "/docs",
    "/docs/",
    "/docs/{file}",
    "/app",
    "/app/",
    "/app/{file}",
    "/console",
    "/console/",
    "/console/{file}",
];

/// What became of one endpoint.
struct Outcome {
    endpoint: String,
    alone: Reads,
    is_measured_alone: bool,
    under_load: Reads,
    others: Vec<String>,
    memory: u64,
    answers: Answers,
}

/// The name of an endpoint.
pub(crate) fn name_of(endpoint: &Endpoint) -> String {
    format!("{} {}", endpoint.method, endpoint.path)
}

/// Its worst case.
pub(crate) fn case_of(endpoint: &Endpoint) -> Option<&'static WorstCase> {
    WORST_CASES.iter().find(|case| case.method == endpoint.method.as_str() && case.path == endpoint.path)
}

/// Walks over all endpoints, or over those with `AGORA_FAIRNESS_ONLY` in their method and path.
#[allow(clippy::print_stdout, reason = "the measurements are of use beyond the failure")]
pub(crate) fn walk(network: &Network) {
    let only = env::var("AGORA_FAIRNESS_ONLY").unwrap_or_default();
    let mut problems = Vec::new();
    // What reads take alone: the least of the first endpoints, then as it is measured now and then.
    let mut alone: Option<Reads> = None;
    println!("{}: {HEAD}", network.store.name());
    let is_here =
        |endpoint: &&Endpoint| matches!(network.store, Store::Sqlite) || !WITHOUT_DATABASE.contains(&endpoint.path);
    let endpoints = routes::endpoints();
    let endpoints = endpoints.iter().filter(is_here).map(name_of).filter(|endpoint| endpoint.contains(&only));
    for (n, endpoint) in endpoints.enumerate() {
        let is_due = n < FIRST || n % EVERY == 0;
        let outcome = measure(network, &endpoint, alone.clone().filter(|_| !is_due));
        println!("{outcome}");
        let mut told = |outcome: &Outcome| {
            problems.extend(outcome.problems().map(|problem| format!("{endpoint}: {problem}")));
        };
        if outcome.is_slow() && !outcome.is_measured_alone {
            // The machine may have become slower: both are held against what reads take alone now.
            let again = measure(network, &endpoint, None);
            println!("{again}");
            told(&Outcome { alone: again.alone.clone(), ..outcome });
            told(&again);
            alone = Some(again.alone);
            continue;
        }
        told(&outcome);
        if outcome.is_measured_alone
            && (is_due && n >= FIRST || alone.as_ref().is_none_or(|known| outcome.alone.median() < known.median()))
        {
            alone = Some(outcome.alone);
        }
    }
    assert!(problems.is_empty(), "{} on {}:\n{}", problems.len(), network.store.name(), problems.join("\n"));
}

/// Measures what an endpoint costs others, and what they take alone unless that is known.
fn measure(network: &Network, endpoint: &str, alone: Option<Reads>) -> Outcome {
    let service = network.start();
    let mut reader = Reader::new(&service.address, network);
    reader.read(WARM_UP);
    let is_measured_alone = alone.is_none();
    let alone = alone.unwrap_or_else(|| reader.read(ALONE));
    let load = Load::start(&service.address, network, endpoint);
    let others = other_requests(&service.address, network);
    let under_load = reader.read(UNDER_LOAD);
    let others = others.join().unwrap();
    let memory = service.peak_memory();
    // Those who wait are not waited for.
    let answers = load.stop(|| drop(service.kill()));
    Outcome { endpoint: endpoint.to_owned(), alone, is_measured_alone, under_load, others, memory, answers }
}

const HEAD: &str = "endpoint | alone, ms | under load, ms | ratio | MiB | answers | others";

impl Outcome {
    fn ratio(&self) -> f64 {
        self.under_load.median().div_duration_f64(self.alone.median())
    }

    fn is_slow(&self) -> bool {
        self.ratio() >= RATIO
    }

    fn problems(&self) -> impl Iterator<Item = String> {
        let slow = self.is_slow().then(|| format!("reads of others take {:.1} times as long", self.ratio()));
        slow.into_iter().chain(self.failures())
    }

    /// What went wrong, however long reads took.
    fn failures(&self) -> impl Iterator<Item = String> {
        let large = (self.memory >= MEMORY).then(|| format!("{} MiB of memory", self.memory >> 20));
        let failures = [self.alone.failures.as_slice(), &self.under_load.failures, &self.others].concat();
        let failures = (!failures.is_empty()).then(|| format!("others were not served: {}", counted(&failures)));
        let has = |is: fn(u16) -> bool| self.answers.keys().any(|status| is(*status));
        // Those who ask too much may be refused, but not always, and by no mistake.
        let unserved = (!has(is_served)).then(|| format!("nothing was served: {:?}", self.answers));
        let failed = has(|it| it >= 500 && it != 503).then(|| format!("it failed: {:?}", self.answers));
        [large, failures, unserved, failed].into_iter().flatten()
    }
}

/// Each of these, and how often it is there.
fn counted(failures: &[String]) -> String {
    let mut counts = BTreeMap::<_, usize>::new();
    failures.iter().for_each(|failure| *counts.entry(failure).or_default() += 1);
    counts.iter().map(|(failure, count)| format!("{failure} ({count})")).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let (alone, under_load) = (self.alone.median(), self.under_load.median());
        write!(f, "{} | {:.2} | {:.2} | {:.1}", self.endpoint, millis(alone), millis(under_load), self.ratio())?;
        write!(f, " | {} | {:?} | {}", self.memory >> 20, self.answers, counted(&self.others))
    }
}
