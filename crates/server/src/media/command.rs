//! The commands' arguments, and what they open.

use std::sync::Arc;

use agora_database::Task;
use agora_domain::media::MediaCheck;
use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};

use super::check;
use super::check::Check;
use crate::app;
use crate::config::Config;
use crate::progress::{Interrupt, Progress};
use crate::sweep::Sweep;
use crate::system::SystemClock;
use crate::transfer::OperatorContext;
use crate::transfer::command::expect_directory;

/// What `agora media` does.
#[derive(Debug, Subcommand)]
pub(crate) enum MediaCommand {
    /// Compare the images that are stored with those that posts and profiles name. The exit code is 1 when images are
    /// missing
    Check(CheckArguments),
}

/// What `agora media check` takes.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// Delete orphaned images older than an hour
    #[arg(long)]
    delete: bool,
    /// How many users are listed, those with the most bytes
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    top: usize,
}

/// `agora media`; what to tell the operator.
///
/// # Errors
/// See [`check::check`].
pub(crate) async fn run(config: &Config, command: MediaCommand, interrupt: Interrupt) -> Result<String> {
    let MediaCommand::Check(CheckArguments { delete, top }) = command;
    let database = app::open_existing_database(config).await?;
    let data_dir = std::path::absolute(&config.data_dir)?;
    expect_directory(&app::media_url(config, &data_dir)?).context("cannot open the image store (AGORA_MEDIA_URL)")?;
    let store = Arc::new(app::open_images(config, &data_dir).await?);
    let lock = if delete { database.try_lock(Task::Sweep).await.operator_context("the database")? } else { None };
    ensure!(!delete || lock.is_some(), "a node sweeps just now: try again when that is over");
    let (named, unnamed) = (database.named_images(), database.unnamed_images());
    let images = MediaCheck::new(store, named, unnamed, &SystemClock, Sweep::MIN_AGE_MILLIS);
    let check = Check { images, accounts: database.accounts(), top };
    check::check(&check, delete, Progress::new(interrupt)).await
}
