//! Progress and cancellation of long-running commands.

use anyhow::{Result, ensure};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use tokio_util::sync::CancellationToken;

/// The error message of a command that a signal ended.
pub const INTERRUPTED: &str = "interrupted";

/// Cancels a command, which checks for it between two steps.
pub type Interrupt = CancellationToken;

/// The progress of a command, phase by phase: a bar on a terminal, otherwise log lines.
pub struct Progress {
    interrupt: Interrupt,
    is_shown: bool,
    /// Hidden if standard error is no terminal. It clears itself when the bar of the next phase replaces it, and at the end.
    bar: ProgressBar,
}

impl Progress {
    /// Creates a progress that is shown on standard error, from the first phase on.
    pub fn new(interrupt: Interrupt) -> Self {
        Self { interrupt, is_shown: true, bar: ProgressBar::hidden() }
    }

    /// Creates a progress that is neither shown nor cancelled.
    pub(crate) fn hidden() -> Self {
        Self { interrupt: Interrupt::new(), is_shown: false, bar: ProgressBar::hidden() }
    }

    /// Begins the next phase, of `total` steps if that is known.
    pub fn phase(&mut self, phase: &'static str, total: Option<u64>) {
        if !self.is_shown {
            return;
        }
        let (bar, template) = match total {
            Some(total) => (ProgressBar::new(total), "{msg} [{bar:32}] {human_pos}/{human_len} {rate} {eta} left"),
            None => (ProgressBar::no_length(), "{msg} {spinner} {human_pos} {rate}"),
        };
        // The templates above are well formed; if one were not, the usual look would do.
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        self.bar = bar.with_style(style.with_key("rate", rate)).with_message(phase);
    }

    /// Advances the phase by a number of steps.
    ///
    /// # Errors
    /// When the command was interrupted.
    pub fn advance(&mut self, steps: u64) -> Result<()> {
        let before = self.bar.position();
        self.bar.inc(steps);
        let (done, total) = (before + steps, self.bar.length());
        if self.is_shown && self.bar.is_hidden() && should_log(before, done, total) {
            tracing::info!(done, total, "{}", self.bar.message());
        }
        ensure!(!self.interrupt.is_cancelled(), INTERRUPTED);
        Ok(())
    }
}

/// Returns whether these steps are logged: at each tenth of a known total; otherwise at each thousand, from ten thousand on at
/// each ten thousand, and so on. In either case at least a thousand steps lie between two lines.
fn should_log(before: u64, done: u64, total: Option<u64>) -> bool {
    let power_of_ten = 10u64.saturating_pow(done.max(1).ilog10());
    let step = total.map_or(power_of_ten, |total| total.div_ceil(10)).max(1_000);
    before / step != done / step
}

/// Writes the steps per second, without fractions.
fn rate(state: &ProgressState, text: &mut dyn std::fmt::Write) {
    // Writing to a text cannot fail.
    let _ = write!(text, "{:.0}/s", state.per_sec());
}
