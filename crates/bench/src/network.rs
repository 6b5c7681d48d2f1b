//! Accounts and posts of the seeded network, found through the API.

use std::cmp::Reverse;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::api::{Api, Request};
use crate::service::Service;

/// The number of authors whose posts are candidates for the sample.
const AUTHORS: usize = 400;

/// The number of posts per author that are candidates.
const POSTS_OF_AUTHOR: usize = 100;

/// The number of posts that are read by id.
pub(crate) const SAMPLE: usize = 256;

/// The number of posts whose comments or likes are read: those with the most.
const POPULAR: usize = 64;

/// A pseudorandom number generator (SplitMix64), which yields the same numbers in every run.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number from 0 to `end`, exclusive.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = (mixed ^ (mixed >> 31)) >> 11;
        usize::try_from(mixed).unwrap_or_default() % end.max(1)
    }

    /// Shuffles the items.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for place in (1..items.len()).rev() {
            items.swap(place, self.below(place + 1));
        }
    }
}

/// A sample of public posts and their authors.
pub(crate) struct Sample {
    /// Random posts.
    pub(crate) posts: Vec<String>,
    /// The posts with the most comments, and their counts.
    pub(crate) commented: Vec<(String, u64)>,
    /// The posts with the most likes, and their counts.
    pub(crate) liked: Vec<(String, u64)>,
    /// The authors with the most public posts, and their counts.
    pub(crate) authors: Vec<(String, u64)>,
}

impl Sample {
    /// Takes a sample of the posts of those whom a reader of 1,000 accounts follows.
    pub(crate) fn taken(service: &Service) -> Result<Self> {
        let api = &service.api;
        let tokens = Accounts { service }.readers(1000, 1)?;
        let token = tokens.first().context("a reader")?;
        let mut rng = Rng::new(1);
        let mut authors = followed(api, token)?.iter().map(id).collect::<Result<Vec<_>>>()?;
        rng.shuffle(&mut authors);
        authors.truncate(AUTHORS);
        let (mut found, mut productive) = (Vec::new(), Vec::new());
        for author in authors {
            let posts = api.data(&format!("/api/posts/user/{author}?size={POSTS_OF_AUTHOR}"), token)?;
            let mut public: Vec<Value> = posts.as_array().context("a list of posts")?.clone();
            public.retain(|post| post["visibility"] == "PUBLIC");
            productive.push((author, u64::try_from(public.len())?));
            rng.shuffle(&mut public);
            // At most 8 posts per author, so that busy authors do not dominate the sample.
            public.truncate(8);
            found.append(&mut public);
        }
        ensure!(!found.is_empty(), "there are no public posts");
        rng.shuffle(&mut found);
        let counted = |count: &str| {
            let number = |post: &Value| Ok((id(post)?, post[count].as_u64().context("a count")?));
            Ok::<_, anyhow::Error>(most(found.iter().map(number).collect::<Result<_>>()?))
        };
        let (commented, liked) = (counted("commentCount")?, counted("likeCount")?);
        let posts = found.iter().take(SAMPLE).map(id).collect::<Result<_>>()?;
        Ok(Self { posts, commented, liked, authors: most(productive) })
    }
}

/// Returns the entries with the greatest counts, without those that have none.
fn most(mut counted: Vec<(String, u64)>) -> Vec<(String, u64)> {
    counted.retain(|(_, count)| *count > 0);
    counted.sort_by_key(|(_, count)| Reverse(*count));
    counted.truncate(POPULAR);
    counted
}

/// Returns the id of a JSON object.
pub(crate) fn id(value: &Value) -> Result<String> {
    Ok(value["id"].as_str().context("there is no id")?.to_owned())
}

/// Returns the id of a token's account.
pub(crate) fn me(api: &Api, token: &str) -> Result<String> {
    id(&api.data("/api/users/me", token)?)
}

/// Returns the users whom an account follows.
pub(crate) fn followed(api: &Api, token: &str) -> Result<Vec<Value>> {
    let mut followed = Vec::new();
    let mut page = Some(format!("/api/follow/followed/{}?size=100", me(api, token)?));
    while let Some(path) = page {
        let answer = api.expect(&Request::get(path, token))?;
        followed.extend_from_slice(answer.body["data"].as_array().context("a list of users")?);
        page = answer.next;
    }
    Ok(followed)
}

/// The accounts that the seed makes for measuring.
pub(crate) struct Accounts<'a> {
    pub(crate) service: &'a Service,
}

impl Accounts<'_> {
    /// Logs in readers who follow that many accounts; returns their tokens, as all these functions do.
    pub(crate) fn readers(&self, followed: u32, count: usize) -> Result<Vec<String>> {
        self.service.log_in(&format!("reader_{followed}"), count)
    }

    /// Logs in readers who follow 5,000 accounts, most of which have no posts.
    pub(crate) fn silent(&self, count: usize) -> Result<Vec<String>> {
        self.service.log_in("silent_5000", count)
    }

    /// Logs in ordinary accounts with many followers, at most 1,000.
    pub(crate) fn popular(&self, count: usize) -> Result<Vec<String>> {
        let reader = self.service.log_in_as("reader_1000_1")?;
        let mut users = followed(&self.service.api, &reader)?;
        ensure!(users.len() >= count, "{} accounts instead of {count}", users.len());
        users.truncate(count);
        users.iter().map(|user| self.service.log_in_as(user["username"].as_str().context("a name")?)).collect()
    }

    /// Logs in the accounts for writing.
    pub(crate) fn writers(&self, count: usize) -> Result<Vec<String>> {
        self.service.log_in("writer", count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_depend_on_the_seed_and_are_spread_evenly() {
        let thrown = |seed| {
            (0..1000)
                .map({
                    let mut rng = Rng::new(seed);
                    move |_| rng.below(6)
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(thrown(1), thrown(1));
        assert_ne!(thrown(1), thrown(2));
        assert!((0..6).all(|face| thrown(1).iter().filter(|thrown| **thrown == face).count() > 100));
    }

    #[test]
    fn the_greatest_counts_come_first_and_zeros_are_left_out() {
        let counted = [("a", 1), ("b", 0), ("c", 3)].map(|(id, count)| (id.to_owned(), count));
        assert_eq!(most(counted.to_vec()), [("c".to_owned(), 3), ("a".to_owned(), 1)]);
    }
}
