//! A private PostgreSQL server for the tests of one process: started when first asked for, gone when the process ends.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// The URL of a fresh, empty database.
pub(crate) fn fresh_database() -> String {
    static SERVER: OnceLock<Server> = OnceLock::new();
    static DATABASES: AtomicUsize = AtomicUsize::new(0);
    let server = SERVER.get_or_init(|| Server::start(5432, |_| "-c listen_addresses=".to_owned()));
    let name = format!("test_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
    server.run(server.client("createdb").arg(&name));
    let socket = server.directory.display().to_string().replace('/', "%2F");
    format!("postgres://agora@{socket}/{name}")
}

/// A private server.
pub(crate) struct Server {
    programs: PathBuf,
    directory: PathBuf,
    port: u16,
}

/// Starts the server and waits for the end of its standard input, which comes with the end of the process that holds the
/// other side, however it ends. Then it stops the server and removes its files.
const WATCH: &str = r#"
    "$1/postgres" -D "$2/data" -k "$2" -c max_connections=400 -c fsync=off -p "$3" $4 >"$2/log" 2>&1 &
    cat >/dev/null
    kill -QUIT $!
    wait
    rm -rf "$2"
"#;

impl Server {
    /// Starts a server on a socket of this port's name in its directory, with further options, which may name files that
    /// `prepare` puts there.
    pub(crate) fn start(port: u16, prepare: impl FnOnce(&Path) -> String) -> Self {
        let directory = tempfile::Builder::new().prefix("agora-postgres-").tempdir().expect("a directory").keep();
        let server = Self { programs: programs(), directory, port };
        let options = prepare(&server.directory);
        let root = fs::metadata("/proc/self").expect("proc").uid() == 0;
        if root {
            server.run(Command::new("chown").arg("-R").arg("postgres:").arg(&server.directory));
        }
        let mut initdb = as_server_user(root, &server.programs.join("initdb"));
        initdb.args(["--username=agora", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "-D"]);
        server.run(initdb.arg(server.directory.join("data")));
        let mut watch = as_server_user(root, Path::new("sh"));
        watch.args(["-c", WATCH, "sh"]).arg(&server.programs).arg(&server.directory);
        watch.arg(port.to_string()).arg(&options);
        let child = watch.stdin(Stdio::piped()).spawn().expect("sh");
        // Its standard input stays open until this process ends.
        std::mem::forget(child);
        server.await_ready();
        server
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

    fn run(&self, command: &mut Command) {
        let output = command.current_dir("/").output().expect("the program runs");
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The server refuses to run as root: there it runs as the user that its package makes.
fn as_server_user(root: bool, program: &Path) -> Command {
    if !root {
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
    let complete = |place: &PathBuf| ["postgres", "initdb", "createdb"].iter().all(|it| place.join(it).exists());
    places.into_iter().find(complete).expect("PostgreSQL's server is missing; install it: apt-get install postgresql")
}
