//! Compares follows of one user by many accounts at the same time with follows of different users.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};

use crate::api::Request;
use crate::check;
use crate::check::Check;
use crate::network::{Accounts, me};
use crate::options::Options;
use crate::report::Report;
use crate::round;
use crate::service::{SeededDatabase, Service};
use crate::supervisor::Supervisor;
use crate::table::{Cell, Table, median};
use crate::workloads::Traffic;

/// The number of accounts that follow.
const FOLLOWERS: usize = 64;

/// Measures both, alternately.
pub(crate) fn run(supervisor: &Arc<Supervisor>, options: &Options, report: &mut Report) -> Result<()> {
    for kind in options.kinds() {
        let place = SeededDatabase::seeded(supervisor, options, kind, options.size(), 4)?;
        let service = place.serve()?;
        let accounts = Accounts { service: &service };
        let (followers, followed) = (accounts.readers(10, FOLLOWERS)?, accounts.writers(FOLLOWERS)?);
        let followed = followed.iter().map(|token| me(&service.api, token)).collect::<Result<Vec<_>>>()?;
        let checker = service.log_in_as("hermit")?;
        let one = followed.first().context("nobody to follow")?;
        let each = toggles(&service, &followers, followed.iter(), &checker)?;
        let same = toggles(&service, &followers, std::iter::repeat(one), &checker)?;
        let mut rounds = [Vec::new(), Vec::new()];
        for _ in 0..options.rounds {
            for (traffic, rounds) in [&each, &same].into_iter().zip(&mut rounds) {
                rounds.push(round::service((&place, &service), supervisor, traffic, options.load())?);
            }
        }
        let [each, same] = rounds;
        let columns = ["follow and unfollow", "req/s", "p50 ms", "p99 ms", "errors", "of the first"];
        let mut table = Table::new(format!("Follows on {}", kind.name()), &columns);
        let ratios = each.iter().zip(&same).map(|(each, same)| same.result.rate() / each.result.rate());
        let ratio = median(ratios);
        for (name, rounds, ratio) in [("each another user", &each, None), ("all the same user", &same, ratio)] {
            let middle = |figure: fn(&round::Round) -> f64| Cell::from(median(rounds.iter().map(figure)));
            table.row(vec![
                name.into(),
                middle(|round| round.result.rate()),
                middle(|round| round.result.p50 as f64 / 1e3),
                middle(|round| round.result.p99 as f64 / 1e3),
                (rounds.iter().map(|round| round.errors).sum::<u64>() as f64).into(),
                ratio.into(),
            ]);
        }
        report.add(table)?;
    }
    Ok(())
}

/// Prepares requests in which each account repeatedly follows and unfollows a user. The checks use another account.
fn toggles<'a>(
    service: &Service,
    followers: &[String],
    followed: impl Iterator<Item = &'a String>,
    checker: &str,
) -> Result<Traffic> {
    let pairs: Vec<_> = followers.iter().zip(followed).collect();
    let toggle =
        |(token, user): &(&String, &String)| Request::post(format!("/api/follow/follow/{user}"), token.as_str(), None);
    let requests: Vec<Request> = pairs.iter().map(toggle).collect();
    for request in &requests {
        service.api.expect(&Request { method: "DELETE", ..request.clone() })?;
        for message in [check::FOLLOWED, check::UNFOLLOWED] {
            let answer = service.api.expect(request)?;
            ensure!(answer.body["message"] == message, "{}: {}", request.path, answer.text);
        }
    }
    let users = pairs.into_iter().map(|(_, user)| user.clone()).collect();
    let check = Check::Follows { token: checker.to_owned(), users };
    Ok(Traffic { requests, check, size: None })
}
