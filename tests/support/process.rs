//! Processes of the binary, each with a temporary home directory. None outlives its test.

#![allow(dead_code, reason = "each suite uses a part")]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

use tempfile::TempDir;

use crate::backend::Backend;
use crate::client::Client;
pub(crate) use crate::client::HANG;

/// The path of the binary.
pub(crate) const AGORA: &str = env!("CARGO_BIN_EXE_agora");

/// The temporary directory and the backend of one test, which its services use one after the other.
pub(crate) struct Home {
    directory: TempDir,
    /// The backend that stores the data of the services.
    pub(crate) backend: Backend,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), backend: Backend::new() }
    }

    /// Returns a path below the home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the data directory, whose name has characters that are special in shells and URLs. The first start creates it.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.path("agora's data #1?").join("100%41")
    }

    /// Returns a command for the binary, configured to serve this home's data on a free port, with cheap password hashes.
    pub(crate) fn agora(&self, arguments: &[&str]) -> Command {
        self.release(AGORA, arguments)
    }

    /// Returns a command for another release of the binary, configured like [`agora`](Self::agora).
    pub(crate) fn release(&self, binary: &str, arguments: &[&str]) -> Command {
        let mut command = self.program(binary);
        command.args(arguments);
        command.envs(self.backend.variables());
        command.env("AGORA_DATA_DIR", self.data_dir()).env("AGORA_LISTEN", "127.0.0.1:0").env("AGORA_BCRYPT_COST", "4");
        command
    }

    /// Returns a command for a program in this home, without any environment variables that configure the binary.
    pub(crate) fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for (name, _) in env::vars_os() {
            if ["AGORA_", "AWS_", "OTEL_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command.current_dir(self.directory.path());
        command
    }

    /// Returns the file of a stored image, by its key.
    pub(crate) fn image_file(&self, key: &str) -> PathBuf {
        self.backend.images(&self.data_dir()).join(&key[..2]).join(key)
    }

    /// Returns the signing secret that was generated at the first start.
    pub(crate) fn secret(&self) -> String {
        fs::read_to_string(self.data_dir().join("jwt-secret")).unwrap()
    }

    /// Starts the service and waits until it listens.
    pub(crate) fn start(&self) -> Service {
        Service::start(self.agora(&[]))
    }

    /// Starts the service with further variables.
    pub(crate) fn start_with(&self, variables: &[(&str, &str)]) -> Service {
        let mut command = self.agora(&[]);
        command.envs(variables.iter().copied());
        Service::start(command)
    }

    /// Starts the service with an administrator `root`, which is created if there is none.
    pub(crate) fn start_with_root(&self) -> Service {
        self.start_with(&[
            ("AGORA_ADMIN_USERNAME", "root"),
            ("AGORA_ADMIN_EMAIL", "root@example.org"),
            ("AGORA_ADMIN_PASSWORD", crate::client::PASSWORD),
        ])
    }
}

/// The exit status and the output of a process that ended.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The exit code; `None` if a signal ended the process.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Checks that the program failed (exit code 1) with a message for operators that contains these words.
    #[track_caller]
    pub(crate) fn expect_refusal(self, words: &[&str]) -> Self {
        self.expect_words(1, words)
    }

    /// Checks that the program rejected its command line or its configuration (exit code 2), with a message for operators that
    /// contains these words.
    #[track_caller]
    pub(crate) fn expect_misuse(self, words: &[&str]) -> Self {
        self.expect_words(2, words)
    }

    #[track_caller]
    fn expect_words(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.stderr.contains("agora: ") && !self.stderr.contains("panicked"), "{self:?}");
        for words in words {
            assert!(self.stderr.contains(words), "{words:?} is missing: {self:?}");
        }
        self
    }

    #[track_caller]
    pub(crate) fn expect_success(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}

/// Runs a command until it ends, with a text on its standard input.
pub(crate) fn run(command: Command, input: &str) -> Finished {
    Process::spawn(command, input).finish()
}

/// A running program. It is killed when dropped.
pub(crate) struct Process {
    child: Child,
    stdout: Captured,
    stderr: Captured,
}

impl Process {
    pub(crate) fn spawn(command: Command, input: &str) -> Self {
        let (process, mut stdin) = Self::spawn_open(command);
        // A program that reads no input may have ended before this write.
        let _ = stdin.write_all(input.as_bytes());
        process
    }

    /// Runs a program, and returns its standard input as well, which stays open until it is dropped.
    pub(crate) fn spawn_open(mut command: Command) -> (Self, ChildStdin) {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = Captured::new(child.stdout.take().unwrap());
        let stderr = Captured::new(child.stderr.take().unwrap());
        let stdin = child.stdin.take().unwrap();
        (Self { child, stdout, stderr }, stdin)
    }

    /// Runs a program, and returns its standard output as well, which is not read.
    pub(crate) fn spawn_unread(mut command: Command) -> (Self, ChildStdout) {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = child.stdout.take().unwrap();
        let (stdout, stderr) = (Captured::new(io::empty()), Captured::new(child.stderr.take().unwrap()));
        (Self { child, stdout, stderr }, output)
    }

    /// Waits for a line of the standard output with this beginning, and returns its rest.
    fn line(&mut self, beginning: &str) -> String {
        self.wait_for(beginning, |process| {
            let stdout = process.stdout.text();
            // A line without a line feed is not complete yet.
            let mut whole = stdout.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
            whole.find_map(|line| line.strip_prefix(beginning)).map(str::to_owned)
        })
    }

    /// Waits until the standard error contains a text.
    pub(crate) fn error_line(&mut self, text: &str) {
        self.wait_for(text, |process| process.stderr.text().contains(text).then_some(()));
    }

    /// Waits until `find` returns something. The process may have printed it last, just before it ended.
    fn wait_for<T>(&mut self, text: &str, find: impl Fn(&Self) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            let ended = self.child.try_wait().unwrap();
            if ended.is_some() {
                self.stdout.whole();
                self.stderr.whole();
            }
            if let Some(found) = find(self) {
                return found;
            }
            let printed = || format!("{}{}", self.stdout.text(), self.stderr.text());
            assert!(ended.is_none(), "ended with {ended:?} without {text:?}: {}", printed());
            assert!(begun.elapsed() < HANG, "no line {text:?}: {}", printed());
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns the standard error so far.
    pub(crate) fn errors(&self) -> String {
        self.stderr.text()
    }

    /// Returns the peak of its resident memory, in bytes; `None` once the process has ended.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        self.memory("VmHWM")
    }

    /// Returns its resident anonymous memory, in bytes; `None` once the process has ended. It excludes pages of files, such as
    /// those of the program, of which the system keeps a varying number.
    pub(crate) fn own_memory(&self) -> Option<u64> {
        self.memory("RssAnon")
    }

    /// Returns a value from `/proc/PID/status`, in bytes; `None` once the process has ended.
    fn memory(&self, name: &str) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        value.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    }

    /// Returns whether the process has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Sends the process a signal, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits until the process ends.
    pub(crate) fn finish(mut self) -> Finished {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                let (stdout, stderr) = (self.stdout.whole(), self.stderr.whole());
                return Finished { code: status.code(), stdout, stderr };
            }
            assert!(begun.elapsed() < HANG, "still runs: {}", self.stderr.text());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Kills the process, as a crash would, without a chance to clean up.
    pub(crate) fn kill(mut self) -> Finished {
        self.child.kill().unwrap();
        self.finish()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The output of a program so far. A thread reads it, so that the program never blocks on a full pipe.
struct Captured {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Captured {
    fn new(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut chunk) {
                written.lock().unwrap().extend_from_slice(&chunk[..count]);
            }
        });
        Self { bytes, reader: Some(reader) }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    /// Returns the whole output, once the program has ended.
    fn whole(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        self.text()
    }
}

/// A running service that accepts connections.
pub(crate) struct Service {
    process: Process,
    /// The host and port on which it listens.
    pub(crate) address: String,
    pub(crate) api: Client,
}

impl Service {
    /// Starts the service and waits until it reports the address on which it listens.
    pub(crate) fn start(command: Command) -> Self {
        let mut process = Process::spawn(command, "");
        let greeting = format!("Agora {} listens on http://", env!("CARGO_PKG_VERSION"));
        let address = process.line(&greeting);
        let api = Client::new(&format!("http://{address}"));
        Self { process, address, api }
    }

    /// Waits for a line of the standard output with this beginning, and returns its rest.
    pub(crate) fn line(&mut self, beginning: &str) -> String {
        self.process.line(beginning)
    }

    /// Returns the log so far.
    pub(crate) fn log(&self) -> String {
        self.process.stderr.text()
    }

    /// Returns the peak of its resident memory, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        self.process.peak_memory().expect("it runs")
    }

    /// Returns its resident anonymous memory, in bytes: without pages of files, such as those of the program.
    pub(crate) fn memory(&self) -> u64 {
        self.process.own_memory().expect("it runs")
    }

    /// Sends a signal, such as `TERM`.
    pub(crate) fn signal(&self, signal: &str) {
        self.process.signal(signal);
    }

    pub(crate) fn finish(self) -> Finished {
        self.process.finish()
    }

    /// Stops the service gracefully, and checks its exit code.
    #[track_caller]
    pub(crate) fn stop(self) -> Finished {
        self.signal("TERM");
        self.finish().expect_success()
    }

    pub(crate) fn kill(self) -> Finished {
        self.process.kill()
    }
}

/// Returns the permissions of a file.
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
