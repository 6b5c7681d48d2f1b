//! The service under test: its process, and its database with a seeded network.

use std::fs;
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::api::{Api, Request};
use crate::postgres::Postgres;
use crate::supervisor::{Running, Supervisor};
use crate::{Options, usage};

/// The password of every seeded account.
pub(crate) const PASSWORD: &str = "demo password";

/// The database that the service uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Embedded SQLite.
    Sqlite,
    /// A private PostgreSQL server.
    Postgres,
}

impl Kind {
    /// Returns the name that tables and messages show.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

/// The size of a network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) posts: u64,
    pub(crate) users: u64,
}

/// Returns a free port of this machine.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A seeded database, and the data directory of the service that uses it.
pub(crate) struct SeededDatabase {
    pub(crate) kind: Kind,
    pub(crate) postgres: Option<Postgres>,
    supervisor: Arc<Supervisor>,
    binary: PathBuf,
    data: PathBuf,
    bcrypt_cost: u32,
}

impl SeededDatabase {
    /// Creates a database and fills it.
    pub(crate) fn seeded(
        supervisor: &Arc<Supervisor>,
        options: &Options,
        kind: Kind,
        size: Size,
        cost: u32,
    ) -> Result<Self> {
        Self::with_celebrity(supervisor, options, kind, size, cost, 0)
    }

    /// Creates a database and fills it, with an account `celebrity` of that many posts unless the number is 0.
    pub(crate) fn with_celebrity(
        supervisor: &Arc<Supervisor>,
        options: &Options,
        kind: Kind,
        size: Size,
        cost: u32,
        celebrity: u64,
    ) -> Result<Self> {
        let data = tempfile::Builder::new().prefix("data-").tempdir_in(supervisor.directory())?.keep();
        let name = data.file_name().unwrap_or_default().to_string_lossy().replace("data", "postgres");
        let postgres = (kind == Kind::Postgres).then(|| Postgres::start(supervisor, &name)).transpose()?;
        let binary = options.agora()?;
        let place = Self { kind, postgres, supervisor: Arc::clone(supervisor), binary, data, bcrypt_cost: cost };
        let begun = Instant::now();
        let Size { posts, users } = size;
        crate::note(&format!("{}: seeding {posts} posts by {users} users", kind.name()));
        let (posts, users, seed) = (posts.to_string(), users.to_string(), options.seed.to_string());
        let mut command = place.command(free_port()?);
        command.args(["demo", "seed", "--posts", &posts, "--users", &users, "--seed", &seed]);
        if celebrity > 0 {
            command.arg(format!("--celebrity={celebrity}"));
        }
        supervisor.output(&mut command)?;
        place.finish_backlog()?;
        place.settle()?;
        crate::note(&format!("{}: seeded in {:.1} s", kind.name(), begun.elapsed().as_secs_f64()));
        Ok(place)
    }

    /// Brings a database that was just filled into the state that it would reach in time.
    pub(crate) fn settle(&self) -> Result<()> {
        self.postgres.as_ref().map_or(Ok(()), Postgres::settle)
    }

    /// Runs the service until it has completed its backfills, which would otherwise be measured as well.
    fn finish_backlog(&self) -> Result<()> {
        let _service = self.serve()?;
        loop {
            let status = self.supervisor.output(self.command(free_port()?).args(["migrate", "status"]))?;
            let counts =
                status.lines().filter(|line| line.contains(" to be ")).filter_map(|line| line.rsplit(' ').next());
            if counts.map(str::parse::<u64>).sum::<Result<u64, _>>()? == 0 {
                return Ok(());
            }
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    /// Returns a command of the binary, with the settings for this database.
    pub(crate) fn command(&self, port: u16) -> Command {
        let mut command = Command::new(&self.binary);
        command.env("AGORA_LISTEN", format!("127.0.0.1:{port}")).env("AGORA_DATA_DIR", &self.data);
        command.env("AGORA_BCRYPT_COST", self.bcrypt_cost.to_string()).env("AGORA_LOG", "warn");
        command.env("AGORA_TOKEN_LIFETIME", "7d").stdin(Stdio::null());
        if let Some(postgres) = &self.postgres {
            command.env("AGORA_DATABASE_URL", postgres.url());
        }
        command
    }

    /// Starts the service and waits for its first response.
    pub(crate) fn serve(&self) -> Result<Service> {
        self.serve_with(&[])
    }

    /// Starts the service with additional settings and waits for its first response.
    pub(crate) fn serve_with(&self, settings: &[(&str, String)]) -> Result<Service> {
        let port = free_port()?;
        let log = File::options().create(true).append(true).open(self.data.join("log"))?;
        let mut command = self.command(port);
        command.envs(settings.iter().map(|(name, value)| (name, value)));
        let begun = Instant::now();
        let mut running = self.supervisor.start(command.stdout(Stdio::null()).stderr(log), "TERM")?;
        let api = Api::new(port)?;
        let first = Request::get("/api/products/findAll?size=1", "");
        while !api.send(&first).is_ok_and(|answer| answer.status == 200) {
            running.ensure_alive().with_context(|| self.log())?;
            std::thread::yield_now();
        }
        Ok(Service { running, api, started_in: begun.elapsed() })
    }

    /// Returns the log of the service.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.data.join("log")).unwrap_or_default()
    }

    /// Returns the bytes of the database's write-ahead log.
    pub(crate) fn wal_size(&self) -> Result<u64> {
        match &self.postgres {
            Some(postgres) => postgres.wal_size(),
            None => Ok(fs::metadata(self.data.join("agora.db-wal")).map_or(0, |file| file.len())),
        }
    }

    /// Returns the CPU time that the processes of the database server have used; zero for SQLite.
    pub(crate) fn database_cpu(&self) -> Result<Duration> {
        self.postgres.as_ref().map_or(Ok(Duration::ZERO), Postgres::cpu)
    }
}

/// A running service. Dropping this stops it.
pub(crate) struct Service {
    running: Running,
    pub(crate) api: Api,
    /// The time from the start of its process to its first response.
    pub(crate) started_in: Duration,
}

impl Service {
    /// Returns its process id.
    pub(crate) fn id(&self) -> u32 {
        self.running.id()
    }

    /// Returns its CPU time.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        usage::cpu(self.id())
    }

    /// Logs in as `{kind}_1` to `{kind}_{count}`; returns the tokens.
    pub(crate) fn log_in(&self, kind: &str, count: usize) -> Result<Vec<String>> {
        (1..=count).map(|n| self.log_in_as(&format!("{kind}_{n}"))).collect()
    }

    /// Logs in with this username; returns the token.
    pub(crate) fn log_in_as(&self, name: &str) -> Result<String> {
        self.api.login(name, PASSWORD).with_context(|| format!("cannot log in as {name}"))
    }
}

/// A server with a bare handler that always returns the same response. Dropping this stops it.
pub(crate) struct BareServer {
    running: Running,
    pub(crate) api: Api,
}

impl BareServer {
    /// Starts a server with this response.
    pub(crate) fn start(supervisor: &Arc<Supervisor>, program: &Path, status: u16, body: &str) -> Result<Self> {
        let port = free_port()?;
        let file = supervisor.directory().join(format!("bare-{port}.json"));
        fs::write(&file, body)?;
        let mut command = Command::new(program);
        command.arg(format!("127.0.0.1:{port}")).arg(status.to_string()).arg(&file);
        let mut running = supervisor.start(command.stdin(Stdio::null()), "KILL")?;
        let api = Api::new(port)?;
        crate::supervisor::until("the bare handler", || {
            running.ensure_alive()?;
            Ok(api.send(&Request::get("/", "")).is_ok())
        })?;
        Ok(Self { running, api })
    }

    /// Returns its CPU time.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        usage::cpu(self.running.id())
    }
}
