//! `agora doctor`: whether the service can work here. Nothing is changed, and a service may run meanwhile.

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

/// How something was found, and what to do about it.
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

/// Looks at everything and says what it finds, a line for each thing; returns whether nothing has failed.
///
/// # Errors
/// When it cannot be said.
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
fn unclear(loaded: &Loaded, settings: &[&Setting]) -> Option<Finding> {
    let setting = settings.iter().find(|setting| !loaded.is_certain(setting))?;
    Some(failed(format!("not looked at, since {} is not clear: see the configuration", setting.variable())))
}

/// Returns what is to be said of what is not there; without a way to make it, what is to be made by hand.
fn absent(shown: impl Display, can_be_made: bool, by_hand: &str) -> Finding {
    match can_be_made {
        true => ok(format!("{shown} is not there yet: the first start makes it")),
        false => {
            failed(format!("{shown} is not there and cannot be made: make {by_hand}, for the user of the service"))
        }
    }
}
