//! The report: the circumstances of the measurement and its tables.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::{fs, io};

use anyhow::Result;
use serde::Serialize;

use crate::options::Options;
use crate::postgres::Postgres;
use crate::supervisor::output;
use crate::table::Table;
use crate::{postgres, wrk};

/// The circumstances and the tables, on the terminal and in files.
#[derive(Serialize)]
pub(crate) struct Report {
    circumstances: Vec<(&'static str, String)>,
    tables: Vec<Table>,
    #[serde(skip)]
    file: PathBuf,
}

impl Report {
    /// Creates a report, and prints the circumstances.
    pub(crate) fn new(options: &Options) -> Result<Self> {
        let file = options.directory.join(options.name());
        let report = Self { circumstances: circumstances(options), tables: Vec::new(), file };
        say(&report.head())?;
        Ok(report)
    }

    fn head(&self) -> String {
        self.circumstances
            .iter()
            .fold("# Benchmark\n\n".to_owned(), |text, (what, how)| text + &format!("- {what}: {how}\n"))
    }

    /// Adds a table, and writes the files again, so that completed tables survive a failure of later ones.
    pub(crate) fn add(&mut self, table: Table) -> Result<()> {
        say(&format!("\n{}", table.markdown()))?;
        self.tables.push(table);
        let text = self.tables.iter().fold(self.head(), |text, table| text + "\n" + &table.markdown());
        fs::write(self.file.with_extension("md"), text)?;
        fs::write(self.file.with_extension("json"), serde_json::to_string_pretty(self)? + "\n")?;
        Ok(())
    }

    /// Prints the paths of the files.
    pub(crate) fn print_paths(&self) -> Result<()> {
        say(&format!("\nAlso in {0}.md and {0}.json", self.file.display()))
    }
}

fn say(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    Ok(writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush())?)
}

fn circumstances(options: &Options) -> Vec<(&'static str, String)> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let output_of = |program: &str, arguments: &[&str]| {
        output(Command::new(program).args(arguments)).unwrap_or_default().trim().to_owned()
    };
    let after = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let directory = options.directory.display().to_string();
    let (size, load) = (options.size(), options.load());
    vec![
        ("commit", output_of("git", &["describe", "--always", "--dirty", "--abbrev=12"])),
        ("machine", format!("{cores} cores, {}", after(&read("/proc/cpuinfo"), "model name"))),
        ("memory", after(&read("/proc/meminfo"), "MemTotal")),
        ("kernel", format!("{} {}", output_of("uname", &["-s"]), read("/proc/sys/kernel/osrelease").trim())),
        ("file system", output_of("stat", &["--file-system", "--format=%T", &directory])),
        ("load before", read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" ")),
        ("load generator", format!("{}, on the same machine", wrk::version())),
        ("PostgreSQL", Postgres::version().unwrap_or_else(|error| error.to_string())),
        ("its settings", postgres::SETTINGS.join(", ")),
        ("network", format!("{} posts, {} users, seed {}", size.posts, size.users, options.seed)),
        ("rounds", format!("{} of {} s", options.rounds, load.seconds)),
        ("connections", format!("{}, from {} threads", load.connections, load.threads)),
    ]
}
