//! `agora demo seed`: generates a social network, for benchmarks and for trying out the product.
//!
//! | module | what it generates |
//! |---|---|
//! | `network` | accounts, follows, and posts with the number of their likes and comments |
//! | `words`, `vocabulary` | names and texts |
//! | `catalog` | products |
//! | `rows` | the rows of all tables |
//!
//! The generated year has three parts: accounts join, then they follow each other, then they post. So nobody does anything that
//! was impossible at that moment. The same program generates the same data from the same arguments; another release of it, or of
//! the crate `rand`, may generate other data.

#![forbid(unsafe_code)]

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
use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::task;

use self::network::Network;

mod catalog;
mod network;
mod rows;
#[cfg(test)]
mod tests;
// rustfmt would put each word on a separate line.
#[rustfmt::skip]
mod vocabulary;
mod words;

/// The password of every account.
const PASSWORD: &str = "demo password";

/// The most posts that fit into the generated year.
const MAX_POSTS: u64 = 10_000_000;

/// The name of the database in messages to the operator.
const DATABASE: &str = "the database";

/// What `agora demo seed` takes.
#[derive(Debug, Args)]
pub struct SeedArguments {
    /// The number of posts
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = value_parser!(u64).range(..=MAX_POSTS))]
    posts: u64,
    /// The number of ordinary accounts, besides those with fixed names for benchmarks
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = value_parser!(u64).range(network::USERS))]
    users: u64,
    /// The number of posts of one more account, `celebrity`, which likes every public post of the others
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = value_parser!(u64).range(..=MAX_POSTS))]
    celebrity: u64,
    /// The seed of the random number generator
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Fills an empty database with generated data; returns a text for the operator.
///
/// # Errors
/// When the database is not empty, or cannot be filled. It is then unchanged.
pub async fn seed(config: &Config, arguments: SeedArguments, interrupt: Interrupt) -> Result<String> {
    let mut progress = Progress::new(interrupt);
    let data_dir = data_dir::prepare(&config.data_dir)?;
    let database = open::database_to_fill(config, &data_dir).await?;
    let mut load = database.load().await.operator_context(DATABASE)?;
    let is_empty = load.contents().is_empty().await.operator_context(DATABASE)?;
    ensure!(is_empty, "the database is not empty: use a new one (AGORA_DATABASE_URL, AGORA_DATA_DIR)");
    // The data has no images, but `agora backup` requires an image store: opening it creates one.
    open::images(config, &data_dir).await?;

    let password = Password::parse(PASSWORD).map_err(|violation| anyhow::anyhow!("{violation}"))?;
    let hash = BcryptHasher::new(config.bcrypt_cost, 1, 0).hash(&password, &Requester::local()).await?;
    let SeedArguments { posts, users, celebrity, seed } = arguments;
    let users = usize::try_from(users)?;
    let mut random = StdRng::seed_from_u64(seed);
    let (network, mut random) =
        task::spawn_blocking(move || Network::new(users, celebrity, &mut random).map(|network| (network, random)))
            .await??;
    let busiest = network.posters.first().map(|user| words::username(*user)).unwrap_or_default();
    progress.phase("rows", None);
    // Rows are generated on one thread while others are written.
    let mut made = Background::begin(move |take| {
        rows::make(&network, posts, &hash, &mut random, &mut |rows| {
            ensure!(take(rows), "the receiver of the rows is gone");
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
    Ok(summary(&busiest, &counts))
}

/// Returns a text about what was generated.
fn summary(busiest: &str, counts: &[(Table, u64)]) -> String {
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let mut text = format!("Generated {total} rows, until 2026-06-30.");
    for (table, count) in counts.iter().filter(|(_, count)| *count > 0) {
        text += &format!("\n  {:<18}{count:>12}", table.name());
    }
    text + &format!(
        "\nEvery account has the password \"{PASSWORD}\", such as {busiest}, who posts most, reader_10_1, who follows 10, \
         and writer_1."
    )
}
