//! The walk over the route table: each endpoint's worst case, and what it costs others.

use std::{env, fmt, sync::Arc, time::Duration};

use agora_http::routes::{self, Endpoint};

use crate::{
    clients::{Answers, Load},
    network::Network,
    ordinary::{Reader, Reads, other_requests},
    worst_cases::{WORST_CASES, WorstCase},
};

/// How many times longer than alone somebody else's read may take.
const RATIO: f64 = 5.0;
/// The most memory of the service.
const MEMORY: u64 = 300 << 20;

const WARM_UP: Duration = Duration::from_millis(200);
const ALONE: Duration = Duration::from_millis(500);
const UNDER_LOAD: Duration = Duration::from_secs(2);
/// How many reads make a median.
const READS: usize = 31;

/// What became of one endpoint.
struct Outcome {
    endpoint: String,
    alone: Reads,
    under_load: Reads,
    others: Vec<String>,
    memory: u64,
    answers: Answers,
}

/// Walks over all endpoints, or over those with `AGORA_FAIRNESS_ONLY` in their method and path.
#[allow(clippy::print_stdout, reason = "the measurements are of use beyond the failure")]
pub(crate) fn walk(network: &Arc<Network>) {
    let only = env::var("AGORA_FAIRNESS_ONLY").unwrap_or_default();
    let mut problems = Vec::new();
    println!("{}: {HEAD}", network.store.name());
    for endpoint in routes::endpoints() {
        let name = format!("{} {}", endpoint.method, endpoint.path);
        let case = WORST_CASES.iter().find(|case| name == format!("{} {}", case.method, case.path));
        if let Some(case) = case.filter(|_| name.contains(&only)) {
            let outcome = measure(network, case, &endpoint, name);
            println!("{outcome}");
            problems.extend(outcome.problems().map(|problem| format!("{}: {problem}", outcome.endpoint)));
        }
    }
    assert!(problems.is_empty(), "{} on {}:\n{}", problems.len(), network.store.name(), problems.join("\n"));
}

fn measure(network: &Arc<Network>, case: &WorstCase, endpoint: &Endpoint, name: String) -> Outcome {
    let service = network.start();
    let mut reader = Reader::new(&service.address, network);
    reader.read(WARM_UP, READS);
    let alone = reader.read(ALONE, READS);
    let load = Load::start(&service.address, network, case, endpoint);
    let others = other_requests(&service.address, network);
    let under_load = reader.read(UNDER_LOAD, READS);
    let others = others.join().unwrap();
    load.stop();
    let memory = service.peak_memory();
    // Those who wait are not waited for.
    service.kill();
    Outcome { endpoint: name, alone, under_load, others, memory, answers: load.finish() }
}

const HEAD: &str = "endpoint | alone, ms | under load, ms | ratio | by time, ms | ratio | MiB | answers | others";

impl Outcome {
    fn ratio(&self) -> f64 {
        self.under_load.median().div_duration_f64(self.alone.median())
    }

    fn problems(&self) -> impl Iterator<Item = String> {
        let slow = (self.ratio() >= RATIO).then(|| format!("reads of others take {:.1} times as long", self.ratio()));
        let large = (self.memory >= MEMORY).then(|| format!("{} MiB of memory", self.memory >> 20));
        let failures = [self.alone.failures.as_slice(), &self.under_load.failures, &self.others].concat();
        let refused = (!failures.is_empty()).then(|| format!("others were refused: {}", failures.join(", ")));
        let served = self.answers.keys().any(|status| (200..400).contains(status));
        let unserved = (!served).then(|| format!("nothing was served: {:?}", self.answers));
        let failed = self.answers.keys().any(|status| *status >= 500 && *status != 503);
        let failed = failed.then(|| format!("failures: {:?}", self.answers));
        [slow, large, refused, unserved, failed].into_iter().flatten()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let (alone, under_load) = (self.alone.median(), self.under_load.median());
        let by_time = self.under_load.median_by_time();
        write!(f, "{} | {:.2} | {:.2} | {:.1}", self.endpoint, millis(alone), millis(under_load), self.ratio())?;
        let ratio = by_time.div_duration_f64(self.alone.median_by_time());
        write!(f, " | {:.2} | {ratio:.1} | {}", millis(by_time), self.memory >> 20)?;
        write!(f, " | {:?} | {}", self.answers, self.others.join(", "))
    }
}
