//! The processes and the directory of a run. Neither outlives it, however it ends.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use std::os::unix::process::CommandExt;

use anyhow::{Context, Result, ensure};

/// Learns from its standard input which processes began and ended. The end of the input comes with the end of the run,
/// however it ends: then what still runs is killed, and the directory removed.
const WATCH: &str = r#"
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

/// Keeps a list of the processes of a run, in a process of its own that an interrupt from the terminal does not reach.
pub(crate) struct Keeper {
    watch: Child,
    input: Mutex<Option<ChildStdin>>,
    directory: PathBuf,
}

impl Keeper {
    /// Makes a fresh directory below `parent`.
    pub(crate) fn new(parent: &Path) -> Result<Arc<Self>> {
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        let parent = parent.canonicalize()?;
        let directory = tempfile::Builder::new().prefix("run-").tempdir_in(parent)?.keep();
        // The database server may be another user's process.
        fs::set_permissions(&directory, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let mut watch = Command::new("sh");
        watch.args(["-c", WATCH, "sh"]).arg(&directory).process_group(0).stdin(Stdio::piped());
        let mut watch = watch.spawn().context("cannot start sh")?;
        let input = Mutex::new(watch.stdin.take());
        Ok(Arc::new(Self { watch, input, directory }))
    }

    /// Returns the directory of the run.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    fn tell(&self, line: &str) {
        if let Ok(mut input) = self.input.lock()
            && let Some(input) = input.as_mut()
        {
            // It only ends after this process.
            let _ = writeln!(input, "{line}");
        }
    }

    /// Starts a process that this signal ends.
    pub(crate) fn start(self: &Arc<Self>, command: &mut Command, signal: &'static str) -> Result<Running> {
        let child = command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
        self.tell(&format!("began {signal} {}", child.id()));
        Ok(Running { child, signal, keeper: Arc::clone(self) })
    }

    /// Runs a program that takes a while to its end; what it printed.
    pub(crate) fn output(&self, command: &mut Command) -> Result<String> {
        let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = piped.spawn().with_context(|| format!("cannot start {:?}", piped.get_program()))?;
        let id = child.id();
        self.tell(&format!("began KILL {id}"));
        let output = child.wait_with_output();
        self.tell(&format!("ended - {id}"));
        printed(command, &output?)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Ok(mut input) = self.input.lock() {
            drop(input.take());
        }
        // It ends with its input.
        let _ = self.watch.wait();
    }
}

/// A process of a run. It is ended when this is dropped.
pub(crate) struct Running {
    child: Child,
    signal: &'static str,
    keeper: Arc<Keeper>,
}

impl Running {
    /// Returns its number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns what keeps it.
    pub(crate) fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// Fails when it has ended.
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
        self.keeper.tell(&format!("ended - {id}"));
    }
}

/// Runs a program that does not take long to its end; what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    printed(command, &output)
}

fn printed(command: &Command, output: &Output) -> Result<String> {
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{:?}: {}: {}", command.get_program(), output.status, errors.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Asks again and again until it is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    for _ in 0..3000 {
        if is_so()? {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    anyhow::bail!("waited a minute in vain for {what}")
}
