//! The clients of one account, each of which asks again as soon as it was answered. They are a process of their own: clients
//! usually are other machines, and take no time from the service.

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

/// How many requests were answered by each status; 0 are those that were not answered.
pub(crate) type Answers = BTreeMap<u16, u64>;

/// Where the kernel shares out time by sessions, the priority of theirs.
const LOWEST_PRIORITY: &str = "19";

// What the process is told, and what it tells.
const ADDRESS: &str = "AGORA_FAIRNESS_ADDRESS";
const ENDPOINT: &str = "AGORA_FAIRNESS_ENDPOINT";
const KNOWN: &str = "AGORA_FAIRNESS_KNOWN";
const ASKING: &str = "all of them ask";
const STOPPED: &str = "no answer counts any more";
const ANSWERS: &str = "answers: ";

/// Whether a request was looked at, and not turned away.
pub(crate) fn is_served(status: u16) -> bool {
    (200..=400).contains(&status)
}

/// Clients at work.
pub(crate) struct Load {
    process: Process,
    /// They stop when it is closed.
    input: ChildStdin,
}

impl Load {
    /// Starts those of an endpoint, and waits until each has asked.
    pub(crate) fn start(address: &str, network: &Network, endpoint: &str) -> Self {
        let known = network.home.path("known.json");
        fs::write(&known, serde_json::to_vec(&network.known).unwrap()).unwrap();
        // They get the time that nobody else wants, and leave a core at once to whom wants it. A session of their own also
        // gets its time apart from others, on Linux.
        let mut command = Command::new("setsid");
        command.args(["chrt", "--idle", "0"]).arg(env::current_exe().unwrap());
        command.args(["--exact", "--nocapture", "clients::are_a_process"]);
        command.env(ADDRESS, address).env(ENDPOINT, endpoint).env(KNOWN, known);
        let (mut process, input) = Process::spawn_open(command);
        process.error_line(ASKING);
        Self { process, input }
    }

    /// Has them stop once a request was served, and then the service; what they were answered before.
    pub(crate) fn stop(mut self, stop_service: impl FnOnce()) -> Answers {
        drop(self.input);
        self.process.error_line(STOPPED);
        stop_service();
        let finished = self.process.finish().expect_success();
        let answers = finished.stdout.split_once(ANSWERS).expect("they tell").1;
        serde_json::from_str(answers.lines().next().unwrap_or_default()).unwrap()
    }
}

/// What the process does; nothing where it is run as a test.
#[test]
#[allow(clippy::print_stdout, clippy::print_stderr, reason = "it speaks to the process that began it")]
fn are_a_process() {
    let (Ok(address), Ok(name), Ok(known)) = (env::var(ADDRESS), env::var(ENDPOINT), env::var(KNOWN)) else { return };
    // There is no such file where sessions do not matter.
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
                let turns = templates.iter().cycle().skip(beginning);
                scope.spawn(|| ask(&address, turns, &known, &asked, &served, &stopped))
            })
            .collect();
        while asked.load(Ordering::Relaxed) < CLIENTS as u64 {
            thread::yield_now();
        }
        eprintln!("{ASKING}");
        io::copy(&mut io::stdin(), &mut io::sink()).unwrap();
        // Where all of them take turns, all are answered late.
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

fn ask<'a>(
    address: &str,
    turns: impl Iterator<Item = &'a Template>,
    known: &KnownIds,
    asked: &AtomicU64,
    served: &AtomicBool,
    stopped: &AtomicBool,
) -> Answers {
    let mut client = Client::new(address, HANG);
    let mut answers = Answers::new();
    for template in turns {
        let request = template.numbered(asked.fetch_add(1, Ordering::Relaxed), known);
        let answered = client.ask(&request);
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
fn what_a_process_says_last_is_heard() {
    for _ in 0..200 {
        let mut command = Command::new("sh");
        command.args(["-c", "echo last >&2"]);
        Process::spawn(command, "").error_line("last");
    }
}
