//! The cost of live updates: the memory of idle streams, the lag of events, and the slowdown of reads and writes beside streams.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use serde_json::json;

use crate::api::{Api, Request};
use crate::listeners::{Arrival, Counts, Listeners, Plan};
use crate::network::{Accounts, Sample, id, me};
use crate::options::Options;
use crate::report::Report;
use crate::round::Round;
use crate::service::{Kind, SeededDatabase, Service};
use crate::supervisor::Supervisor;
use crate::table::{Cell, Table, median, quantile};
use crate::workloads::{Scenario, Traffic};
use crate::wrk::Load;
use crate::{round, usage, workloads, wrk};

/// The number of accounts with streams, all with many followers.
const ACCOUNTS: usize = 1000;

/// The number of idle streams per account: the most that are allowed.
const IDLE_EACH: usize = 10;

/// The topics of the streams.
const TOPICS: &str = "public,notifications,feed";

/// The limit on connections that the service is started with: for the idle streams, the load and the checks.
const CONNECTIONS: usize = ACCOUNTS * IDLE_EACH + 1000;

/// The time within which each idle stream receives its first heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(16);

/// How long a service that was just started is loaded before it is measured, in seconds.
const WARM_UP: u64 = 1;

/// The approximate number of posts per second that are written while the lag is measured.
const RATE: u32 = 1000;

/// The number of streams of a node whose lag is measured.
const LAG_STREAMS: usize = 4;

/// The time between two posts whose lag is measured.
const LAG_POST_INTERVAL: Duration = Duration::from_millis(20);

/// The lag from which an event counts as missing.
const LAG_TIMEOUT: Duration = Duration::from_secs(10);

/// Measures idle streams, the lag of events, and writes beside streams.
pub(crate) fn run(supervisor: &Arc<Supervisor>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let place = SeededDatabase::seeded(supervisor, options, kind, options.size(), 4)?;
        let bench = Bench::prepared(supervisor, options, &place)?;
        report.add(bench.idle()?)?;
        report.add(bench.lag()?)?;
        report.add(bench.writes()?)?;
    }
    Ok(())
}

/// The state that the measurements share.
struct Bench<'a> {
    supervisor: &'a Supervisor,
    options: &'a Options,
    place: &'a SeededDatabase,
    /// The tokens of the accounts with streams.
    listeners: Vec<String>,
    post_by_id: Traffic,
    writes: Vec<(&'static str, Traffic)>,
}

/// The result of one round beside streams.
struct StreamRound {
    round: Round,
    /// The resident memory of the service before the load, in bytes.
    resident: u64,
    /// How much of that the streams added.
    grown: u64,
    counts: Counts,
}

impl<'a> Bench<'a> {
    fn prepared(supervisor: &'a Supervisor, options: &'a Options, place: &'a SeededDatabase) -> Result<Self> {
        let service = place.serve()?;
        let accounts = Accounts { service: &service };
        crate::note(&format!("{}: logging {ACCOUNTS} accounts in", place.kind.name()));
        let listeners = accounts.popular(ACCOUNTS)?;
        let sample = Sample::taken(&service)?;
        let traffic = |scenario: Scenario| Ok::<_, anyhow::Error>(scenario.prepare(&accounts, &sample)?.traffic);
        let writes = vec![
            (Scenario::Like.name(), traffic(Scenario::Like)?),
            ("new comment", workloads::new_comments(&accounts, &sample)?),
            (Scenario::NewPost.name(), traffic(Scenario::NewPost)?),
        ];
        // Last, since the writes change the posts that are read.
        let post_by_id = traffic(Scenario::Post)?;
        Ok(Self { supervisor, options, place, listeners, post_by_id, writes })
    }

    /// Measures idle streams: their memory, and reads beside them.
    fn idle(&self) -> Result<Table> {
        let (mut alone, mut beside) = (Vec::new(), Vec::new());
        for _ in 0..self.options.rounds {
            alone.push(self.measure(&self.post_by_id, 0, Duration::ZERO)?);
            let round = self.measure(&self.post_by_id, IDLE_EACH, HEARTBEAT)?;
            ensure!(round.counts.ends == 0, "{} idle streams were ended", round.counts.ends);
            beside.push(round);
        }
        let columns = [
            "post by id",
            "req/s",
            "p50 ms",
            "p99 ms",
            "service CPU µs",
            "errors",
            "service MiB",
            "KiB a stream",
            "of alone",
        ];
        let mut table = Table::new(format!("Idle streams on {}", self.place.kind.name()), &columns);
        let streams = ACCOUNTS * IDLE_EACH;
        let kibibytes = median(beside.iter().map(|round| round.grown as f64 / 1024.0 / streams as f64));
        let name = format!("beside {streams} streams");
        for (name, rounds, each, ratio) in
            [("alone", &alone, None, None), (&name, &beside, kibibytes, of_first(&alone, &beside))]
        {
            let mut row = vec![name.into()];
            row.extend(figures(rounds));
            let resident = median(rounds.iter().map(|round| round.resident as f64 / f64::from(1 << 20)));
            row.extend([resident, each, ratio].map(Cell::from));
            table.row(row);
        }
        table.note(format!("memory before the reads; the streams were idle for {} s", HEARTBEAT.as_secs()));
        Ok(table)
    }

    /// Measures writes without streams and with one stream per account.
    fn writes(&self) -> Result<Table> {
        let columns = [
            "work",
            "streams",
            "req/s",
            "p50 ms",
            "p99 ms",
            "service CPU µs",
            "errors",
            "events/s",
            "ended",
            "resets",
            "of none",
        ];
        let mut table = Table::new(format!("Writes beside streams on {}", self.place.kind.name()), &columns);
        for (name, traffic) in &self.writes {
            let (mut alone, mut beside) = (Vec::new(), Vec::new());
            for _ in 0..self.options.rounds {
                alone.push(self.measure(traffic, 0, Duration::ZERO)?);
                beside.push(self.measure(traffic, 1, Duration::ZERO)?);
            }
            let ratio = of_first(&alone, &beside);
            for (streams, rounds, ratio) in [(0, &alone, None), (ACCOUNTS, &beside, ratio)] {
                let mut row: Vec<Cell> = vec![(*name).into(), streams.to_string().as_str().into()];
                row.extend(figures(rounds));
                let seconds = self.options.seconds as f64;
                row.push(median(rounds.iter().map(|round| round.counts.events as f64 / seconds)).into());
                row.push(total(rounds, |round| round.counts.ends));
                row.push(total(rounds, |round| round.counts.resets));
                row.push(ratio.into());
                table.row(row);
            }
        }
        table.note(format!("each stream is of another account and listens to {TOPICS}"));
        table.note("one that the service ends is opened anew after 3 s, where it ended");
        Ok(table)
    }

    /// Starts the service, opens streams of each account, waits for `settle`, and then loads the service.
    fn measure(&self, traffic: &Traffic, per_account: usize, settle: Duration) -> Result<StreamRound> {
        let load = self.options.load();
        let service = self.place.serve_with(&[("AGORA_MAX_CONNECTIONS", CONNECTIONS.to_string())])?;
        wrk::drive(self.supervisor, service.api.base(), &traffic.requests, Load { seconds: WARM_UP, ..load })?;
        let before = usage::resident(service.id())?;
        let plan = Plan { topics: TOPICS, per_account, author: None };
        let listeners = Listeners::open(&service.api, &self.listeners, &plan)?;
        thread::sleep(settle);
        let resident = usage::resident(service.id())?;
        let round = round::service((self.place, &service), self.supervisor, traffic, load)?;
        Ok(StreamRound { round, resident, grown: resident.saturating_sub(before), counts: listeners.counts() })
    }

    /// Measures the time from the response to a new post until its event arrives, on the same node and on another one.
    fn lag(&self) -> Result<Table> {
        let service = self.place.serve()?;
        // SQLite has one node.
        let other = (self.place.kind == Kind::Postgres).then(|| self.place.serve()).transpose()?;
        let author = service.log_in_as("hermit")?;
        let plan = Plan { topics: "public", per_account: LAG_STREAMS, author: Some(me(&service.api, &author)?) };
        let reader = Accounts { service: &service }.readers(10, 1)?;
        let mut nodes = Vec::new();
        for (name, node) in [("the same node", Some(&service)), ("another node", other.as_ref())] {
            let Some(node) = node else { continue };
            nodes.push(Node {
                name,
                listeners: Listeners::open(&node.api, &reader, &plan)?,
                lags: Vec::new(),
                missing: 0,
            });
        }
        let mut rounds = Vec::new();
        for _ in 0..self.options.rounds {
            let (round, answered) = self.lag_round((self.place, &service), &author)?;
            nodes.iter_mut().for_each(|node| node.measure(&answered));
            rounds.push(round);
        }
        Ok(self.lag_table(&nodes, &rounds))
    }

    /// Writes posts at [`RATE`], and beside them the posts whose lag is measured; returns when the response to each of the latter
    /// arrived.
    fn lag_round(&self, at: (&SeededDatabase, &Service), author: &str) -> Result<(Round, Answered)> {
        let traffic = self.writes.iter().find(|(name, _)| *name == Scenario::NewPost.name());
        let (_, traffic) = traffic.ok_or_else(|| anyhow!("nothing writes posts"))?;
        let load = self.options.load();
        let load = Load { pause: Duration::from_secs(1) * load.connections / RATE, ..load };
        let stop = AtomicBool::new(false);
        let (round, answered) = thread::scope(|scope| {
            let posts = scope.spawn(|| write_posts(&at.1.api, author, &stop));
            let round = round::service(at, self.supervisor, traffic, load);
            stop.store(true, Ordering::Relaxed);
            (round, posts.join())
        });
        Ok((round?, answered.map_err(|_| anyhow!("the posts failed"))??))
    }

    fn lag_table(&self, nodes: &[Node], rounds: &[Round]) -> Table {
        let columns =
            ["stream on", "posts/s", "events", "p50 ms", "p99 ms", "max ms", "missing", "ended", "resets", "errors"];
        let mut table = Table::new(format!("Lag of events on {}", self.place.kind.name()), &columns);
        let rate = median(rounds.iter().map(|round| round.result.rate()));
        let errors = rounds.iter().map(|round| round.errors).sum::<u64>();
        for node in nodes {
            let counts = node.listeners.counts();
            let lag = |part| Cell::from(quantile(node.lags.iter().copied(), part));
            table.row([
                node.name.into(),
                rate.into(),
                (node.lags.len() as f64).into(),
                lag(0.5),
                lag(0.99),
                lag(1.0),
                (node.missing as f64).into(),
                (counts.ends as f64).into(),
                (counts.resets as f64).into(),
                (errors as f64).into(),
            ]);
        }
        table.note("from the answer of a new post until its event was read; 0 for one that came before the answer");
        table.note(format!(
            "{LAG_STREAMS} streams on each node listen to public; a post every {} ms is followed",
            LAG_POST_INTERVAL.as_millis()
        ));
        table
    }
}

/// The instants of the responses to new posts, by the id of the post.
type Answered = HashMap<String, Instant>;

/// The streams of a node, and the lags of their events.
struct Node {
    name: &'static str,
    listeners: Listeners,
    /// In milliseconds.
    lags: Vec<f64>,
    missing: usize,
}

impl Node {
    /// Adds the lags of the events of these posts.
    fn measure(&mut self, answered: &Answered) {
        let expected = answered.len() * LAG_STREAMS;
        let arrivals = self.listeners.take_arrivals(expected, LAG_TIMEOUT);
        let lag = |Arrival { post, at }: &Arrival| {
            answered.get(post).map(|answered| at.saturating_duration_since(*answered).as_secs_f64() * 1e3)
        };
        let lags: Vec<f64> = arrivals.iter().filter_map(lag).collect();
        self.missing += expected.saturating_sub(lags.len());
        self.lags.extend(lags);
    }
}

/// Writes posts, one after the other, until `stop` is set.
fn write_posts(api: &Api, token: &str, stop: &AtomicBool) -> Result<Answered> {
    let post = Request::post("/api/posts/create", token, Some(&json!({ "text": "How late am I?" })));
    let mut answered = Answered::new();
    while !stop.load(Ordering::Relaxed) {
        let answer = api.expect(&post)?;
        let at = Instant::now();
        answered.insert(id(&answer.body["data"])?, at);
        thread::sleep(LAG_POST_INTERVAL);
    }
    Ok(answered)
}

/// Returns the medians of the requests per second, their times and the service's CPU time per request, and the sum of the errors.
fn figures(rounds: &[StreamRound]) -> [Cell; 5] {
    let middle = |figure: fn(&Round) -> f64| Cell::from(median(rounds.iter().map(|round| figure(&round.round))));
    [
        middle(|round| round.result.rate()),
        middle(|round| round.result.p50 as f64 / 1e3),
        middle(|round| round.result.p99 as f64 / 1e3),
        middle(|round| round.service_cpu),
        total(rounds, |round| round.round.errors),
    ]
}

fn total(rounds: &[StreamRound], figure: fn(&StreamRound) -> u64) -> Cell {
    (rounds.iter().map(figure).sum::<u64>() as f64).into()
}

/// Returns the median ratio of the rates of corresponding rounds.
fn of_first(first: &[StreamRound], second: &[StreamRound]) -> Option<f64> {
    median(first.iter().zip(second).map(|(a, b)| b.round.result.rate() / a.round.result.rate()))
}
