//! `agora doctor`: checks whether the service can run on this host. It changes nothing, and a service may be running.

mod clock;
mod configuration;
mod database;
mod directory;
mod images;
mod mail;

use std::fmt::Display;
use std::path::PathBuf;

use agora_config::{Config, Loaded, Setting};
use anyhow::Result;

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// As it should be.
    Ok,
    /// The service works, but the operator should know of it.
    Warning,
    /// The service does not start, or a part of it does not work.
    Failed,
}

/// The result of a check, and the text for the operator: what was found and how to fix it.
type Finding = (State, String);

fn ok(text: impl Into<String>) -> Finding {
    (State::Ok, text.into())
}

fn warning(text: impl Into<String>) -> Finding {
    (State::Warning, text.into())
}

fn failed(text: impl Into<String>) -> Finding {
    (State::Failed, text.into())
}

/// Runs all checks and passes a line for each finding to `say`; returns whether nothing has failed.
///
/// # Errors
/// Those of `say`.
pub async fn examine(loaded: &Loaded, say: impl Fn(&str) -> Result<()>) -> Result<bool> {
    let mut worst = State::Ok;
    let mut tell = |subject: &str, findings: Vec<Finding>| {
        findings.into_iter().try_for_each(|(state, text)| {
            worst = worst.max(state);
            let state = match state {
                State::Ok => "ok",
                State::Warning => "warning",
                State::Failed => "failed",
            };
            say(&format!("{state:8} {subject}: {text}"))
        })
    };
    tell("configuration", configuration::findings(loaded))?;
    tell("open files", vec![configuration::open_files(&loaded.best_guess)])?;
    tell("addresses", configuration::addresses(loaded))?;
    tell("data directory", vec![directory::directory(loaded)])?;
    tell("signing secret", vec![directory::secret(loaded)])?;
    let (findings, of_database) = database::findings(loaded).await;
    tell("database", findings)?;
    let (finding, of_images) = images::finding(loaded).await;
    tell("images", vec![finding])?;
    tell("mail", vec![mail::finding(loaded).await])?;
    tell("clock", clock::findings(&[of_database, of_images]))?;
    tell("free space", directory::space(&loaded.best_guess))?;
    say(match worst {
        State::Ok => "No problems found.",
        State::Warning => "The service can work; see the warnings.",
        State::Failed => "Some checks failed: see above.",
    })?;
    Ok(worst < State::Failed)
}

/// Returns the absolute path of the data directory, which need not exist.
fn data_dir(config: &Config) -> PathBuf {
    std::path::absolute(&config.data_dir).unwrap_or_else(|_| config.data_dir.clone())
}

/// Returns a failure if one of the settings is invalid, so that it is unknown what to check.
fn unclear(loaded: &Loaded, settings: &[&Setting]) -> Option<Finding> {
    let setting = settings.iter().find(|setting| !loaded.is_certain(setting))?;
    Some(failed(format!("not checked, since the value of {} is unknown: see the configuration", setting.variable())))
}

/// Returns the finding for a file or directory that does not exist: fine if the first start can create it, otherwise a failure
/// that tells what to create by hand.
fn absent(shown: impl Display, can_be_made: bool, by_hand: &str) -> Finding {
    match can_be_made {
        true => ok(format!("{shown} does not exist yet: the first start creates it")),
        false => {
            failed(format!("{shown} does not exist and cannot be created: create {by_hand} for the service's user"))
        }
    }
}
