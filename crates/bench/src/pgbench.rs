//! The upper limit of a workload on PostgreSQL: pgbench with the statements that the service sends.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::api::{Api, Request};
use crate::capture::capture;
use crate::now_millis;
use crate::postgres::Postgres;
use crate::script::{Choice, Script, scripts};

/// The numbers of connections of which the fastest is chosen.
const CONNECTIONS: [u32; 5] = [2, 4, 8, 16, 32];

/// The most scripts that pgbench accepts.
const MAX_SCRIPTS: usize = 128;

/// The result of a run.
pub(crate) struct Run {
    /// Requests per second.
    pub(crate) rate: f64,
    /// Microseconds of PostgreSQL's CPU time per request.
    pub(crate) cpu: f64,
}

/// Scripts for pgbench that send the same statements as requests to the service.
pub(crate) struct Pgbench<'a> {
    postgres: &'a Postgres,
    files: Vec<(PathBuf, usize)>,
    variables: Vec<(String, String)>,
    /// The number of requests that a transaction of pgbench stands for.
    requests: usize,
    /// The number of connections with which pgbench is fastest.
    pub(crate) connections: u32,
}

impl<'a> Pgbench<'a> {
    /// Captures the statements that the service sends for each group of requests, and generates scripts from them.
    pub(crate) fn of(
        postgres: &'a Postgres,
        api: &Api,
        (directory, name): (&Path, &str),
        groups: &[Vec<Request>],
        choice: Choice,
    ) -> Result<Self> {
        let attempt = || {
            let since = now_millis();
            let captured = capture(postgres, api, groups)?;
            scripts(&captured, since, choice, |sql| types(postgres, sql))
        };
        // Tried three times: unrelated statements, such as those of a new connection, may disturb a capture.
        let mut scripts = attempt().or_else(|_| attempt()).or_else(|_| attempt())?;
        scripts.sort_by_key(|script| std::cmp::Reverse(script.weight));
        scripts.truncate(MAX_SCRIPTS);
        let requests = groups.first().map_or(1, Vec::len);
        Self::of_scripts(postgres, (directory, name), &scripts, requests)
    }

    /// Writes the scripts into the directory, where they stay to be read afterwards, and finds the best number of connections.
    pub(crate) fn of_scripts(
        postgres: &'a Postgres,
        (directory, name): (&Path, &str),
        scripts: &[Script],
        requests: usize,
    ) -> Result<Self> {
        fs::create_dir_all(directory)?;
        let directory = directory.canonicalize()?;
        let mut files = Vec::new();
        for (number, script) in scripts.iter().enumerate() {
            let file = directory.join(format!("{name}-{number}.sql"));
            fs::write(&file, &script.text)?;
            files.push((file, script.weight));
        }
        let variables = scripts.iter().flat_map(|script| script.variables.clone()).collect();
        let mut made = Self { postgres, files, variables, requests, connections: 0 };
        let mut best = 0.0;
        for connections in CONNECTIONS {
            let Run { rate, .. } = made.run_with(connections, 1)?;
            if rate > best {
                (best, made.connections) = (rate, connections);
            }
        }
        Ok(made)
    }

    /// Runs for some seconds with the best number of connections.
    pub(crate) fn run(&self, seconds: u64) -> Result<Run> {
        self.run_with(self.connections, seconds)
    }

    fn run_with(&self, connections: u32, seconds: u64) -> Result<Run> {
        let mut pgbench = self.postgres.client("pgbench");
        pgbench.args(["-M", "prepared", "-n", "-j", "1", "-c", &connections.to_string(), "-T", &seconds.to_string()]);
        // Ids of different runs never collide: no run generates a thousand per millisecond.
        pgbench.arg("-D").arg(format!("k={}", now_millis() * 1000));
        for (name, value) in &self.variables {
            pgbench.arg("-D").arg(format!("{name}={value}"));
        }
        for (file, weight) in &self.files {
            pgbench.arg("-f").arg(format!("{}@{weight}", file.display()));
        }
        let before = self.postgres.cpu()?;
        let printed = self.postgres.supervisor().output(pgbench.arg("agora"))?;
        let used = self.postgres.cpu()?.saturating_sub(before);
        let value = |name| number(&printed, name).with_context(|| format!("pgbench: {printed}"));
        let requests = self.requests as f64;
        let done = value("number of transactions actually processed: ")? * requests;
        Ok(Run { rate: value("tps = ")? * requests, cpu: used.as_secs_f64() * 1e6 / done.max(1.0) })
    }
}

/// Returns the types that the server infers for a statement's parameters.
fn types(postgres: &Postgres, sql: &str) -> Result<Vec<String>> {
    let ask = "SELECT unnest(parameter_types) FROM pg_prepared_statements WHERE name = 'statement';";
    let rows = postgres.sql(&format!("PREPARE statement AS {sql};\n{ask}"))?;
    Ok(rows.lines().map(str::to_owned).collect())
}

/// Returns the number after this name in the output of pgbench.
fn number(printed: &str, name: &str) -> Option<f64> {
    let line = printed.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_the_whole_run_are_found_not_those_of_one_script() {
        let printed = "number of transactions actually processed: 20\nlatency average = 1 ms\n\
            tps = 1234.5 (without initial connection time)\n\
            SQL script 1: x\n - 10 transactions (50.0% of total, tps = 617.2)\n";
        assert_eq!(number(printed, "tps = "), Some(1234.5));
        assert_eq!(number(printed, "number of transactions actually processed: "), Some(20.0));
        assert_eq!(number("pgbench: error", "tps = "), None);
    }
}
