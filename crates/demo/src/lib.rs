//! `agora demo seed`: a made-up network, to measure with and to try the product out.
//!
//! | module | what it makes |
//! |---|---|
//! | `random` | numbers that are the same everywhere, skewed as life is |
//! | `people` | accounts, and who follows whom |
//! | `posts` | posts, and who likes and comments on them |
//! | `words`, `vocabulary` | names and texts |
//! | `catalog` | products |
//! | `rows` | all of it as rows |
//!
//! The year has three parts: people join, then they follow each other, then they post. So nobody ever did what they
//! could not have done at that moment. Nothing is kept that grows with the posts: likes and comments are made by
//! going through the posts again, which come out the same each time.

#![forbid(unsafe_code)]

use std::sync::Arc;

use agora_config::Config;
use agora_database::Table;
use agora_domain::accounts::{Password, PasswordHasher};
use agora_domain::limits::Requester;
use agora_operations::background::Background;
use agora_operations::context::OperatorContext;
use agora_operations::progress::{Interrupt, Progress};
use agora_operations::{data_dir, open};
use agora_security::BcryptHasher;
use anyhow::{Result, ensure};
use clap::{Args, value_parser};
use tokio::task;

use self::posts::Network;

mod catalog;
mod people;
mod posts;
mod random;
mod rows;
#[cfg(test)]
mod tests;
// Formatted, each word would have a line of its own.
#[rustfmt::skip]
mod vocabulary;
mod words;

/// The password of every account.
const PASSWORD: &str = "demo password";

/// The most posts that fit in the time.
const MOST_POSTS: u64 = 10_000_000;

/// The database, as it is named to an operator.
const DATABASE: &str = "the database";

/// What `agora demo seed` takes.
#[derive(Debug, Args)]
pub struct SeedArguments {
    /// How many posts to make
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = value_parser!(u64).range(..=MOST_POSTS))]
    posts: u64,
    /// How many ordinary accounts to make; some with fixed names, for benchmarks, come on top
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = value_parser!(u64).range(people::USERS))]
    users: u64,
    /// The seed of the random number generator
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Fills an empty database with a made-up network; returns what to tell the operator.
///
/// # Errors
/// When the database is not empty, or could not be filled. It is then what it was.
pub async fn seed(config: &Config, arguments: SeedArguments, interrupt: Interrupt) -> Result<String> {
    let mut progress = Progress::new(interrupt);
    let data_dir = data_dir::prepare(&config.data_dir)?;
    let database = open::database(config, &data_dir).await?;
    let mut load = database.load().await.operator_context(DATABASE)?;
    let is_empty = load.contents().is_empty().await.operator_context(DATABASE)?;
    ensure!(is_empty, "the database is not empty: name a new one (AGORA_DATABASE_URL, AGORA_DATA_DIR)");
    // No image belongs to the network, but a service that can be saved has a place for them.
    open::images(config, &data_dir).await?;

    let password = Password::parse(PASSWORD).map_err(|violation| anyhow::anyhow!("{violation}"))?;
    let hash = BcryptHasher::new(config.bcrypt_cost, 1, 0).hash(&password, &Requester::local()).await?;
    let SeedArguments { posts, users, seed } = arguments;
    let users = usize::try_from(users)?;
    let (network, total) = task::spawn_blocking(move || {
        let network = Network::new(seed, users, posts);
        let total = network.count();
        (Arc::new(network), total)
    })
    .await?;
    progress.phase("rows", Some(total));
    // Rows are made while others are written.
    let (network, maker) = (Arc::clone(&network), network);
    let mut made = Background::begin(move |take| {
        maker.rows(&hash, &mut |rows| {
            ensure!(take(rows), "the rows are not wanted any more");
            Ok(())
        })
    });
    let mut counts = Table::ALL.map(|table| (table, 0));
    while let Some(rows) = made.next().await? {
        let (table, count) = (rows.table(), u64::try_from(rows.len())?);
        load.insert(rows).await.operator_context(DATABASE)?;
        counts.iter_mut().filter(|(counted, _)| *counted == table).for_each(|(_, sum)| *sum += count);
        progress.advance(count)?;
    }
    load.commit().await.operator_context(DATABASE)?;
    Ok(summary(&network, &counts))
}

/// Returns what was made, in words.
fn summary(network: &Network, counts: &[(Table, u64)]) -> String {
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let mut told = format!("Made {total} rows. The last are of 2026-06-30.");
    for (table, count) in counts.iter().filter(|(_, count)| *count > 0) {
        told += &format!("\n  {:<18}{count:>12}", table.name());
    }
    let busiest = network.people.posters.first().map_or(0, |user| *user as usize);
    let name = network.names().nth(busiest).map(|(name, _)| name).unwrap_or_default();
    told + &format!(
        "\nEvery account has the password \"{PASSWORD}\", such as {name}, who posts most, reader_10_1, who follows 10, \
         and writer_1."
    )
}
