//! The benchmark of the service. It creates and fills private databases, starts the real binary on them, loads it with wrk, and
//! checks responses meanwhile. For comparison it measures upper limits: a bare handler and pgbench. `scripts/bench` builds and
//! runs it.

#![forbid(unsafe_code)]

mod api;
mod blocks;
mod capture;
mod check;
mod connections;
mod deletion;
mod follows;
mod growth;
mod listeners;
mod login_flood;
mod mixed;
mod network;
mod newer;
mod options;
mod paths;
mod pgbench;
mod postgres;
mod recovery;
mod replica;
mod report;
mod round;
mod script;
mod search;
mod service;
mod stalled;
mod start;
mod streams;
mod supervisor;
mod table;
mod timeline;
mod usage;
mod workloads;
mod wrk;

use std::io;
use std::io::Write;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use clap::Parser;

use crate::options::{Options, What};
use crate::report::Report;
use crate::supervisor::Supervisor;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note(&format!("agora-bench: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    options.check()?;
    let supervisor = Supervisor::new(&options.directory)?;
    let mut report = Report::new(options)?;
    for what in options.what() {
        match what {
            What::Paths => paths::run(&supervisor, options, &mut report)?,
            What::Growth => growth::run(&supervisor, options, &mut report)?,
            What::Search => search::run(&supervisor, options, &mut report)?,
            What::Follows => follows::run(&supervisor, options, &mut report)?,
            What::NewerPosts => newer::run(&supervisor, options, &mut report)?,
            What::Connections => connections::run(&supervisor, options, &mut report)?,
            What::LoginFlood => login_flood::run(&supervisor, options, &mut report)?,
            What::Stalled => stalled::run(&supervisor, options, &mut report)?,
            What::Start => start::run(&supervisor, options, &mut report)?,
            What::Streams => streams::run(&supervisor, options, &mut report)?,
            What::Blocks => blocks::run(&supervisor, options, &mut report)?,
            What::Deletion => deletion::run(&supervisor, options, &mut report)?,
            What::Replica => replica::run(&supervisor, options, &mut report)?,
            What::Recovery => recovery::run(&supervisor, options, &mut report)?,
            What::Mixed => mixed::run(&supervisor, options, &mut report)?,
            What::All => {}
        }
    }
    report.print_paths()
}

/// Writes a progress message to standard error.
fn note(text: &str) {
    // A closed standard error is no reason to fail.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Returns the milliseconds since 1970.
#[allow(clippy::disallowed_methods, reason = "the port is the service's, which this is not")]
fn now_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
