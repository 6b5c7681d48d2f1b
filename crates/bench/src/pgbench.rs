//! The limit of a work on PostgreSQL: pgbench, with the statements that the service sends.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::api::{Api, Request};
use crate::capture::capture;
use crate::now_millis;
use crate::postgres::Postgres;
use crate::script::{Choice, Script, scripts};

/// The numbers of connections among which the best is looked for.
const CONNECTIONS: [u32; 5] = [2, 4, 8, 16, 32];

/// How many scripts pgbench takes.
const MOST_SCRIPTS: usize = 128;

/// What a run came to.
pub(crate) struct Run {
    /// Requests per second.
    pub(crate) rate: f64,
    /// Microseconds of PostgreSQL's CPU for each request.
    pub(crate) cpu: f64,
}

/// Scripts that do the same as requests to the service.
pub(crate) struct Pgbench<'a> {
    postgres: &'a Postgres,
    files: Vec<(PathBuf, usize)>,
    variables: Vec<(String, String)>,
    /// Requests in a transaction of pgbench.
    requests: usize,
    /// With which pgbench is fastest.
    pub(crate) connections: u32,
}

impl<'a> Pgbench<'a> {
    /// Captures what the service sends for each group of requests and makes scripts of it.
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
        // Something else, a new connection say, may have come between.
        let mut scripts = attempt().or_else(|_| attempt()).or_else(|_| attempt())?;
        scripts.sort_by_key(|script| std::cmp::Reverse(script.weight));
        scripts.truncate(MOST_SCRIPTS);
        let requests = groups.first().map_or(1, Vec::len);
        Self::of_scripts(postgres, (directory, name), &scripts, requests)
    }

    /// Writes the scripts into the directory, where anybody can read them afterwards, and tries them.
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
        // No two runs make the same ids: none makes a thousand for each millisecond.
        pgbench.arg("-D").arg(format!("k={}", now_millis() * 1000));
        for (name, value) in &self.variables {
            pgbench.arg("-D").arg(format!("{name}={value}"));
        }
        for (file, weight) in &self.files {
            pgbench.arg("-f").arg(format!("{}@{weight}", file.display()));
        }
        let before = self.postgres.cpu()?;
        let printed = self.postgres.keeper().output(pgbench.arg("agora"))?;
        let used = self.postgres.cpu()?.saturating_sub(before);
        let told = |name| number(&printed, name).with_context(|| format!("pgbench: {printed}"));
        let requests = self.requests as f64;
        let done = told("number of transactions actually processed: ")? * requests;
        Ok(Run { rate: told("tps = ")? * requests, cpu: used.as_secs_f64() * 1e6 / done.max(1.0) })
    }
}

/// Returns the types that the server finds for a statement's parameters.
fn types(postgres: &Postgres, sql: &str) -> Result<Vec<String>> {
    let ask = "SELECT unnest(parameter_types) FROM pg_prepared_statements WHERE name = 'statement';";
    let told = postgres.sql(&format!("PREPARE statement AS {sql};\n{ask}"))?;
    Ok(told.lines().map(str::to_owned).collect())
}

/// Returns the number behind this in what pgbench prints.
fn number(printed: &str, name: &str) -> Option<f64> {
    let line = printed.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_all_scripts() {
        let printed = "number of transactions actually processed: 20\nlatency average = 1 ms\n\
            tps = 1234.5 (without initial connection time)\n\
            SQL script 1: x\n - 10 transactions (50.0% of total, tps = 617.2)\n";
        assert_eq!(number(printed, "tps = "), Some(1234.5));
        assert_eq!(number(printed, "number of transactions actually processed: "), Some(20.0));
        assert_eq!(number("pgbench: error", "tps = "), None);
    }
}
