//! Whether the response time of a forgotten password reveals if an address has an account.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::json;

use crate::api::{Api, Request};
use crate::options::Options;
use crate::report::Report;
use crate::service::{SeededDatabase, Size, free_port};
use crate::supervisor::Supervisor;
use crate::table::{Cell, Table, median};

/// The number of requests for each kind of address.
const TRIES: usize = 200;

/// The number of these from one client address, which is limited to 60 requests per minute.
const TRIES_OF_CLIENT: usize = 25;

/// The kinds of accounts, and how many of each are used.
const READERS: [(&str, usize); 4] = [("reader_10", 50), ("reader_20", 50), ("reader_100", 50), ("reader_1000", 50)];

const SIZE: Size = Size { posts: 1_000, users: 2_000 };

const COLUMNS: [&str; 4] = ["mail to reset a password", "tries", "median ms", "mean ms"];

/// Requests mails to addresses with an account and without one, alternately.
pub(crate) fn run(supervisor: &Arc<Supervisor>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let place = SeededDatabase::seeded(supervisor, options, kind, SIZE, 4)?;
        // No server listens there: mails are stored, but not sent.
        let server = format!("smtp://127.0.0.1:{}?tls=none", free_port()?);
        let service =
            place.serve_with(&[("AGORA_SMTP_URL", server), ("AGORA_MAIL_FROM", "agora@example.org".to_owned())])?;
        let readers = READERS.iter().flat_map(|(name, count)| (1..=*count).map(move |n| format!("{name}_{n}")));
        let readers: Vec<String> = readers.take(TRIES).collect();
        let mut times = [Vec::new(), Vec::new()];
        for (client, readers) in (1..).zip(readers.chunks(TRIES_OF_CLIENT)) {
            let api = Api::from(service.api.base(), Ipv4Addr::new(127, 0, 1, client))?;
            api.expect(&Request::get("/health/live", ""))?;
            for (number, reader) in readers.iter().enumerate() {
                let addresses = [reader.clone(), reader.replace("reader", "nobody")];
                // The order alternates.
                for which in [number % 2, 1 - number % 2] {
                    times[which].push(ask(&api, &addresses[which])?);
                }
            }
        }
        let [known, unknown] = &times;
        let mut table = Table::new(format!("Forgotten passwords on {}", kind.name()), &COLUMNS);
        table.row(row("an account's address", known));
        table.row(row("nobody's address", unknown));
        let middle = |times: &[f64]| median(times.iter().copied()).context("no try");
        table.note(format!("nobody's of an account's, medians: {:.3}", middle(unknown)? / middle(known)?));
        report.add(table)?;
    }
    Ok(())
}

/// Requests a mail; returns the milliseconds until the response.
fn ask(api: &Api, name: &str) -> Result<f64> {
    let body = json!({ "identifier": format!("{name}@example.org") });
    let request = Request::post("/api/auth/password/forgot", "", Some(&body));
    let begun = Instant::now();
    api.expect(&request)?;
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

fn row(name: &str, times: &[f64]) -> Vec<Cell> {
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    vec![name.into(), (times.len() as f64).into(), median(times.iter().copied()).into(), mean.into()]
}
