//! Those who ask what everybody asks, one request at a time.

use std::io::ErrorKind;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use serde_json::json;

use crate::client::{JSON, PASSWORD, request_bytes};
use crate::http::Client;
use crate::network::Network;
use crate::process::HANG;

const ALICE_AT: &str = "203.0.113.1";
const BOB_AT: &str = "203.0.113.2";

/// How long somebody waits who wants to see a post: to wait longer makes no difference here.
const PATIENCE: Duration = Duration::from_secs(6);

/// How often somebody wants to see it. Who waits for the answer to one read does not ask less often: what is due meanwhile
/// waits as well, and counts. Otherwise few reads would notice when the service stands still.
const INTERVAL: Duration = Duration::from_millis(5);

/// Reads of a post, one after another.
pub(crate) struct Reader {
    client: Client,
    request: Vec<u8>,
}

/// How long reads took from when they were due, and what was answered other than 200.
#[derive(Clone, Default)]
pub(crate) struct Reads {
    times: Vec<Duration>,
    pub(crate) failures: Vec<String>,
}

impl Reader {
    pub(crate) fn new(address: &str, network: &Network) -> Self {
        let line = network.known.names.fill_in("GET /api/posts/by-id/{seen}");
        let request = request(&line, ALICE_AT, &network.alice.authorization(), "");
        Self { client: Client::new(address, PATIENCE), request }
    }

    /// Reads for so long. What was due then counts as well, however late it is answered.
    pub(crate) fn read(&mut self, time: Duration) -> Reads {
        let (begun, mut reads) = (Instant::now(), Reads::default());
        let mut due = Duration::ZERO;
        while due < time {
            let early = due.saturating_sub(begun.elapsed());
            thread::sleep(early);
            // That this thread was woken late is not the service's doing.
            let asked = if early.is_zero() { due } else { begun.elapsed() };
            match self.client.ask(&self.request) {
                Ok(200) => {}
                answered => reads.failures.push(described("GET the post", answered)),
            }
            reads.times.push(begun.elapsed() - asked);
            due += INTERVAL;
            // All that was due while this one waited waited the rest of that time, at least.
            while due < time && begun.elapsed().saturating_sub(due) > INTERVAL {
                reads.times.push(begun.elapsed() - due);
                due += INTERVAL;
            }
        }
        reads
    }
}

impl Reads {
    /// What half of the reads took at most.
    pub(crate) fn median(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort();
        times[times.len() / 2]
    }
}

/// The bytes of a request from an address that a trusted proxy tells.
fn request(line: &str, from: &str, authorization: &str, body: &str) -> Vec<u8> {
    request_bytes(line, &format!("X-Forwarded-For: {from}\r\n{authorization}{JSON}"), body)
}

/// Has a login, a page of a feed, a new post and a like done, one after the other; those that were not.
pub(crate) fn other_requests(address: &str, network: &Network) -> JoinHandle<Vec<String>> {
    let login = json!({ "identifier": "bob", "password": PASSWORD }).to_string();
    let post = json!({ "text": "Hello again" }).to_string();
    let like = network.known.names.fill_in("PUT /api/posts/like/{seen}");
    let alice = &network.alice.authorization();
    let requests = [
        (200, request("POST /api/auth/login", BOB_AT, "", &login)),
        (200, request("GET /api/posts/following/all?size=20", ALICE_AT, alice, "")),
        (201, request("POST /api/posts/create", ALICE_AT, alice, &post)),
        (200, request(&like, ALICE_AT, alice, "")),
    ];
    let mut client = Client::new(address, HANG);
    thread::spawn(move || {
        let mut failures = Vec::new();
        for (expected, request) in requests {
            let line = String::from_utf8_lossy(&request).split(" HTTP").next().unwrap_or_default().to_owned();
            match client.ask(&request) {
                Ok(status) if status == expected => {}
                answered => failures.push(described(&line, answered)),
            }
        }
        failures
    })
}

fn described(request: &str, answered: io::Result<u16>) -> String {
    match answered {
        Ok(status) => format!("{request}: {status}"),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            format!("{request}: no answer for long")
        }
        Err(error) => format!("{request}: {error}"),
    }
}
