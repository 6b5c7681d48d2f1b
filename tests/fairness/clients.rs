//! The load: clients of one account, each of which sends its next request as soon as it has a response. They run in a process of
//! their own, since clients usually run on other machines and take no processor time from the service.

use std::collections::BTreeMap;
use std::process::{ChildStdin, Command};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use std::{env, fs, io, thread};

use agora_http::routes;

use crate::http::Client;
use crate::network::Network;
use crate::process::{HANG, Process};
use crate::requests::{CLIENTS, KnownIds, Template};
use crate::walk::{case_of, name_of};

/// The number of responses by status. 0 counts the requests without a response.
pub(crate) type Answers = BTreeMap<u16, u64>;

/// The nice value of the clients' session, if the kernel schedules by sessions (autogroup).
const LOWEST_PRIORITY: &str = "19";

// The environment variables of the process, and the lines that it prints.
const ADDRESS: &str = "AGORA_FAIRNESS_ADDRESS";
const ENDPOINT: &str = "AGORA_FAIRNESS_ENDPOINT";
const KNOWN: &str = "AGORA_FAIRNESS_KNOWN";
const ASKING: &str = "all of them ask";
const STOPPED: &str = "no answer counts any more";
const ANSWERS: &str = "answers: ";

/// Returns whether a request with this status was handled, as opposed to rejected by a limit.
pub(crate) fn is_served(status: u16) -> bool {
    (200..=400).contains(&status)
}

/// A running process of clients.
pub(crate) struct Load {
    process: Process,
    /// The clients stop when this is closed.
    input: ChildStdin,
}

impl Load {
    /// Starts the clients of an endpoint, and waits until as many requests were sent as there are clients.
    pub(crate) fn start(address: &str, network: &Network, endpoint: &str) -> Self {
        let known = network.home.path("known.json");
        fs::write(&known, serde_json::to_vec(&network.known).unwrap()).unwrap();
        // Idle scheduling: the clients get only unused processor time, and are preempted at once. On Linux, a session of its own
        // is also scheduled separately from others.
        let mut command = Command::new("setsid");
        command.args(["chrt", "--idle", "0"]).arg(env::current_exe().unwrap());
        command.args(["--exact", "--nocapture", "clients::are_a_process"]);
        command.env(ADDRESS, address).env(ENDPOINT, endpoint).env(KNOWN, known);
        let (mut process, input) = Process::spawn_open(command);
        process.error_line(ASKING);
        Self { process, input }
    }

    /// Stops the clients once a request was served, then the service. Returns the responses that the clients got before.
    pub(crate) fn stop(mut self, stop_service: impl FnOnce()) -> Answers {
        drop(self.input);
        self.process.error_line(STOPPED);
        stop_service();
        let finished = self.process.finish().expect_success();
        let answers = finished.stdout.split_once(ANSWERS).expect("the process prints its answers").1;
        serde_json::from_str(answers.lines().next().unwrap_or_default()).unwrap()
    }
}

/// The main function of the process of clients. It does nothing when it is run as a test.
#[test]
#[allow(clippy::print_stdout, clippy::print_stderr, reason = "it reports to the process that started it")]
fn are_a_process() {
    let (Ok(address), Ok(name), Ok(known)) = (env::var(ADDRESS), env::var(ENDPOINT), env::var(KNOWN)) else { return };
    // The file does not exist if the kernel does not schedule by sessions.
    let _ = fs::write("/proc/self/autogroup", LOWEST_PRIORITY);
    let known: KnownIds = serde_json::from_slice(&fs::read(known).unwrap()).unwrap();
    let endpoint = routes::endpoints().into_iter().find(|endpoint| name_of(endpoint) == name).unwrap();
    let case = case_of(&endpoint).unwrap();
    let templates = |client| Template::all(case, &endpoint, &known, client);
    let all: Vec<_> = (0..CLIENTS).map(templates).collect();
    let (asked, stopped) = (AtomicU64::new(0), AtomicBool::new(false));
    let served = AtomicBool::new(false);
    let answers = thread::scope(|scope| {
        let clients: Vec<_> = all
            .iter()
            .enumerate()
            .map(|(beginning, templates)| {
                let requests = templates.iter().cycle().skip(beginning);
                scope.spawn(|| send_requests(&address, requests, &known, &asked, &served, &stopped))
            })
            .collect();
        while asked.load(Ordering::Relaxed) < CLIENTS as u64 {
            thread::yield_now();
        }
        eprintln!("{ASKING}");
        io::copy(&mut io::stdin(), &mut io::sink()).unwrap();
        // If the service handles their requests one after the other, the first response may be late.
        let ends = Instant::now() + HANG;
        while !served.load(Ordering::Relaxed) && Instant::now() < ends {
            thread::yield_now();
        }
        stopped.store(true, Ordering::Relaxed);
        eprintln!("{STOPPED}");
        clients.into_iter().flat_map(|client| client.join().unwrap()).fold(
            Answers::new(),
            |mut sum, (status, count)| {
                *sum.entry(status).or_default() += count;
                sum
            },
        )
    });
    println!("{ANSWERS}{}", serde_json::to_string(&answers).unwrap());
}

fn send_requests<'a>(
    address: &str,
    templates: impl Iterator<Item = &'a Template>,
    known: &KnownIds,
    asked: &AtomicU64,
    served: &AtomicBool,
    stopped: &AtomicBool,
) -> Answers {
    let mut client = Client::new(address, HANG);
    let mut answers = Answers::new();
    for template in templates {
        let request = template.numbered(asked.fetch_add(1, Ordering::Relaxed), known);
        let answered = client.send(&request);
        if stopped.load(Ordering::Relaxed) {
            break;
        }
        let status = answered.unwrap_or(0);
        *answers.entry(status).or_default() += 1;
        if is_served(status) {
            served.store(true, Ordering::Relaxed);
        }
    }
    answers
}

#[test]
fn the_last_line_of_a_process_is_read_although_it_has_ended() {
    for _ in 0..200 {
        let mut command = Command::new("sh");
        command.args(["-c", "echo last >&2"]);
        Process::spawn(command, "").error_line("last");
    }
}
