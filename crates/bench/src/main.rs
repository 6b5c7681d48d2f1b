//! The benchmark of the service: it makes private databases, fills them, starts the real binary on them, drives it with
//! wrk and checks the answers meanwhile, beside what limits it. `scripts/bench` builds and runs it.

#![forbid(unsafe_code)]

mod api;
mod blocks;
mod capture;
mod check;
mod connections;
mod deletion;
mod follows;
mod growth;
mod keeper;
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
mod table;
mod timeline;
mod usage;
mod works;
mod wrk;

use std::io;
use std::io::Write;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use clap::Parser;

use crate::keeper::Keeper;
use crate::options::{Options, What};
use crate::report::Report;

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
    let keeper = Keeper::new(&options.directory)?;
    let mut report = Report::new(options)?;
    for what in options.what() {
        match what {
            What::Paths => paths::run(&keeper, options, &mut report)?,
            What::Growth => growth::run(&keeper, options, &mut report)?,
            What::Search => search::run(&keeper, options, &mut report)?,
            What::Follows => follows::run(&keeper, options, &mut report)?,
            What::NewerPosts => newer::run(&keeper, options, &mut report)?,
            What::Connections => connections::run(&keeper, options, &mut report)?,
            What::LoginFlood => login_flood::run(&keeper, options, &mut report)?,
            What::Stalled => stalled::run(&keeper, options, &mut report)?,
            What::Start => start::run(&keeper, options, &mut report)?,
            What::Streams => streams::run(&keeper, options, &mut report)?,
            What::Blocks => blocks::run(&keeper, options, &mut report)?,
            What::Deletion => deletion::run(&keeper, options, &mut report)?,
            What::Replica => replica::run(&keeper, options, &mut report)?,
            What::Recovery => recovery::run(&keeper, options, &mut report)?,
            What::Mixed => mixed::run(&keeper, options, &mut report)?,
            What::All => {}
        }
    }
    report.tell_where()
}

/// Tells whoever waits what happens.
fn note(text: &str) {
    // Nobody may be there to read it.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Returns the milliseconds since 1970.
#[allow(clippy::disallowed_methods, reason = "the port is the service's, which this is not")]
fn now_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
