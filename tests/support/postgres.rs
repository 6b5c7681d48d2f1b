//! Private PostgreSQL servers: one for all tests of a process, started on first use, and others that a single test owns and can
//! stop and start. None outlives the process, however it ends.

#![allow(dead_code, reason = "each test uses a part")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Returns the server that the tests of this process share.
pub(crate) fn shared() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start(5432, |_| "-c listen_addresses=".to_owned()))
}

/// Creates an empty database on the shared server, and returns its name and URL.
pub(crate) fn fresh_database_by_name() -> (String, String) {
    let name = fresh_name();
    let url = shared().database(&name);
    (name, url)
}

/// Creates an empty database on the shared server, and returns its URL.
pub(crate) fn fresh_database() -> String {
    fresh_database_by_name().1
}

/// Copies a database of the shared server, to which nothing may be connected, and returns the name and the URL of the copy.
pub(crate) fn copy_of(template: &str) -> (String, String) {
    let name = fresh_name();
    run(shared().client("createdb").args(["--template", template]).arg(&name));
    let url = shared().url(&name);
    (name, url)
}

fn fresh_name() -> String {
    static DATABASES: AtomicUsize = AtomicUsize::new(0);
    format!("test_{}", DATABASES.fetch_add(1, Ordering::Relaxed))
}

/// A private server. It is stopped, and its files are removed, when this is dropped.
pub(crate) struct Server {
    programs: PathBuf,
    directory: PathBuf,
    port: u16,
    supervisor: Mutex<Option<Dialog>>,
}

/// A supervisor script: it starts the server, then executes the commands on its standard input, and echoes each when it is done.
/// The input ends with the test process, however that ends; then the server is stopped and its files are removed.
const SUPERVISOR: &str = r#"
    programs=$1 directory=$2 port=$3 options=$4
    start() {
        "$programs/postgres" -D "$directory/data" -k "$directory" -c max_connections=400 -c fsync=off -p "$port" $options \
            >>"$directory/log" 2>&1 &
        server=$!
    }
    start
    while read -r command; do
        case $command in
            start) start ;;
            kill)
                memory=$(awk 'NR == 7 { print $2 }' "$directory/data/postmaster.pid")
                kill -KILL "$server" $(cat "/proc/$server/task/$server/children")
                wait "$server"
                # The server does not start while a process of the one before is attached to its memory.
                until awk -v id="$memory" '$2 == id && $7 > 0 { held = 1 } END { exit held }' /proc/sysvipc/shm; do
                    sleep 0.01
                done
                ;;
            stop) kill -INT "$server"; wait "$server" ;;
        esac
        echo "$command"
    done 2>/dev/null
    kill -QUIT "$server" 2>/dev/null
    wait
    rm -rf "$directory"
"#;

/// A program that executes commands from its standard input, and reports on its standard output.
struct Dialog {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Dialog {
    fn new(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().expect("its output")));
        Self { child, input, output }
    }

    fn write(&mut self, line: &str) {
        writeln!(self.input.as_mut().expect("its input"), "{line}").expect("the program reads");
    }

    /// Reads up to this line, and returns the lines before it.
    fn read_to(&mut self, last: &str) -> String {
        let mut text = String::new();
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("the program writes") > 0, "it ended: {text}");
            if line.trim_end() == last {
                return text;
            }
            text.push_str(&line);
        }
    }
}

impl Drop for Dialog {
    fn drop(&mut self) {
        drop(self.input.take());
        // The program ends with its input.
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts a server on a Unix socket in its directory, which is named after the port. `prepare` returns further options, and
    /// may create the files that they name in the directory.
    pub(crate) fn start(port: u16, prepare: impl FnOnce(&Path) -> String) -> Self {
        let server = Self { programs: programs(), directory: directory(), port, supervisor: Mutex::new(None) };
        let options = prepare(&server.directory);
        give_to_server_user(&server.directory);
        let mut initdb = as_server_user(&server.programs.join("initdb"));
        initdb.args(["--username=agora", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "-D"]);
        run(initdb.arg(server.directory.join("data")));
        server.supervise(&options);
        server
    }

    /// Starts a replica of this server, on a Unix socket that is named after the port. Replication is synchronous from now on.
    pub(crate) fn replica(&self, port: u16) -> Self {
        let replica =
            Self { programs: self.programs.clone(), directory: directory(), port, supervisor: Mutex::new(None) };
        give_to_server_user(&replica.directory);
        let mut copy = as_server_user(&self.programs.join("pg_basebackup"));
        copy.arg("-h").arg(&self.directory).args(["-U", "agora", "-p", &self.port.to_string()]);
        copy.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "-D"]);
        run(copy.arg(replica.directory.join("data")));
        replica.supervise("-c listen_addresses=");
        let wait = "ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf();";
        self.session("postgres").run(wait);
        replica
    }

    /// Promotes this replica to the primary.
    pub(crate) fn promote(&self) {
        self.session("postgres").run("ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_promote();");
    }

    /// Starts the server under its supervisor, and waits until it accepts connections.
    fn supervise(&self, options: &str) {
        let mut supervisor = as_server_user(Path::new("sh"));
        supervisor.args(["-c", SUPERVISOR, "sh"]).arg(&self.programs).arg(&self.directory);
        supervisor.arg(self.port.to_string()).arg(options);
        *self.supervisor.lock().expect("nobody panicked") = Some(Dialog::new(&mut supervisor));
        self.await_ready();
    }

    /// Creates an empty database, and returns its URL through the server's socket.
    pub(crate) fn database(&self, name: &str) -> String {
        run(self.client("createdb").arg(name));
        self.url(name)
    }

    fn url(&self, name: &str) -> String {
        format!("postgres://agora@{}/{name}", self.host())
    }

    /// Returns the host and port of the server for a URL.
    pub(crate) fn host(&self) -> String {
        format!("{}:{}", socket(&self.directory), self.port)
    }

    fn command(&self, command: &str) {
        let mut supervisor = self.supervisor.lock().expect("nobody panicked");
        let supervisor = supervisor.as_mut().expect("it was started");
        supervisor.write(command);
        supervisor.read_to(command);
    }

    /// Kills all processes of the server, as a crash of the machine would.
    pub(crate) fn kill(&self) {
        self.command("kill");
    }

    /// Shuts the server down, which closes its connections.
    pub(crate) fn stop(&self) {
        self.command("stop");
    }

    /// Starts the server again, with the same data and address, and waits until it accepts connections.
    pub(crate) fn restart(&self) {
        self.command("start");
        self.await_ready();
    }

    /// Opens a session of `psql` on a database.
    pub(crate) fn session(&self, database: &str) -> Session {
        let mut psql = self.client("psql");
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "-d", database]).current_dir("/");
        Session(Dialog::new(&mut psql))
    }

    fn await_ready(&self) {
        let begun = Instant::now();
        while !self.client("pg_isready").output().expect("pg_isready").status.success() {
            let log = || fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(60), "the server does not start: {}", log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn client(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.arg("-h").arg(&self.directory).args(["-U", "agora", "-p", &self.port.to_string()]);
        command
    }
}

/// PgBouncer in front of a server. It is stopped when this is dropped.
pub(crate) struct Pooler {
    directory: PathBuf,
    _supervisor: Dialog,
}

impl Pooler {
    const PORT: u16 = 6432;

    /// A script that runs PgBouncer until its input ends, like [`SUPERVISOR`].
    const SUPERVISOR: &str = r#"pgbouncer -q "$1/pgbouncer.ini" & read -r _; kill "$!"; wait; rm -rf "$1""#;

    /// Starts PgBouncer with this pool mode.
    pub(crate) fn start(server: &Server, mode: &str) -> Self {
        let directory = directory();
        let settings = format!(
            "[databases]\n* = host={} port={} user=agora\n[pgbouncer]\npool_mode = {mode}\nauth_type = any\n\
             unix_socket_dir = {}\nlisten_port = {}\n",
            server.directory.display(),
            server.port,
            directory.display(),
            Self::PORT
        );
        fs::write(directory.join("pgbouncer.ini"), settings).expect("a file");
        give_to_server_user(&directory);
        let mut supervisor = as_server_user(Path::new("sh"));
        supervisor.args(["-c", Self::SUPERVISOR, "sh"]).arg(&directory);
        let path = std::env::var("PATH").unwrap_or_default();
        supervisor.env("PATH", format!("{path}:/usr/sbin"));
        let pooler = Self { _supervisor: Dialog::new(&mut supervisor), directory };
        let begun = Instant::now();
        while !pooler.directory.join(format!(".s.PGSQL.{}", Self::PORT)).exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "PgBouncer does not start: is it installed?");
            thread::sleep(Duration::from_millis(20));
        }
        pooler
    }

    /// Returns the URL of a database of the server, through PgBouncer.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://agora@{}:{}/{database}", socket(&self.directory), Self::PORT)
    }
}

/// Creates a directory for a server.
fn directory() -> PathBuf {
    tempfile::Builder::new().prefix("agora-postgres-").tempdir().expect("a directory").keep()
}

/// Returns the host part of a URL for the Unix socket in a directory.
fn socket(directory: &Path) -> String {
    directory.display().to_string().replace('/', "%2F")
}

fn run(command: &mut Command) {
    let output = command.current_dir("/").output().expect("the program runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A session of `psql`. It ends, together with its transaction, when this is dropped.
pub(crate) struct Session(Dialog);

impl Session {
    /// Runs statements, and returns their rows, one per line.
    pub(crate) fn run(&mut self, sql: &str) -> String {
        self.0.write(sql);
        self.0.write("\\echo done");
        self.0.read_to("done")
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").expect("proc").uid() == 0
}

fn give_to_server_user(directory: &Path) {
    if is_root() {
        run(Command::new("chown").arg("-R").arg("postgres:").arg(directory));
    }
}

/// Returns a command for a program of the server, which refuses to run as root: then it runs as the user that its package
/// creates.
fn as_server_user(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program).current_dir("/");
    command
}

/// Returns the directory of the server's programs. On Debian, they are not on the `PATH` but in a directory for each version.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    found.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = found.into_iter().rev().chain(std::env::split_paths(&path));
    let complete =
        |place: &PathBuf| ["postgres", "initdb", "createdb", "psql"].iter().all(|it| place.join(it).exists());
    places.into_iter().find(complete).expect("PostgreSQL's server is missing; install it: apt-get install postgresql")
}
