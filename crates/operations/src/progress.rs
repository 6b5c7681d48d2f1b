//! How far a long work is, and whether it is to go on.

use anyhow::{Result, ensure};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use tokio_util::sync::CancellationToken;

/// What is said of a work that a signal ended.
pub const INTERRUPTED: &str = "interrupted";

/// Cancels a work, which looks for it between two steps.
pub type Interrupt = CancellationToken;

/// The progress of a work, phase by phase: a bar on a terminal, some lines of the log elsewhere.
pub struct Progress {
    interrupt: Interrupt,
    is_shown: bool,
    /// Hidden where there is no terminal. It clears itself when the next takes its place, and at the end.
    bar: ProgressBar,
}

impl Progress {
    /// Shown on the standard error, from the first phase on.
    pub fn new(interrupt: Interrupt) -> Self {
        Self { interrupt, is_shown: true, bar: ProgressBar::hidden() }
    }

    /// Shown to nobody.
    pub(crate) fn hidden() -> Self {
        Self { interrupt: Interrupt::new(), is_shown: false, bar: ProgressBar::hidden() }
    }

    /// Begins the next phase, of so many steps if that is known.
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

    /// Some steps more are done.
    ///
    /// # Errors
    /// When the work is to end.
    pub fn advance(&mut self, steps: u64) -> Result<()> {
        let before = self.bar.position();
        self.bar.inc(steps);
        let (done, total) = (before + steps, self.bar.length());
        if self.is_shown && self.bar.is_hidden() && is_worth_a_line(before, done, total) {
            tracing::info!(done, total, "{}", self.bar.message());
        }
        ensure!(!self.interrupt.is_cancelled(), INTERRUPTED);
        Ok(())
    }
}

/// At each tenth of a known total, otherwise at each thousand, then ten thousand and so on; of little at none.
fn is_worth_a_line(before: u64, done: u64, total: Option<u64>) -> bool {
    let in_large = 10u64.saturating_pow(done.max(1).ilog10());
    let step = total.map_or(in_large, |total| total.div_ceil(10)).max(1_000);
    before / step != done / step
}

/// The steps in a second, without fractions.
fn rate(state: &ProgressState, text: &mut dyn std::fmt::Write) {
    // Writing to a text cannot fail.
    let _ = write!(text, "{:.0}/s", state.per_sec());
}
