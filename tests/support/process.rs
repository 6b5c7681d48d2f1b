//! Processes of the binary, each in a home of its own. None outlives its test.

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

/// Where services of one test live, one after the other.
pub(crate) struct Home {
    directory: TempDir,
    /// What keeps their data.
    pub(crate) backend: Backend,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), backend: Backend::new() }
    }

    /// A path below the home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The data directory, whose name means something to shells and URLs. The first start makes it.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.path("agora's data #1?").join("100%41")
    }

    /// The binary with its arguments, set up to serve this home's data on a free port, with cheap password hashes.
    pub(crate) fn agora(&self, arguments: &[&str]) -> Command {
        self.release(AGORA, arguments)
    }

    /// Another release of it, set up the same way.
    pub(crate) fn release(&self, binary: &str, arguments: &[&str]) -> Command {
        let mut command = self.program(binary);
        command.args(arguments);
        command.envs(self.backend.variables());
        command.env("AGORA_DATA_DIR", self.data_dir()).env("AGORA_LISTEN", "127.0.0.1:0").env("AGORA_BCRYPT_COST", "4");
        command
    }

    /// A program run in this home, without any setting of ours.
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

    /// The file of a stored image, by its key.
    pub(crate) fn image_file(&self, key: &str) -> PathBuf {
        self.backend.images(&self.data_dir()).join(&key[..2]).join(key)
    }

    /// The signing secret drawn at the first start.
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

    /// Starts the service with an administrator `root`, who is made when there is none.
    pub(crate) fn start_with_root(&self) -> Service {
        self.start_with(&[
            ("AGORA_ADMIN_USERNAME", "root"),
            ("AGORA_ADMIN_EMAIL", "root@example.org"),
            ("AGORA_ADMIN_PASSWORD", crate::client::PASSWORD),
        ])
    }
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Finished {
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Checks that the program failed, in words for an operator.
    #[track_caller]
    pub(crate) fn expect_refusal(self, words: &[&str]) -> Self {
        self.expect_words(1, words)
    }

    /// Checks that the program refused its command line or its configuration, in words for an operator.
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

/// Runs a command to its end, with a text on its standard input.
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
        // A program that reads no input may be gone before it is written.
        let _ = stdin.write_all(input.as_bytes());
        process
    }

    /// Runs a program whose standard input stays open as long as it is kept.
    pub(crate) fn spawn_open(mut command: Command) -> (Self, ChildStdin) {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = Captured::new(child.stdout.take().unwrap());
        let stderr = Captured::new(child.stderr.take().unwrap());
        let stdin = child.stdin.take().unwrap();
        (Self { child, stdout, stderr }, stdin)
    }

    /// Runs a program whose standard output nobody reads, but who is given it.
    pub(crate) fn spawn_unread(mut command: Command) -> (Self, ChildStdout) {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = child.stdout.take().unwrap();
        let (stdout, stderr) = (Captured::new(io::empty()), Captured::new(child.stderr.take().unwrap()));
        (Self { child, stdout, stderr }, output)
    }

    /// Waits for a line of the standard output that begins like this; its rest.
    fn line(&mut self, beginning: &str) -> String {
        self.wait_for(beginning, |process| {
            let stdout = process.stdout.text();
            // A line without its end is not whole yet.
            let mut whole = stdout.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
            whole.find_map(|line| line.strip_prefix(beginning)).map(str::to_owned)
        })
    }

    /// Waits until the standard error has a text.
    pub(crate) fn error_line(&mut self, text: &str) {
        self.wait_for(text, |process| process.stderr.text().contains(text).then_some(()));
    }

    /// Waits until something is found in what it has printed, which it may have done as the last thing before it ended.
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

    /// Returns what it has printed so far on its standard error.
    pub(crate) fn errors(&self) -> String {
        self.stderr.text()
    }

    /// The most memory it has had so far, in bytes; nothing once it has ended.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        self.memory("VmHWM")
    }

    /// The memory of its own that it has now, in bytes: without the pages of files, such as its program, of which the system keeps as
    /// many as it likes; nothing once it has ended.
    pub(crate) fn own_memory(&self) -> Option<u64> {
        self.memory("RssAnon")
    }

    /// What the kernel counts of its memory under this name, in bytes; nothing once it has ended.
    fn memory(&self, name: &str) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        value.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Sends the program a signal, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end.
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

    /// Ends the program as a crash would, without any chance to tidy up.
    pub(crate) fn kill(mut self) -> Finished {
        self.child.kill().unwrap();
        self.finish()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a program has written so far, read by a thread so that it never waits for its reader.
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

    /// Everything, once the program has ended.
    fn whole(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        self.text()
    }
}

/// A service that listens.
pub(crate) struct Service {
    process: Process,
    /// The host and port it listens on.
    pub(crate) address: String,
    pub(crate) api: Client,
}

impl Service {
    /// Starts it and waits until it says where it listens.
    pub(crate) fn start(command: Command) -> Self {
        let mut process = Process::spawn(command, "");
        let greeting = format!("Agora {} listens on http://", env!("CARGO_PKG_VERSION"));
        let address = process.line(&greeting);
        let api = Client::new(&format!("http://{address}"));
        Self { process, address, api }
    }

    /// Waits for a line of the standard output that begins like this; its rest.
    pub(crate) fn line(&mut self, beginning: &str) -> String {
        self.process.line(beginning)
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        self.process.stderr.text()
    }

    /// The most memory it has had so far, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        self.process.peak_memory().expect("it runs")
    }

    /// The memory of its own that it has now, in bytes: without the pages of files, such as its program.
    pub(crate) fn memory(&self) -> u64 {
        self.process.own_memory().expect("it runs")
    }

    /// Tells it to stop by a signal: `TERM`, as a service manager does, or `INT`, as a terminal does.
    pub(crate) fn tell(&self, signal: &str) {
        self.process.signal(signal);
    }

    pub(crate) fn finish(self) -> Finished {
        self.process.finish()
    }

    /// Stops it the regular way, and checks that it ends well.
    #[track_caller]
    pub(crate) fn stop(self) -> Finished {
        self.tell("TERM");
        self.finish().expect_success()
    }

    pub(crate) fn kill(self) -> Finished {
        self.process.kill()
    }
}

/// The permissions of a file.
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
