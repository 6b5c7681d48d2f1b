//! Those who ask what everybody asks, one request at a time.

use std::{
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    api::PASSWORD,
    http::{Client, request},
    network::Network,
    process::HANG,
};

const ALICE_AT: &str = "203.0.113.1";
const BOB_AT: &str = "203.0.113.2";

/// How long somebody waits who wants to see a post: to wait longer makes no difference here.
const PATIENCE: Duration = Duration::from_secs(6);

/// Reads of a post, one after another.
pub(crate) struct Reader {
    client: Client,
    request: Vec<u8>,
}

/// How long reads took, and what they were answered other than 200.
#[derive(Default)]
pub(crate) struct Reads {
    pub(crate) times: Vec<Duration>,
    pub(crate) failures: Vec<String>,
}

impl Reader {
    pub(crate) fn new(address: &str, network: &Network) -> Self {
        let line = network.names.fill_in("GET /api/posts/by-id/{seen}");
        Self { client: Client::new(address, PATIENCE), request: request(&line, ALICE_AT, &network.alice.token, "") }
    }

    /// Reads for so long, and so often at least; but never longer than is waited for an answer.
    pub(crate) fn read(&mut self, time: Duration, least: usize) -> Reads {
        let (begun, mut reads) = (Instant::now(), Reads::default());
        while begun.elapsed() < time || (reads.times.len() < least && begun.elapsed() < PATIENCE) {
            let asked = Instant::now();
            match self.client.ask(&self.request) {
                Ok(200) => {}
                Ok(status) => reads.failures.push(format!("GET a post: {status}")),
                Err(error) => reads.failures.push(format!("GET a post: {error}")),
            }
            reads.times.push(asked.elapsed());
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

    /// What the read takes at most during which one is at any moment, in half of all moments. When the service stands
    /// still from time to time, few reads notice, but take most of the time.
    pub(crate) fn median_by_time(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort();
        let mut rest = times.iter().sum::<Duration>() / 2;
        *times
            .iter()
            .find(|time| {
                rest = rest.saturating_sub(**time);
                rest.is_zero()
            })
            .unwrap()
    }
}

/// Has a login, a page of a feed, a new post and a like done, one after the other; those that were not.
pub(crate) fn other_requests(address: &str, network: &Network) -> JoinHandle<Vec<String>> {
    let login = json!({ "identifier": "bob", "password": PASSWORD }).to_string();
    let post = json!({ "text": "Hello again" }).to_string();
    let like = network.names.fill_in("PUT /api/posts/like/{seen}");
    let alice = &network.alice.token;
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
            let line = String::from_utf8_lossy(&request).lines().next().unwrap_or_default().to_owned();
            match client.ask(&request) {
                Ok(status) if status == expected => {}
                Ok(status) => failures.push(format!("{line}: {status}")),
                Err(error) => failures.push(format!("{line}: {error}")),
            }
        }
        failures
    })
}
