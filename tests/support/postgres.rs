//! Private PostgreSQL servers: one for all tests of a process, started when first asked for, and others that a test
//! owns, to stop and start as it likes. None outlives the process, however it ends.

#![allow(dead_code, reason = "each test uses a part")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// The server that the tests of this process share.
pub(crate) fn shared() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start(5432, |_| "-c listen_addresses=".to_owned()))
}

/// The name and the URL of a fresh, empty database of the shared server.
pub(crate) fn fresh_database_by_name() -> (String, String) {
    let name = fresh_name();
    let url = shared().database(&name);
    (name, url)
}

/// The URL of a fresh, empty database of the shared server.
pub(crate) fn fresh_database() -> String {
    fresh_database_by_name().1
}

/// The name and the URL of a fresh copy of a database of the shared server that nobody is connected to.
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

/// A private server. It is gone when this is dropped.
pub(crate) struct Server {
    programs: PathBuf,
    directory: PathBuf,
    port: u16,
    watch: Mutex<Option<Dialog>>,
}

/// Starts the server, then does as it is told on its standard input, and echoes what is done. The end of the input
/// comes with the end of the process that holds the other side, however it ends: then the server is stopped and its
/// files removed.
const WATCH: &str = r#"
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

/// A program that does what is written to it, and says so.
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

    /// Reads up to this line; what came before it.
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
        // It ends with its input.
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts a server on a socket of this port's name in its directory, with further options, which may name files
    /// that `prepare` puts there.
    pub(crate) fn start(port: u16, prepare: impl FnOnce(&Path) -> String) -> Self {
        let server = Self { programs: programs(), directory: directory(), port, watch: Mutex::new(None) };
        let options = prepare(&server.directory);
        give_to_server_user(&server.directory);
        let mut initdb = as_server_user(&server.programs.join("initdb"));
        initdb.args(["--username=agora", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "-D"]);
        run(initdb.arg(server.directory.join("data")));
        server.watch(&options);
        server
    }

    /// Starts a replica of this server, on a socket of this port's name. From now on, what is committed is on both.
    pub(crate) fn replica(&self, port: u16) -> Self {
        let replica = Self { programs: self.programs.clone(), directory: directory(), port, watch: Mutex::new(None) };
        give_to_server_user(&replica.directory);
        let mut copy = as_server_user(&self.programs.join("pg_basebackup"));
        copy.arg("-h").arg(&self.directory).args(["-U", "agora", "-p", &self.port.to_string()]);
        copy.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "-D"]);
        run(copy.arg(replica.directory.join("data")));
        replica.watch("-c listen_addresses=");
        let wait = "ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf();";
        self.session("postgres").run(wait);
        replica
    }

    /// Makes a replica the server that takes writes.
    pub(crate) fn promote(&self) {
        self.session("postgres").run("ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_promote();");
    }

    /// Starts the server's program, and waits until it accepts connections.
    fn watch(&self, options: &str) {
        let mut watch = as_server_user(Path::new("sh"));
        watch.args(["-c", WATCH, "sh"]).arg(&self.programs).arg(&self.directory);
        watch.arg(self.port.to_string()).arg(options);
        *self.watch.lock().expect("nobody panicked") = Some(Dialog::new(&mut watch));
        self.await_ready();
    }

    /// Makes an empty database; its URL, through the server's socket.
    pub(crate) fn database(&self, name: &str) -> String {
        run(self.client("createdb").arg(name));
        self.url(name)
    }

    fn url(&self, name: &str) -> String {
        format!("postgres://agora@{}/{name}", self.host())
    }

    /// Its host and port, as a URL names them.
    pub(crate) fn host(&self) -> String {
        format!("{}:{}", socket(&self.directory), self.port)
    }

    fn tell(&self, command: &str) {
        let mut watch = self.watch.lock().expect("nobody panicked");
        let watch = watch.as_mut().expect("it was started");
        watch.write(command);
        watch.read_to(command);
    }

    /// Ends all of the server's processes at once, as a crash of the machine would.
    pub(crate) fn kill(&self) {
        self.tell("kill");
    }

    /// Stops the server the regular way, which ends its connections.
    pub(crate) fn stop(&self) {
        self.tell("stop");
    }

    /// Starts the server again, with the same data at the same place, and waits until it accepts connections.
    pub(crate) fn restart(&self) {
        self.tell("start");
        self.await_ready();
    }

    /// A session of its own on a database.
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

/// PgBouncer in front of a server. It is gone when this is dropped.
pub(crate) struct Pooler {
    directory: PathBuf,
    _watch: Dialog,
}

impl Pooler {
    const PORT: u16 = 6432;

    /// Runs PgBouncer until its input ends, as [`WATCH`] does.
    const WATCH: &str = r#"pgbouncer -q "$1/pgbouncer.ini" & read -r _; kill "$!"; wait; rm -rf "$1""#;

    /// Starts one that lends connections by this mode.
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
        let mut watch = as_server_user(Path::new("sh"));
        watch.args(["-c", Self::WATCH, "sh"]).arg(&directory);
        let path = std::env::var("PATH").unwrap_or_default();
        watch.env("PATH", format!("{path}:/usr/sbin"));
        let pooler = Self { _watch: Dialog::new(&mut watch), directory };
        let begun = Instant::now();
        while !pooler.directory.join(format!(".s.PGSQL.{}", Self::PORT)).exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "PgBouncer does not start: is it installed?");
            thread::sleep(Duration::from_millis(20));
        }
        pooler
    }

    /// The URL of a database of its server.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://agora@{}:{}/{database}", socket(&self.directory), Self::PORT)
    }
}

/// A directory for a server.
fn directory() -> PathBuf {
    tempfile::Builder::new().prefix("agora-postgres-").tempdir().expect("a directory").keep()
}

/// The host of a URL that leads to the socket in a directory.
fn socket(directory: &Path) -> String {
    directory.display().to_string().replace('/', "%2F")
}

fn run(command: &mut Command) {
    let output = command.current_dir("/").output().expect("the program runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A session that a test holds open. It ends, and with it its transaction, when this is dropped.
pub(crate) struct Session(Dialog);

impl Session {
    /// Runs statements to their end; what they return, a row a line.
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

/// The server refuses to run as root: there it runs as the user that its package makes.
fn as_server_user(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program).current_dir("/");
    command
}

/// Where the server's programs are: on Debian not on the PATH, but in a directory by version.
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
