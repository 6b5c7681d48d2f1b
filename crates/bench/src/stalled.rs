//! The slowdown of ordinary requests while hundreds of connections stall.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::api::Request;
use crate::network::Sample;
use crate::options::Options;
use crate::report::Report;
use crate::service::{Kind, SeededDatabase, Service, Size};
use crate::supervisor::Supervisor;
use crate::table::{Cell, Table, median};

/// The number of stalled connections: a third sends nothing, a third half a head, a third half a body.
const STALLED: usize = 600;

/// The number of requests beside them, one after the other.
const REQUESTS: usize = 50;

/// The time within which the service must close all of the stalled connections.
const CLOSE_DEADLINE: Duration = Duration::from_secs(45);

/// The read timeout of stalled connections.
const READ_TIMEOUT: Duration = Duration::from_secs(90);

const SIZE: Size = Size { posts: 5000, users: 2000 };

const COLUMNS: [&str; 5] = ["50 requests", "total ms", "p50 ms", "p99 ms", "max ms"];

/// The response times of a series of requests, in ascending order.
struct Times(Vec<Duration>);

impl Times {
    fn total(&self) -> f64 {
        self.0.iter().map(Duration::as_secs_f64).sum::<f64>() * 1e3
    }

    /// Returns the time within which this part of the requests was answered, in milliseconds.
    fn within(&self, part: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        self.0.get((last as f64 * part).ceil() as usize).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    }
}

/// Measures requests without stalled connections and beside them, alternately.
pub(crate) fn run(supervisor: &Arc<Supervisor>, options: &Options, report: &mut Report) -> Result<()> {
    let place = SeededDatabase::seeded(supervisor, options, Kind::Sqlite, SIZE, 4)?;
    let service = place.serve()?;
    let requests = requests(&service)?;
    measure(&service, &requests)?;
    let (mut idle, mut beside, mut slowest) = (Vec::new(), Vec::new(), Duration::ZERO);
    for _ in 0..options.rounds {
        idle.push(measure(&service, &requests)?);
        let stalled = (0..STALLED).map(|n| stall(&service, n)).collect::<Result<Vec<_>>>()?;
        beside.push(measure(&service, &requests)?);
        slowest = slowest.max(wait_until_closed(stalled)?);
    }
    ensure!(slowest < CLOSE_DEADLINE, "a connection was cut after {slowest:?}");
    let mut table = Table::new(format!("Stalled connections on {}", Kind::Sqlite.name()), &COLUMNS);
    let figures: [fn(&Times) -> f64; 4] =
        [Times::total, |times| times.within(0.5), |times| times.within(0.99), |times| times.within(1.0)];
    for (name, turns) in [("alone", &idle), ("beside stalled connections", &beside)] {
        let mut row: Vec<Cell> = vec![name.into()];
        row.extend(figures.map(|figure| Cell::from(median(turns.iter().map(figure)))));
        table.row(row);
    }
    let mut ratio: Vec<Cell> = vec!["ratio".into()];
    let of = |figure: fn(&Times) -> f64| median(idle.iter().zip(&beside).map(|(a, b)| figure(b) / figure(a)));
    ratio.extend(figures.map(|figure| Cell::from(of(figure))));
    table.row(ratio);
    table.note(format!("{STALLED} connections stall: a third sends nothing, a third half a head, a third half a body"));
    table.note(format!("the last of them was cut after {:.1} s", slowest.as_secs_f64()));
    report.add(table)
}

/// Returns reads and writes of one account.
fn requests(service: &Service) -> Result<Vec<Request>> {
    let token = service.log_in_as("writer_1")?;
    let sample = Sample::taken(service)?;
    let post = sample.posts.first().context("no posts")?;
    let ordinary = [
        Request::get("/api/posts/following/all?size=20", &token),
        Request::get(format!("/api/posts/by-id/{post}"), &token),
        Request::get("/api/products/findAll?size=20", ""),
        Request::post("/api/posts/create", &token, Some(&serde_json::json!({ "text": "Hello" }))),
    ];
    Ok(ordinary.iter().cycle().take(REQUESTS).cloned().collect())
}

fn measure(service: &Service, requests: &[Request]) -> Result<Times> {
    let mut times = Vec::new();
    for request in requests {
        let begun = Instant::now();
        service.api.expect(request)?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(Times(times))
}

/// Opens a connection that sends an incomplete request, or nothing.
fn stall(service: &Service, n: usize) -> Result<(TcpStream, Instant)> {
    let address = service.api.base().trim_start_matches("http://");
    let mut stream = TcpStream::connect(address)?;
    let begun = Instant::now();
    stream.set_read_timeout(Some(READ_TIMEOUT))?;
    stream.write_all(match n % 3 {
        0 => b"",
        1 => b"GET /api/products/findAll HTTP/1.1\r\nHost: ago",
        _ => b"POST /api/auth/login HTTP/1.1\r\nHost: agora\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
    })?;
    Ok((stream, begun))
}

/// Waits until the service has closed all connections; returns how long the last one was open.
fn wait_until_closed(stalled: Vec<(TcpStream, Instant)>) -> Result<Duration> {
    let wait = |(mut stream, begun): (TcpStream, Instant)| {
        let mut last = [0; 1024];
        loop {
            match stream.read(&mut last) {
                Ok(1..) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return None,
                Ok(0) | Err(_) => return Some(begun.elapsed()),
            }
        }
    };
    thread::scope(|scope| {
        let waiting: Vec<_> = stalled.into_iter().map(|one| scope.spawn(move || wait(one))).collect();
        waiting.into_iter().try_fold(Duration::ZERO, |slowest, one| {
            let lasted = one.join().ok().flatten().context("a connection was never cut")?;
            Ok(slowest.max(lasted))
        })
    })
}
