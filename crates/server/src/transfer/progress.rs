//! How far a long work is: a bar on a terminal, some lines of the log elsewhere.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};

/// The progress of a work, phase by phase.
pub(crate) struct Progress {
    phase: &'static str,
    bar: Option<ProgressBar>,
    done: u64,
    total: Option<u64>,
}

impl Progress {
    /// Shown on the standard error.
    pub(crate) fn new() -> Self {
        let bar = io::stderr().is_terminal().then(ProgressBar::no_length);
        Self { phase: "", bar, done: 0, total: None }
    }

    /// Begins the next phase, of so many steps if that is known.
    pub(crate) fn phase(&mut self, phase: &'static str, total: Option<u64>) {
        (self.phase, self.done, self.total) = (phase, 0, total);
        let Some(bar) = &self.bar else { return };
        bar.reset();
        let template = match total {
            Some(total) => {
                bar.set_length(total);
                "{msg} [{bar:32}] {human_pos}/{human_len} {per_sec} {eta} left"
            }
            None => "{msg} {spinner} {human_pos} {per_sec}",
        };
        // The templates above are well formed; if one were not, the usual look would do.
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(phase);
    }

    /// Some steps more are done.
    pub(crate) fn advance(&mut self, steps: u64) {
        let before = self.done;
        self.done += steps;
        match &self.bar {
            Some(bar) => bar.inc(steps),
            None if self.is_worth_a_line(before) => {
                tracing::info!(done = self.done, total = self.total, "{}", self.phase);
            }
            None => {}
        }
    }

    /// At each tenth of a known total, otherwise at each thousand; of little at none.
    fn is_worth_a_line(&self, before: u64) -> bool {
        let step = self.total.map_or(1_000, |total| total.div_ceil(10).max(1_000));
        before / step != self.done / step
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
