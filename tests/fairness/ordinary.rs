//! The ordinary users, who send one request at a time.

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

/// The timeout of reading a post. A longer one would make no difference to the measurement.
const TIMEOUT: Duration = Duration::from_secs(6);

/// The interval at which reads are due. Reads that become due during a slow one count as well, with the time that they wait.
/// Otherwise a stalled service would delay only a single read (coordinated omission).
const INTERVAL: Duration = Duration::from_millis(5);

/// A client that reads the same post repeatedly.
pub(crate) struct Reader {
    client: Client,
    request: Vec<u8>,
}

/// The times of reads, from when each was due, and the responses other than 200.
#[derive(Clone, Default)]
pub(crate) struct Reads {
    times: Vec<Duration>,
    pub(crate) failures: Vec<String>,
}

impl Reader {
    pub(crate) fn new(address: &str, network: &Network) -> Self {
        let line = network.known.names.fill_in("GET /api/posts/by-id/{seen}");
        let request = request(&line, ALICE_AT, &network.alice.authorization(), "");
        Self { client: Client::new(address, TIMEOUT), request }
    }

    /// Reads for this long. Reads that were due within the time count however late they are answered.
    pub(crate) fn read(&mut self, time: Duration) -> Reads {
        let (begun, mut reads) = (Instant::now(), Reads::default());
        let mut due = Duration::ZERO;
        while due < time {
            let early = due.saturating_sub(begun.elapsed());
            thread::sleep(early);
            // A late wake-up of this thread does not count as time of the service.
            let asked = if early.is_zero() { due } else { begun.elapsed() };
            match self.client.send(&self.request) {
                Ok(200) => {}
                answered => reads.failures.push(described("GET the post", answered)),
            }
            reads.times.push(begun.elapsed() - asked);
            due += INTERVAL;
            // Each read that became due during this one waited at least until its end.
            while due < time && begun.elapsed().saturating_sub(due) > INTERVAL {
                reads.times.push(begun.elapsed() - due);
                due += INTERVAL;
            }
        }
        reads
    }
}

impl Reads {
    /// Returns the median time.
    pub(crate) fn median(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort();
        times[times.len() / 2]
    }
}

/// Returns the bytes of a request from an address, as a trusted proxy would forward it.
fn request(line: &str, from: &str, authorization: &str, body: &str) -> Vec<u8> {
    request_bytes(line, &format!("X-Forwarded-For: {from}\r\n{authorization}{JSON}"), body)
}

/// Sends a login, a read of a feed, a new post and a like, one after the other, on a thread that returns the failures.
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
            match client.send(&request) {
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
