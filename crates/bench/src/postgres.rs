//! A private PostgreSQL server with durable settings.

use std::fs;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::supervisor::{Running, Supervisor, output, until};
use crate::usage;

/// The settings of the server that differ from its defaults.
pub(crate) const SETTINGS: [&str; 5] =
    ["fsync=on", "synchronous_commit=on", "shared_buffers=1GB", "max_connections=200", "max_wal_size=8GB"];

/// The name of the database.
const DATABASE: &str = "agora";

/// The prefix of each log entry, which the process id of the session and a space follow.
pub(crate) const LOG_PREFIX: &str = "@entry ";

/// A server with one database. Dropping this stops it.
pub(crate) struct Postgres {
    running: Running,
    programs: PathBuf,
    directory: PathBuf,
}

impl Postgres {
    /// Initializes and starts a server with an empty database, in a new directory of the run.
    pub(crate) fn start(supervisor: &Arc<Supervisor>, name: &str) -> Result<Self> {
        let programs = programs()?;
        let directory = supervisor.directory().join(name);
        fs::create_dir(&directory)?;
        let root = fs::metadata("/proc/self")?.uid() == 0;
        if root {
            output(Command::new("chown").arg("postgres:").arg(&directory))?;
        }
        let mut initdb = as_server_user(root, &programs.join("initdb"));
        initdb.args(["--username=agora", "--auth=trust", "--encoding=UTF8", "--locale=C", "-D"]);
        output(initdb.arg(directory.join("data")).current_dir("/"))?;
        let server = Self::run(supervisor, programs, directory)?;
        output(server.client("createdb").arg(DATABASE))?;
        Ok(server)
    }

    /// Initializes and starts a streaming replica of this server, in a new directory of the run.
    pub(crate) fn replica(&self, supervisor: &Arc<Supervisor>) -> Result<Self> {
        let directory = self.directory.with_extension("replica");
        fs::create_dir(&directory)?;
        let root = fs::metadata("/proc/self")?.uid() == 0;
        if root {
            output(Command::new("chown").arg("postgres:").arg(&directory))?;
        }
        let mut copy = as_server_user(root, &self.programs.join("pg_basebackup"));
        copy.arg("-h").arg(&self.directory).args(["-U", "agora", "-p", "5432", "--write-recovery-conf"]);
        output(copy.args(["--checkpoint=fast", "-D"]).arg(directory.join("data")).current_dir("/"))?;
        Self::run(supervisor, self.programs.clone(), directory)
    }

    /// Starts the server in a directory, and waits until it accepts connections.
    fn run(supervisor: &Arc<Supervisor>, programs: PathBuf, directory: PathBuf) -> Result<Self> {
        let root = fs::metadata("/proc/self")?.uid() == 0;
        let mut server = as_server_user(root, &programs.join("postgres"));
        server.arg("-D").arg(directory.join("data")).arg("-k").arg(&directory);
        for setting in SETTINGS.iter().copied().chain(["listen_addresses=", "port=5432"]) {
            server.args(["-c", setting]);
        }
        server.arg("-c").arg(format!("log_line_prefix={LOG_PREFIX}%p "));
        let log = File::create(directory.join("log"))?;
        log.set_permissions(PermissionsExt::from_mode(0o644))?;
        server.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let mut running = supervisor.start(&mut server, "QUIT")?;
        let client = |program: &str| client(&programs, &directory, program);
        until("PostgreSQL", || {
            running.ensure_alive().context("PostgreSQL does not start")?;
            Ok(client("pg_isready").output()?.status.success())
        })?;
        Ok(Self { running, programs, directory })
    }

    /// Returns the URL of the database, through the server's socket.
    pub(crate) fn url(&self) -> String {
        let socket = self.directory.display().to_string().replace('/', "%2F");
        format!("postgres://agora@{socket}:5432/{DATABASE}")
    }

    /// Returns a client program for the database.
    pub(crate) fn client(&self, program: &str) -> Command {
        client(&self.programs, &self.directory, program)
    }

    /// Runs statements; returns their rows, a line each, with fields separated by tabs.
    pub(crate) fn sql(&self, sql: &str) -> Result<String> {
        let file = self.directory.join("statements.sql");
        fs::write(&file, sql)?;
        let mut psql = self.client("psql");
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--field-separator=\t"]);
        psql.args(["--set=ON_ERROR_STOP=1", "-d", DATABASE, "-f"]).arg(file);
        output(&mut psql)
    }

    /// Brings a database that was just filled into the state that it would reach in time: up-to-date statistics and visibility
    /// map, and no checkpoint due.
    pub(crate) fn settle(&self) -> Result<()> {
        self.sql("VACUUM (ANALYZE); CHECKPOINT;").map(drop)
    }

    /// Turns the logging of statements on or off.
    pub(crate) fn log_statements(&self, log: bool) -> Result<()> {
        let value = if log { "'all'" } else { "'none'" };
        self.sql(&format!("ALTER SYSTEM SET log_statement = {value};\nSELECT pg_reload_conf();"))?;
        // The reload reaches each connection of the service by a signal, which it handles at its own time.
        std::thread::sleep(Duration::from_millis(500));
        Ok(())
    }

    /// Returns the length of the log in bytes.
    pub(crate) fn log_length(&self) -> Result<u64> {
        Ok(fs::metadata(self.directory.join("log"))?.len())
    }

    /// Returns the log from a byte offset on.
    pub(crate) fn log_since(&self, position: u64) -> Result<String> {
        let mut file = File::open(self.directory.join("log"))?;
        file.seek(SeekFrom::Start(position))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Returns the supervisor that started it.
    pub(crate) fn supervisor(&self) -> &Supervisor {
        self.running.supervisor()
    }

    /// Moves all processes of the server into a cgroup.
    pub(crate) fn put_into(&self, group: &Path) -> Result<()> {
        usage::put_into(group, self.running.id())
    }

    /// Returns the CPU time that all processes of the server have used.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        usage::cpu_of_family(self.running.id())
    }

    /// Returns the bytes of its write-ahead log.
    pub(crate) fn wal_size(&self) -> Result<u64> {
        let size = self.sql("SELECT coalesce(sum(size), 0) FROM pg_ls_waldir();")?;
        size.trim().parse().context("the size of the WAL")
    }

    /// Returns the server's version.
    pub(crate) fn version() -> Result<String> {
        Ok(output(Command::new(programs()?.join("postgres")).arg("--version"))?.trim().to_owned())
    }
}

fn client(programs: &Path, directory: &Path, program: &str) -> Command {
    let mut command = Command::new(programs.join(program));
    command.arg("-h").arg(directory).args(["-U", "agora", "-p", "5432"]).current_dir("/");
    command
}

/// Returns a command for a program of the server, which refuses to run as root: then as the user `postgres` of its package.
fn as_server_user(root: bool, program: &Path) -> Command {
    if !root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
    command
}

/// Returns the directory of the server's programs. On Debian they are not on the PATH, but in a directory per version.
fn programs() -> Result<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    found.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = found.into_iter().rev().chain(std::env::split_paths(&path));
    let needed = ["postgres", "initdb", "createdb", "psql", "pgbench"];
    let complete = |place: &PathBuf| needed.iter().all(|program| place.join(program).exists());
    places.find(complete).context("PostgreSQL's server or pgbench is missing: apt-get install postgresql")
}
