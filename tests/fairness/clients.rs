//! The clients of one account, each of which asks again as soon as it was answered.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
};

use agora_http::routes::Endpoint;

use crate::{
    http::Client,
    network::Network,
    process::HANG,
    requests::{CLIENTS, Template},
    worst_cases::WorstCase,
};

/// The lowest priority: clients usually are other machines, and take no time from the service.
const PRIORITY: i32 = 19;

/// How many requests were answered by each status; 0 are those that were not answered.
pub(crate) type Answers = BTreeMap<u16, u64>;

/// Clients at work.
pub(crate) struct Load {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<Answers>>,
}

struct Shared {
    address: String,
    network: Arc<Network>,
    /// How many requests there were.
    asked: AtomicU64,
    stopped: AtomicBool,
}

impl Load {
    /// Starts them, and waits until each has asked.
    pub(crate) fn start(address: &str, network: &Arc<Network>, case: &WorstCase, endpoint: &Endpoint) -> Self {
        let shared = Arc::new(Shared {
            address: address.to_owned(),
            network: Arc::clone(network),
            asked: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        });
        let client = |n| {
            let (shared, templates) = (Arc::clone(&shared), Template::all(case, endpoint, network, n));
            thread::spawn(move || shared.ask(&templates, n))
        };
        let clients = (0..CLIENTS).map(client).collect();
        while shared.asked.load(Ordering::Relaxed) < CLIENTS as u64 {
            thread::yield_now();
        }
        Self { shared, clients }
    }

    /// Has them stop once they are answered, or refused a connection.
    pub(crate) fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
    }

    /// What they were answered.
    pub(crate) fn finish(self) -> Answers {
        self.stop();
        let all = self.clients.into_iter().flat_map(|client| client.join().unwrap());
        all.fold(Answers::new(), |mut sum, (status, count)| {
            *sum.entry(status).or_default() += count;
            sum
        })
    }
}

impl Shared {
    fn ask(&self, templates: &[Template], beginning: usize) -> Answers {
        // Of this thread alone.
        rustix::process::setpriority_process(None, PRIORITY).unwrap();
        let mut client = Client::new(&self.address, HANG);
        let mut answers = Answers::new();
        for template in templates.iter().cycle().skip(beginning) {
            let request = template.numbered(self.asked.fetch_add(1, Ordering::Relaxed), &self.network);
            let answered = client.ask(&request);
            if self.stopped.load(Ordering::Relaxed) {
                break;
            }
            *answers.entry(answered.unwrap_or(0)).or_default() += 1;
        }
        answers
    }
}
