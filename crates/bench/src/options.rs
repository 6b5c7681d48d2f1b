//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};

use crate::service::{Kind, Size};
use crate::workloads::Scenario;
use crate::wrk::Load;

/// Measures the service on SQLite and PostgreSQL, beside a bare HTTP handler and pgbench.
#[derive(Debug, Parser)]
pub(crate) struct Options {
    /// What to measure [default: paths]
    #[arg(value_enum)]
    what: Vec<What>,

    /// The databases to measure on
    #[arg(long, value_enum, default_value = "both")]
    database: Databases,

    /// Only these paths; may be repeated
    #[arg(long, value_enum)]
    work: Vec<Scenario>,

    /// The number of posts of the seeded network
    #[arg(long, default_value_t = 100_000)]
    posts: u64,

    /// The number of its ordinary users
    #[arg(long, default_value_t = 10_000)]
    users: u64,

    /// The seed of its random number generator
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// The number of rounds; the medians are reported
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: usize,

    /// The seconds of each measurement
    #[arg(long, default_value_t = 5)]
    pub(crate) seconds: u64,

    /// The numbers of posts that growth and searches are measured with
    #[arg(long, value_delimiter = ',', default_value = "10000,100000,1000000")]
    sizes: Vec<u64>,

    /// The cgroups that the primary and its replica are moved into before they are measured. With a CPU limit on each, these
    /// servers are the bottleneck, not the machine that all share
    #[arg(long, value_delimiter = ',', value_name = "PRIMARY,REPLICA")]
    pub(crate) server_groups: Vec<PathBuf>,

    /// The seconds of the mixed reads and writes
    #[arg(long, default_value_t = 300)]
    pub(crate) mixed_seconds: u64,

    /// The connections of wrk
    #[arg(long, default_value_t = 32)]
    connections: u32,

    /// The threads of wrk
    #[arg(long, default_value_t = 1)]
    threads: u32,

    /// The service's binary [default: `agora` beside this program]
    #[arg(long)]
    agora: Option<PathBuf>,

    /// The directory of the databases and the results
    #[arg(long, default_value = "target/bench")]
    pub(crate) directory: PathBuf,
}

/// A part of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// The usual requests of a social network, beside a bare handler and pgbench
    Paths,
    /// Reads in networks of different sizes, by readers who follow few and many
    Growth,
    /// Searches in networks of different sizes
    Search,
    /// Follows of many users, and of one whom all follow at the same time
    Follows,
    /// The feed before and after many newer posts by somebody whom nobody follows
    NewerPosts,
    /// The load of 32 connections and of 512
    Connections,
    /// Reads while many log in
    LoginFlood,
    /// Ordinary requests beside hundreds of stalled connections
    Stalled,
    /// The time from the start to the first response, and the idle memory
    Start,
    /// Live updates: memory of idle streams, lag of events, reads and writes beside streams
    Streams,
    /// Requests of users who block nobody, and of users who block 1,000
    Blocks,
    /// Reads and writes while an account with 100,000 posts is erased
    Deletion,
    /// Lists read from the primary, and from a replica
    Replica,
    /// Requests for a new password, for addresses with an account and without one
    Recovery,
    /// Mixed reads and writes for minutes
    Mixed,
    /// Everything
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Databases {
    Sqlite,
    Postgres,
    Both,
}

impl Options {
    /// Fails if the options are invalid or a binary is missing.
    pub(crate) fn check(&self) -> Result<()> {
        ensure!(self.rounds > 0 && self.seconds > 0 && self.connections > 0, "there is nothing to measure");
        ensure!(
            matches!(self.server_groups.len(), 0 | 2),
            "--server-groups needs two groups: of the primary and of its replica"
        );
        self.agora()?;
        self.bare()?;
        Ok(())
    }

    /// Returns the parts to run, each once.
    pub(crate) fn what(&self) -> Vec<What> {
        if self.what.contains(&What::All) {
            return What::value_variants().iter().copied().filter(|what| *what != What::All).collect();
        }
        let mut what = if self.what.is_empty() { vec![What::Paths] } else { Vec::new() };
        for part in &self.what {
            if !what.contains(part) {
                what.push(*part);
            }
        }
        what
    }

    /// Returns the name of the selected parts, which becomes that of the report's files.
    pub(crate) fn name(&self) -> String {
        if self.what.contains(&What::All) {
            return "all".to_owned();
        }
        let names = self.what().into_iter().filter_map(|what| Some(what.to_possible_value()?.get_name().to_owned()));
        names.collect::<Vec<_>>().join("-")
    }

    /// Returns the databases to measure.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        match self.database {
            Databases::Sqlite => vec![Kind::Sqlite],
            Databases::Postgres => vec![Kind::Postgres],
            Databases::Both => vec![Kind::Sqlite, Kind::Postgres],
        }
    }

    /// Returns the paths to measure.
    pub(crate) fn scenarios(&self) -> Vec<Scenario> {
        let wanted = |scenario: &Scenario| self.work.is_empty() || self.work.contains(scenario);
        Scenario::PATHS.into_iter().filter(wanted).collect()
    }

    /// Returns the size of the network.
    pub(crate) fn size(&self) -> Size {
        Size { posts: self.posts, users: self.users }
    }

    /// Returns the sizes of the networks that growth and searches are measured with.
    pub(crate) fn sizes(&self) -> Vec<u64> {
        self.sizes.clone()
    }

    /// Returns whether the network is large enough for readers who follow that many accounts.
    pub(crate) fn has_readers(&self, followed: u32) -> bool {
        u64::from(followed) < self.users
    }

    /// Returns the load that wrk generates.
    pub(crate) fn load(&self) -> Load {
        Load { connections: self.connections, threads: self.threads, seconds: self.seconds, pause: Duration::ZERO }
    }

    /// Returns the service's binary.
    pub(crate) fn agora(&self) -> Result<PathBuf> {
        let path = self.agora.clone().map_or_else(|| beside("agora"), Ok)?;
        path.canonicalize().with_context(|| format!("the service's binary {}", path.display()))
    }

    /// Returns the bare handler's binary.
    pub(crate) fn bare(&self) -> Result<PathBuf> {
        let path = beside("agora-bench-bare")?;
        path.canonicalize().with_context(|| format!("the bare handler's binary {}", path.display()))
    }
}

/// Returns the path of a program in the directory of this one.
fn beside(name: &str) -> Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(name))
}
