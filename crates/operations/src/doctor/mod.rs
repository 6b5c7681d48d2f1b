//! `agora doctor`: whether the service can work here. Nothing is changed, and a service may run meanwhile.

mod clock;
mod database;
mod directory;
mod images;
mod listening;
mod settings;
mod space;

use std::fmt;
use std::path::PathBuf;

use anyhow::Result;

use agora_config::{Config, Loaded, Setting};

/// How something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// As it should be.
    Ok,
    /// The service works, but somebody should know of it.
    Warning,
    /// The service does not start, or not everything works.
    Failed,
}

/// What was found of something, and what to do about it.
#[derive(Debug)]
struct Finding {
    state: State,
    subject: &'static str,
    text: String,
}

impl Finding {
    fn ok(subject: &'static str, text: impl Into<String>) -> Self {
        Self { state: State::Ok, subject, text: text.into() }
    }

    fn warning(subject: &'static str, text: impl Into<String>) -> Self {
        Self { state: State::Warning, subject, text: text.into() }
    }

    fn failed(subject: &'static str, text: impl Into<String>) -> Self {
        Self { state: State::Failed, subject, text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Failed => "failed",
        };
        write!(f, "{state:8} {}: {}", self.subject, self.text)
    }
}

/// Looks at everything and says what it finds, a line for each thing; whether nothing has failed.
///
/// # Errors
/// When it cannot be said.
pub async fn examine(loaded: &Loaded, say: impl Fn(&str) -> Result<()>) -> Result<bool> {
    let mut worst = State::Ok;
    let mut tell = |findings: Vec<Finding>| {
        findings.iter().try_for_each(|finding| {
            worst = worst.max(finding.state);
            say(&finding.to_string())
        })
    };
    tell(settings::findings(loaded))?;
    tell(listening::findings(loaded))?;
    tell(directory::findings(loaded))?;
    let (findings, of_database) = database::findings(loaded).await;
    tell(findings)?;
    let (findings, of_images) = images::findings(loaded).await;
    tell(findings)?;
    tell(clock::findings(&[of_database, of_images]))?;
    tell(space::findings(loaded.best_guess()))?;
    say(match worst {
        State::Ok => "Everything is as it should be.",
        State::Warning => "The service can work; see the warnings.",
        State::Failed => "Something is wrong: see what failed.",
    })?;
    Ok(worst < State::Failed)
}

/// Returns the data directory as an absolute path, which need not be there.
fn data_dir(config: &Config) -> PathBuf {
    std::path::absolute(&config.data_dir).unwrap_or_else(|_| config.data_dir.clone())
}

/// Returns what is to be said where a bad setting hides what would be looked at.
fn unknown(subject: &'static str, setting: &Setting) -> Finding {
    Finding::failed(subject, format!("not looked at, since {} is not clear: see the configuration", setting.variable()))
}
