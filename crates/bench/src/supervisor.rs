//! The processes and the directory of a run, which are cleaned up however the run ends.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use std::os::unix::process::CommandExt;

use anyhow::{Context, Result, ensure};

/// A shell script that reads from its standard input which processes have started and ended. The input ends with the run, however
/// that ends: then the script kills the processes that are left, and removes the directory.
const CLEANUP_SCRIPT: &str = r#"
    directory=$1 running=
    while read -r word signal process; do
        case $word in
            began) running="$running $signal:$process" ;;
            ended) running=$(echo "$running" | sed "s/ [A-Z]*:$process\b//") ;;
        esac
    done
    for entry in $running; do kill "-${entry%%:*}" "${entry#*:}"; done 2>/dev/null
    for entry in $running; do
        for _ in $(seq 100); do kill -0 "${entry#*:}" 2>/dev/null || break; sleep 0.05; done
    done
    rm -rf "$directory"
"#;

/// Cleans up after a run. The script that does it is a separate process, which an interrupt from the terminal does not reach.
pub(crate) struct Supervisor {
    script: Child,
    input: Mutex<Option<ChildStdin>>,
    directory: PathBuf,
}

impl Supervisor {
    /// Creates the directory of the run in `parent`, and starts the script.
    pub(crate) fn new(parent: &Path) -> Result<Arc<Self>> {
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        let parent = parent.canonicalize()?;
        let directory = tempfile::Builder::new().prefix("run-").tempdir_in(parent)?.keep();
        // Readable, since the database server may run as another user.
        fs::set_permissions(&directory, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let mut script = Command::new("sh");
        script.args(["-c", CLEANUP_SCRIPT, "sh"]).arg(&directory).process_group(0).stdin(Stdio::piped());
        let mut script = script.spawn().context("cannot start sh")?;
        let input = Mutex::new(script.stdin.take());
        Ok(Arc::new(Self { script, input, directory }))
    }

    /// Returns the directory of the run.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    fn send(&self, line: &str) {
        if let Ok(mut input) = self.input.lock()
            && let Some(input) = input.as_mut()
        {
            // Cannot fail: the script ends after this process.
            let _ = writeln!(input, "{line}");
        }
    }

    /// Starts a process that is ended by this signal.
    pub(crate) fn start(self: &Arc<Self>, command: &mut Command, signal: &'static str) -> Result<Running> {
        let child = command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
        self.send(&format!("began {signal} {}", child.id()));
        Ok(Running { child, signal, supervisor: Arc::clone(self) })
    }

    /// Runs a long-running program to its end; returns what it printed. It is killed if the run ends first.
    pub(crate) fn output(&self, command: &mut Command) -> Result<String> {
        let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = piped.spawn().with_context(|| format!("cannot start {:?}", piped.get_program()))?;
        let id = child.id();
        self.send(&format!("began KILL {id}"));
        let output = child.wait_with_output();
        self.send(&format!("ended - {id}"));
        printed(command, &output?)
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if let Ok(mut input) = self.input.lock() {
            drop(input.take());
        }
        // The script cleans up and exits when its input ends.
        let _ = self.script.wait();
    }
}

/// A process of a run. Dropping this ends it.
pub(crate) struct Running {
    child: Child,
    signal: &'static str,
    supervisor: Arc<Supervisor>,
}

impl Running {
    /// Returns its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the supervisor that started it.
    pub(crate) fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// Fails if it has ended.
    pub(crate) fn ensure_alive(&mut self) -> Result<()> {
        let ended = self.child.try_wait()?;
        ensure!(ended.is_none(), "it ended: {}", ended.map(|status| status.to_string()).unwrap_or_default());
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let id = self.child.id().to_string();
        let _ = Command::new("kill").args([&format!("-{}", self.signal), &id]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
        self.supervisor.send(&format!("ended - {id}"));
    }
}

/// Runs a short program to its end; returns what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    printed(command, &output)
}

fn printed(command: &Command, output: &Output) -> Result<String> {
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{:?}: {}: {}", command.get_program(), output.status, errors.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Polls a condition for up to a minute until it holds; `what` names it in the error.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    for _ in 0..3000 {
        if is_so()? {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    anyhow::bail!("waited a minute in vain for {what}")
}
