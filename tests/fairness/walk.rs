//! Measures for each endpoint of the route table what its worst case costs other users.

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

/// The limit of the ratio between the time of others' reads under load and without load.
const MAX_RATIO: f64 = 5.0;
/// The limit of the peak memory of the service, in bytes.
const MAX_MEMORY: u64 = 300 << 20;

const WARM_UP: Duration = Duration::from_millis(200);
const ALONE: Duration = Duration::from_millis(500);
/// The time of reads without load is measured before each of the first endpoints, then before one in `EVERY`.
const FIRST: usize = 5;
const EVERY: usize = 10;
const UNDER_LOAD: Duration = Duration::from_secs(1);

/// Endpoints that do not query the database. They are measured on SQLite only.
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

/// The measurements of one endpoint.
struct Outcome {
    endpoint: String,
    alone: Reads,
    is_measured_alone: bool,
    under_load: Reads,
    others: Vec<String>,
    memory: u64,
    answers: Answers,
}

/// Returns the method and path of an endpoint.
pub(crate) fn name_of(endpoint: &Endpoint) -> String {
    format!("{} {}", endpoint.method, endpoint.path)
}

/// Returns the worst case of an endpoint.
pub(crate) fn case_of(endpoint: &Endpoint) -> Option<&'static WorstCase> {
    WORST_CASES.iter().find(|case| case.method == endpoint.method.as_str() && case.path == endpoint.path)
}

/// Measures all endpoints, or those with `AGORA_FAIRNESS_ONLY` in their method and path, and panics if any exceeds a limit.
#[allow(clippy::print_stdout, reason = "the measurements are of use beyond the failure")]
pub(crate) fn walk(network: &Network) {
    let only = env::var("AGORA_FAIRNESS_ONLY").unwrap_or_default();
    let mut problems = Vec::new();
    // The reads without load: those with the least median among the first endpoints, then the last that were measured.
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
        let mut report = |outcome: &Outcome| {
            problems.extend(outcome.problems().map(|problem| format!("{endpoint}: {problem}")));
        };
        if outcome.is_slow() && !outcome.is_measured_alone {
            // The machine may have become slower: both measurements are compared with new reads without load.
            let again = measure(network, &endpoint, None);
            println!("{again}");
            report(&Outcome { alone: again.alone.clone(), ..outcome });
            report(&again);
            alone = Some(again.alone);
            continue;
        }
        report(&outcome);
        if outcome.is_measured_alone
            && (is_due && n >= FIRST || alone.as_ref().is_none_or(|known| outcome.alone.median() < known.median()))
        {
            alone = Some(outcome.alone);
        }
    }
    assert!(problems.is_empty(), "{} on {}:\n{}", problems.len(), network.store.name(), problems.join("\n"));
}

/// Measures the reads of others while an endpoint is under load, and without load unless `alone` is given.
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
    // Responses that are still pending do not count.
    let answers = load.stop(|| drop(service.kill()));
    Outcome { endpoint: endpoint.to_owned(), alone, is_measured_alone, under_load, others, memory, answers }
}

const HEAD: &str = "endpoint | alone, ms | under load, ms | ratio | MiB | answers | others";

impl Outcome {
    fn ratio(&self) -> f64 {
        self.under_load.median().div_duration_f64(self.alone.median())
    }

    fn is_slow(&self) -> bool {
        self.ratio() >= MAX_RATIO
    }

    fn problems(&self) -> impl Iterator<Item = String> {
        let slow = self.is_slow().then(|| format!("reads of others take {:.1} times as long", self.ratio()));
        slow.into_iter().chain(self.failures())
    }

    /// Returns the problems other than slow reads.
    fn failures(&self) -> impl Iterator<Item = String> {
        let large = (self.memory >= MAX_MEMORY).then(|| format!("{} MiB of memory", self.memory >> 20));
        let failures = [self.alone.failures.as_slice(), &self.under_load.failures, &self.others].concat();
        let failures = (!failures.is_empty()).then(|| format!("others were not served: {}", counted(&failures)));
        let has = |is: fn(u16) -> bool| self.answers.keys().any(|status| is(*status));
        // The expensive requests may be refused by a limit, but not all of them, and none may fail.
        let unserved = (!has(is_served)).then(|| format!("nothing was served: {:?}", self.answers));
        let failed = has(|it| it >= 500 && it != 503).then(|| format!("it failed: {:?}", self.answers));
        [large, failures, unserved, failed].into_iter().flatten()
    }
}

/// Lists the distinct failures, each with its count.
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
