//! The seeded network as its members see it: accounts to act as, and posts to ask for.

use std::cmp::Reverse;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::api::{Api, Request};
use crate::service::Service;

/// How many authors are looked at to choose posts.
const AUTHORS: usize = 400;

/// How many posts of an author are looked at.
const POSTS_OF_AUTHOR: usize = 100;

/// How many posts are asked for by key.
pub(crate) const SAMPLE: usize = 256;

/// How many posts are asked for their comments or likes: those that have the most.
const POPULAR: usize = 64;

/// Numbers that look random and are the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number from 0 up to this, exclusive (SplitMix64).
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = (mixed ^ (mixed >> 31)) >> 11;
        usize::try_from(mixed).unwrap_or_default() % end.max(1)
    }

    /// Mixes the order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for place in (1..items.len()).rev() {
            items.swap(place, self.below(place + 1));
        }
    }
}

/// Public posts, from all over the network.
pub(crate) struct Sample {
    /// Any.
    pub(crate) posts: Vec<String>,
    /// With the most comments, and how many.
    pub(crate) commented: Vec<(String, u64)>,
    /// With the most likes, and how many.
    pub(crate) liked: Vec<(String, u64)>,
    /// Authors with many posts that anybody may view, and how many.
    pub(crate) authors: Vec<(String, u64)>,
}

impl Sample {
    /// Looks around as somebody who follows many.
    pub(crate) fn taken(service: &Service) -> Result<Self> {
        let api = &service.api;
        let tokens = People { service }.readers(1000, 1)?;
        let token = tokens.first().context("a reader")?;
        let mut dice = Dice::new(1);
        let mut authors = followed(api, token)?.iter().map(id).collect::<Result<Vec<_>>>()?;
        dice.shuffle(&mut authors);
        authors.truncate(AUTHORS);
        let (mut found, mut productive) = (Vec::new(), Vec::new());
        for author in authors {
            let posts = api.data(&format!("/api/posts/user/{author}?size={POSTS_OF_AUTHOR}"), token)?;
            let mut public: Vec<Value> = posts.as_array().context("a list of posts")?.clone();
            public.retain(|post| post["visibility"] == "PUBLIC");
            productive.push((author, u64::try_from(public.len())?));
            dice.shuffle(&mut public);
            // A quiet author's posts count as much as a busy one's, within limits.
            public.truncate(8);
            found.append(&mut public);
        }
        ensure!(!found.is_empty(), "there are no public posts");
        dice.shuffle(&mut found);
        let counted = |count: &str| {
            let number = |post: &Value| Ok((id(post)?, post[count].as_u64().context("a count")?));
            Ok::<_, anyhow::Error>(most(found.iter().map(number).collect::<Result<_>>()?))
        };
        let (commented, liked) = (counted("commentCount")?, counted("likeCount")?);
        let posts = found.iter().take(SAMPLE).map(id).collect::<Result<_>>()?;
        Ok(Self { posts, commented, liked, authors: most(productive) })
    }
}

/// Returns those with the greatest numbers, without those that have nothing.
fn most(mut counted: Vec<(String, u64)>) -> Vec<(String, u64)> {
    counted.retain(|(_, count)| *count > 0);
    counted.sort_by_key(|(_, count)| Reverse(*count));
    counted.truncate(POPULAR);
    counted
}

/// Returns the id of what an answer shows.
pub(crate) fn id(value: &Value) -> Result<String> {
    Ok(value["id"].as_str().context("there is no id")?.to_owned())
}

/// Returns the account of a token.
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
pub(crate) struct People<'a> {
    pub(crate) service: &'a Service,
}

impl People<'_> {
    /// Returns those who follow so many.
    pub(crate) fn readers(&self, followed: u32, count: usize) -> Result<Vec<String>> {
        self.service.log_in(&format!("reader_{followed}"), count)
    }

    /// Returns those who follow 5,000, most of whom never post.
    pub(crate) fn silent(&self, count: usize) -> Result<Vec<String>> {
        self.service.log_in("silent_5000", count)
    }

    /// Returns ordinary accounts whom many follow, 1,000 at most.
    pub(crate) fn popular(&self, count: usize) -> Result<Vec<String>> {
        let reader = self.service.log_in_as("reader_1000_1")?;
        let mut users = followed(&self.service.api, &reader)?;
        ensure!(users.len() >= count, "{} accounts instead of {count}", users.len());
        users.truncate(count);
        users.iter().map(|user| self.service.log_in_as(user["username"].as_str().context("a name")?)).collect()
    }

    /// Returns those who write.
    pub(crate) fn writers(&self, count: usize) -> Result<Vec<String>> {
        self.service.log_in("writer", count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dice_fall_alike_and_everywhere() {
        let thrown = |seed| {
            (0..1000)
                .map({
                    let mut dice = Dice::new(seed);
                    move |_| dice.below(6)
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(thrown(1), thrown(1));
        assert_ne!(thrown(1), thrown(2));
        assert!((0..6).all(|face| thrown(1).iter().filter(|thrown| **thrown == face).count() > 100));
    }

    #[test]
    fn the_most_come_first_and_nothing_does_not_count() {
        let counted = [("a", 1), ("b", 0), ("c", 3)].map(|(id, count)| (id.to_owned(), count));
        assert_eq!(most(counted.to_vec()), [("c".to_owned(), 3), ("a".to_owned(), 1)]);
    }
}
