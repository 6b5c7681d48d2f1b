//! The service under measurement: its binary, its database, its network.

use std::fs;
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::api::{Api, Request};
use crate::keeper::{Keeper, Running};
use crate::postgres::Postgres;
use crate::{Options, usage};

/// The password of every seeded account.
pub(crate) const PASSWORD: &str = "demo password";

/// Which database the service uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The embedded one.
    Sqlite,
    /// A private server.
    Postgres,
}

impl Kind {
    /// Returns its name, for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

/// How large a network is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) posts: u64,
    pub(crate) users: u64,
}

/// Returns a free port of this machine.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A seeded database, and where the service that uses it has its data.
pub(crate) struct SeededDatabase {
    pub(crate) kind: Kind,
    pub(crate) postgres: Option<Postgres>,
    keeper: Arc<Keeper>,
    binary: PathBuf,
    data: PathBuf,
    bcrypt_cost: u32,
}

impl SeededDatabase {
    /// Makes a fresh database and fills it.
    pub(crate) fn seeded(keeper: &Arc<Keeper>, options: &Options, kind: Kind, size: Size, cost: u32) -> Result<Self> {
        Self::with_celebrity(keeper, options, kind, size, cost, 0)
    }

    /// Makes a fresh database and fills it, with an account of so many posts if there are any.
    pub(crate) fn with_celebrity(
        keeper: &Arc<Keeper>,
        options: &Options,
        kind: Kind,
        size: Size,
        cost: u32,
        celebrity: u64,
    ) -> Result<Self> {
        let data = tempfile::Builder::new().prefix("data-").tempdir_in(keeper.directory())?.keep();
        let name = data.file_name().unwrap_or_default().to_string_lossy().replace("data", "postgres");
        let postgres = (kind == Kind::Postgres).then(|| Postgres::start(keeper, &name)).transpose()?;
        let binary = options.agora()?;
        let place = Self { kind, postgres, keeper: Arc::clone(keeper), binary, data, bcrypt_cost: cost };
        let begun = Instant::now();
        let Size { posts, users } = size;
        crate::note(&format!("{}: seeding {posts} posts by {users} users", kind.name()));
        let (posts, users, seed) = (posts.to_string(), users.to_string(), options.seed.to_string());
        let mut command = place.command(free_port()?);
        command.args(["demo", "seed", "--posts", &posts, "--users", &users, "--seed", &seed]);
        if celebrity > 0 {
            command.arg(format!("--celebrity={celebrity}"));
        }
        keeper.output(&mut command)?;
        place.finish_backlog()?;
        place.settle()?;
        crate::note(&format!("{}: seeded in {:.1} s", kind.name(), begun.elapsed().as_secs_f64()));
        Ok(place)
    }

    /// Makes what was just filled ready to be measured, as time would have.
    pub(crate) fn settle(&self) -> Result<()> {
        self.postgres.as_ref().map_or(Ok(()), Postgres::settle)
    }

    /// Lets the service do what the seed leaves to it: in the background, that would be measured as well.
    fn finish_backlog(&self) -> Result<()> {
        let _service = self.serve()?;
        loop {
            let status = self.keeper.output(self.command(free_port()?).args(["migrate", "status"]))?;
            let counts =
                status.lines().filter(|line| line.contains(" to be ")).filter_map(|line| line.rsplit(' ').next());
            if counts.map(str::parse::<u64>).sum::<Result<u64, _>>()? == 0 {
                return Ok(());
            }
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    /// Returns the binary, told where its data are.
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

    /// Starts the service and waits until it answers.
    pub(crate) fn serve(&self) -> Result<Service> {
        self.serve_with(&[])
    }

    /// Starts the service with some more settings and waits until it answers.
    pub(crate) fn serve_with(&self, settings: &[(&str, String)]) -> Result<Service> {
        let port = free_port()?;
        let log = File::options().create(true).append(true).open(self.data.join("log"))?;
        let mut command = self.command(port);
        command.envs(settings.iter().map(|(name, value)| (name, value)));
        let begun = Instant::now();
        let mut running = self.keeper.start(command.stdout(Stdio::null()).stderr(log), "TERM")?;
        let api = Api::new(port)?;
        let first = Request::get("/api/products/findAll?size=1", "");
        while !api.send(&first).is_ok_and(|answer| answer.status == 200) {
            running.ensure_alive().with_context(|| self.log())?;
            std::thread::yield_now();
        }
        Ok(Service { running, api, started_in: begun.elapsed() })
    }

    /// Returns what the service said of itself.
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

    /// Returns the CPU time that the database's own processes have used.
    pub(crate) fn database_cpu(&self) -> Result<Duration> {
        self.postgres.as_ref().map_or(Ok(Duration::ZERO), Postgres::cpu)
    }
}

/// The service, running. It is stopped when this is dropped.
pub(crate) struct Service {
    running: Running,
    pub(crate) api: Api,
    /// From the start of its process to its first answer.
    pub(crate) started_in: Duration,
}

impl Service {
    /// Returns the number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.running.id()
    }

    /// Returns its CPU time.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        usage::cpu(self.id())
    }

    /// Logs in as `{kind}_{1..=count}`; the tokens.
    pub(crate) fn log_in(&self, kind: &str, count: usize) -> Result<Vec<String>> {
        (1..=count).map(|n| self.log_in_as(&format!("{kind}_{n}"))).collect()
    }

    /// Logs in by this name; the token.
    pub(crate) fn log_in_as(&self, name: &str) -> Result<String> {
        self.api.login(name, PASSWORD).with_context(|| format!("cannot log in as {name}"))
    }
}

/// A bare handler that answers always the same. It is stopped when this is dropped.
pub(crate) struct Bare {
    running: Running,
    pub(crate) api: Api,
}

impl Bare {
    /// Starts one.
    pub(crate) fn start(keeper: &Arc<Keeper>, program: &Path, status: u16, body: &str) -> Result<Self> {
        let port = free_port()?;
        let file = keeper.directory().join(format!("bare-{port}.json"));
        fs::write(&file, body)?;
        let mut command = Command::new(program);
        command.arg(format!("127.0.0.1:{port}")).arg(status.to_string()).arg(&file);
        let mut running = keeper.start(command.stdin(Stdio::null()), "KILL")?;
        let api = Api::new(port)?;
        crate::keeper::until("the bare handler", || {
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
