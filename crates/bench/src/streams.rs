//! What live updates cost: the memory of idle streams, how late events arrive, and what reads and writes lose beside streams.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use serde_json::json;

use crate::api::{Api, Request};
use crate::keeper::Keeper;
use crate::listeners::{Arrival, Counts, Listeners, Plan};
use crate::network::{People, Sample, id, me};
use crate::options::Options;
use crate::report::Report;
use crate::round::Round;
use crate::service::{Kind, SeededDatabase, Service};
use crate::table::{Cell, Table, median, quantile};
use crate::works::{Subject, Traffic};
use crate::wrk::Load;
use crate::{round, usage, works, wrk};

/// How many accounts listen, those whom many follow.
const ACCOUNTS: usize = 1000;

/// How many idle streams each of them has: as many as it may.
const IDLE_EACH: usize = 10;

/// What they listen to.
const TOPICS: &str = "public,notifications,feed";

/// How many connections the service takes: for the idle streams, the load and the checks.
const CONNECTIONS: usize = ACCOUNTS * IDLE_EACH + 1000;

/// The time in which each idle stream gets its first heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(16);

/// How long a service that was just started is driven before it is measured, in seconds.
const WARM_UP: u64 = 1;

/// How many posts a second are written while the lag is measured, about.
const RATE: u32 = 1000;

/// How many streams of a node the lag is measured at.
const LAG_STREAMS: usize = 4;

/// The time between two posts of which the lag is measured.
const LAG_PACE: Duration = Duration::from_millis(20);

/// How long an event may take before it counts as missing.
const LAG_PATIENCE: Duration = Duration::from_secs(10);

/// Measures all of it.
pub(crate) fn run(keeper: &Arc<Keeper>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let place = SeededDatabase::seeded(keeper, options, kind, options.size(), 4)?;
        let bench = Bench::prepared(keeper, options, &place)?;
        report.add(bench.idle()?)?;
        report.add(bench.lag()?)?;
        report.add(bench.writes()?)?;
    }
    Ok(())
}

/// What the measurements have in common.
struct Bench<'a> {
    keeper: &'a Keeper,
    options: &'a Options,
    place: &'a SeededDatabase,
    /// The tokens of those who listen.
    listeners: Vec<String>,
    post_by_id: Traffic,
    writes: Vec<(&'static str, Traffic)>,
}

/// What a turn came to.
struct Turn {
    round: Round,
    /// The bytes that the service had in memory before it was driven, and how many more than without the streams.
    resident: u64,
    grown: u64,
    counts: Counts,
}

impl<'a> Bench<'a> {
    fn prepared(keeper: &'a Keeper, options: &'a Options, place: &'a SeededDatabase) -> Result<Self> {
        let service = place.serve()?;
        let people = People { service: &service };
        crate::note(&format!("{}: logging {ACCOUNTS} accounts in", place.kind.name()));
        let listeners = people.popular(ACCOUNTS)?;
        let sample = Sample::taken(&service)?;
        let traffic = |subject: Subject| Ok::<_, anyhow::Error>(subject.prepare(&people, &sample)?.traffic);
        let writes = vec![
            (Subject::Like.name(), traffic(Subject::Like)?),
            ("new comment", works::new_comments(&people, &sample)?),
            (Subject::NewPost.name(), traffic(Subject::NewPost)?),
        ];
        // After those that change what is read.
        let post_by_id = traffic(Subject::Post)?;
        Ok(Self { keeper, options, place, listeners, post_by_id, writes })
    }

    /// Measures idle streams: their memory, and reads beside them.
    fn idle(&self) -> Result<Table> {
        let (mut alone, mut beside) = (Vec::new(), Vec::new());
        for _ in 0..self.options.rounds {
            alone.push(self.turn(&self.post_by_id, 0, Duration::ZERO)?);
            let turn = self.turn(&self.post_by_id, IDLE_EACH, HEARTBEAT)?;
            ensure!(turn.counts.ends == 0, "{} idle streams were ended", turn.counts.ends);
            beside.push(turn);
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
        let kibibytes = median(beside.iter().map(|turn| turn.grown as f64 / 1024.0 / streams as f64));
        let name = format!("beside {streams} streams");
        for (name, turns, each, ratio) in
            [("alone", &alone, None, None), (&name, &beside, kibibytes, of_first(&alone, &beside))]
        {
            let mut row = vec![name.into()];
            row.extend(figures(turns));
            let resident = median(turns.iter().map(|turn| turn.resident as f64 / f64::from(1 << 20)));
            row.extend([resident, each, ratio].map(Cell::from));
            table.row(row);
        }
        table.note(format!("memory before the reads; the streams were idle for {} s", HEARTBEAT.as_secs()));
        Ok(table)
    }

    /// Measures writes without streams and with one of each account.
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
                alone.push(self.turn(traffic, 0, Duration::ZERO)?);
                beside.push(self.turn(traffic, 1, Duration::ZERO)?);
            }
            let ratio = of_first(&alone, &beside);
            for (streams, turns, ratio) in [(0, &alone, None), (ACCOUNTS, &beside, ratio)] {
                let mut row: Vec<Cell> = vec![(*name).into(), streams.to_string().as_str().into()];
                row.extend(figures(turns));
                let seconds = self.options.seconds as f64;
                row.push(median(turns.iter().map(|turn| turn.counts.events as f64 / seconds)).into());
                row.push(total(turns, |turn| turn.counts.ends));
                row.push(total(turns, |turn| turn.counts.resets));
                row.push(ratio.into());
                table.row(row);
            }
        }
        table.note(format!("each stream is of another account and listens to {TOPICS}"));
        table.note("one that the service ends is opened anew after 3 s, where it ended");
        Ok(table)
    }

    /// Starts the service, opens so many streams of each account, and drives it beside them.
    fn turn(&self, traffic: &Traffic, per_account: usize, settle: Duration) -> Result<Turn> {
        let load = self.options.load();
        let service = self.place.serve_with(&[("AGORA_MAX_CONNECTIONS", CONNECTIONS.to_string())])?;
        wrk::drive(self.keeper, service.api.base(), &traffic.requests, Load { seconds: WARM_UP, ..load })?;
        let before = usage::resident(service.id())?;
        let plan = Plan { topics: TOPICS, per_account, author: None };
        let listeners = Listeners::open(&service.api, &self.listeners, &plan)?;
        thread::sleep(settle);
        let resident = usage::resident(service.id())?;
        let round = round::service((self.place, &service), self.keeper, traffic, load)?;
        Ok(Turn { round, resident, grown: resident.saturating_sub(before), counts: listeners.counts() })
    }

    /// Measures how long after the answer of a new post its event comes, on the same node and on another one.
    fn lag(&self) -> Result<Table> {
        let service = self.place.serve()?;
        // SQLite has one node.
        let other = (self.place.kind == Kind::Postgres).then(|| self.place.serve()).transpose()?;
        let author = service.log_in_as("hermit")?;
        let plan = Plan { topics: "public", per_account: LAG_STREAMS, author: Some(me(&service.api, &author)?) };
        let reader = People { service: &service }.readers(10, 1)?;
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

    /// Writes at [`RATE`], and at the same time the posts whose lag is measured; returns when each of these was answered.
    fn lag_round(&self, at: (&SeededDatabase, &Service), author: &str) -> Result<(Round, Answered)> {
        let traffic = self.writes.iter().find(|(name, _)| *name == Subject::NewPost.name());
        let (_, traffic) = traffic.ok_or_else(|| anyhow!("nothing writes posts"))?;
        let load = self.options.load();
        let load = Load { pause: Duration::from_secs(1) * load.connections / RATE, ..load };
        let stop = AtomicBool::new(false);
        let (round, answered) = thread::scope(|scope| {
            let posts = scope.spawn(|| write_posts(&at.1.api, author, &stop));
            let round = round::service(at, self.keeper, traffic, load);
            stop.store(true, Ordering::Relaxed);
            (round, posts.join())
        });
        Ok((round?, answered.map_err(|_| anyhow!("the posts failed"))??))
    }

    fn lag_table(&self, nodes: &[Node], rounds: &[Round]) -> Table {
        let columns =
            ["stream on", "posts/s", "events", "p50 ms", "p99 ms", "max ms", "missing", "ended", "resets", "errors"];
        let mut table = Table::new(format!("Lag of events on {}", self.place.kind.name()), &columns);
        let rate = median(rounds.iter().map(|round| round.driven.rate()));
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
            LAG_PACE.as_millis()
        ));
        table
    }
}

/// When each post was answered.
type Answered = HashMap<String, Instant>;

/// The streams of a node, and how late their events were, in milliseconds.
struct Node {
    name: &'static str,
    listeners: Listeners,
    lags: Vec<f64>,
    missing: usize,
}

impl Node {
    /// Adds what became of these posts.
    fn measure(&mut self, answered: &Answered) {
        let expected = answered.len() * LAG_STREAMS;
        let arrivals = self.listeners.take_arrivals(expected, LAG_PATIENCE);
        let lag = |Arrival { post, at }: &Arrival| {
            answered.get(post).map(|answered| at.saturating_duration_since(*answered).as_secs_f64() * 1e3)
        };
        let lags: Vec<f64> = arrivals.iter().filter_map(lag).collect();
        self.missing += expected.saturating_sub(lags.len());
        self.lags.extend(lags);
    }
}

/// Writes posts, one after the other, until it is told to stop.
fn write_posts(api: &Api, token: &str, stop: &AtomicBool) -> Result<Answered> {
    let post = Request::post("/api/posts/create", token, Some(&json!({ "text": "How late am I?" })));
    let mut answered = Answered::new();
    while !stop.load(Ordering::Relaxed) {
        let answer = api.expect(&post)?;
        let at = Instant::now();
        answered.insert(id(&answer.body["data"])?, at);
        thread::sleep(LAG_PACE);
    }
    Ok(answered)
}

/// Returns the requests per second of some turns, their times, the CPU that the service took for each, and the errors.
fn figures(turns: &[Turn]) -> [Cell; 5] {
    let middle = |figure: fn(&Round) -> f64| Cell::from(median(turns.iter().map(|turn| figure(&turn.round))));
    [
        middle(|round| round.driven.rate()),
        middle(|round| round.driven.p50 as f64 / 1e3),
        middle(|round| round.driven.p99 as f64 / 1e3),
        middle(|round| round.service_cpu),
        total(turns, |turn| turn.round.errors),
    ]
}

fn total(turns: &[Turn], figure: fn(&Turn) -> u64) -> Cell {
    (turns.iter().map(figure).sum::<u64>() as f64).into()
}

/// Returns the median of what is left of the rate, from turn to turn.
fn of_first(first: &[Turn], second: &[Turn]) -> Option<f64> {
    median(first.iter().zip(second).map(|(a, b)| b.round.driven.rate() / a.round.driven.rate()))
}
