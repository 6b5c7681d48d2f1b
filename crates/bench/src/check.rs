//! Checks of responses: once when a workload is prepared, and repeatedly while the service is under load.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::api::{Api, Request};
use crate::network::id;

/// The time between two requests of the checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The messages of responses to changes.
pub(crate) const LIKED: &str = "Post liked successfully";
pub(crate) const UNLIKED: &str = "Post unliked successfully";
pub(crate) const COMMENTED: &str = "Comment created successfully";
pub(crate) const FOLLOWED: &str = "Followed user successfully";
pub(crate) const UNFOLLOWED: &str = "Unfollowed user successfully";

/// Verifies the envelope of a read.
pub(crate) fn verify_success(body: &Value) -> Result<()> {
    let keys: Vec<&str> = body.as_object().context("no object")?.keys().map(String::as_str).collect();
    ensure!(keys == ["data", "message"] && body["message"] == "success", "not the envelope of a success");
    Ok(())
}

/// Verifies that a post is the expected one and complete.
pub(crate) fn verify_post(post: &Value, expected: Option<&String>) -> Result<()> {
    let found = id(post)?;
    ensure!(expected.is_none_or(|expected| *expected == found), "another post");
    let likers = post["likedBy"].as_array().context("no likers")?.len();
    let likes = post["likeCount"].as_u64().context("no number of likes")?;
    ensure!(u64::try_from(likers)? == likes.min(50), "{likers} likers for {likes} likes");
    ensure!(post["content"].is_string() && post["createdAt"].is_string(), "no content or time");
    ensure!(post["likedByMe"].is_boolean() && post["commentCount"].is_u64(), "no counts");
    id(&post["author"]).map(drop)
}

/// Verifies that a profile is that of the expected user.
pub(crate) fn verify_profile(profile: &Value, expected: Option<&String>) -> Result<()> {
    let found = id(profile)?;
    ensure!(expected.is_none_or(|expected| *expected == found), "another user");
    ensure!(profile["postCount"].is_u64() && profile["followerCount"].is_u64(), "no counts");
    Ok(())
}

/// Verifies that a list has as many entries as expected, distinct and ordered by time; returns them.
fn verify_order(list: &Value, counts: RangeInclusive<u64>, newest_first: bool) -> Result<&Vec<Value>> {
    let entries = list.as_array().context("no list")?;
    let count = u64::try_from(entries.len())?;
    ensure!(counts.contains(&count), "{count} entries instead of {counts:?}");
    let keys = entries.iter().map(|entry| Ok((entry["createdAt"].as_str().context("no time")?, id(entry)?)));
    let keys: Vec<(&str, String)> = keys.collect::<Result<_>>()?;
    let ordered = |pair: &[(&str, String)]| matches!(pair, [a, b] if if newest_first { a > b } else { a < b });
    ensure!(keys.windows(2).all(ordered), "not in order");
    verify_distinct(entries)?;
    Ok(entries)
}

fn verify_distinct(entries: &[Value]) -> Result<()> {
    let ids: BTreeSet<String> = entries.iter().map(id).collect::<Result<_>>()?;
    ensure!(ids.len() == entries.len(), "an entry occurs twice");
    Ok(())
}

/// Verifies a page of the users who like a post.
pub(crate) fn verify_likers(list: &Value, count: u64) -> Result<()> {
    let entries = list.as_array().context("no list")?;
    ensure!(u64::try_from(entries.len())? == count, "{} entries instead of {count}", entries.len());
    ensure!(entries.iter().all(|entry| entry["username"].is_string()), "no name");
    verify_distinct(entries)
}

/// Verifies a page of posts, newest first.
pub(crate) fn verify_posts(list: &Value, counts: RangeInclusive<u64>) -> Result<()> {
    verify_order(list, counts, true)?.iter().try_for_each(|post| verify_post(post, None))
}

/// Verifies a page of the comments on a post, oldest first.
pub(crate) fn verify_comments(list: &Value, post: &str, counts: RangeInclusive<u64>) -> Result<()> {
    for comment in verify_order(list, counts, false)? {
        ensure!(id(&comment["post"])? == post, "a comment on another post");
        ensure!(comment["content"].as_str().is_some_and(|content| !content.is_empty()), "no content");
        id(&comment["author"])?;
    }
    Ok(())
}

/// How responses are checked while the service is under load.
pub(crate) enum Check {
    /// Responses are the same as before.
    Same(Vec<(Request, Value)>),
    /// Posts that this account likes and unlikes show it.
    Likes { token: String, posts: Vec<String> },
    /// Users whom this account follows and unfollows show it.
    Follows { token: String, users: Vec<String> },
    /// Posts that this account writes can be read.
    Posts { token: String, author: String },
}

/// The number of requests of the checks, and of the errors that they found.
#[derive(Debug, Default)]
pub(crate) struct CheckResult {
    pub(crate) requests: u64,
    pub(crate) errors: u64,
}

impl Check {
    /// Checks responses until `stop` is set, and prints what is wrong.
    pub(crate) fn run(&self, api: &Api, stop: &AtomicBool) -> CheckResult {
        let mut checked = CheckResult::default();
        let mut number = 0;
        while !stop.load(Ordering::Relaxed) {
            let mut requests = 0;
            if let Err(error) = self.step(&mut Counted { api, requests: &mut requests }, number) {
                checked.errors += 1;
                crate::note(&format!("wrong answer: {error:#}"));
            }
            checked.requests += u64::from(requests);
            number += 1;
            thread::sleep(CHECK_INTERVAL * requests);
        }
        checked
    }

    fn step(&self, api: &mut Counted<'_>, number: usize) -> Result<()> {
        match self {
            Self::Same(expected) => {
                let Some((request, body)) = expected.get(number % expected.len().max(1)) else { return Ok(()) };
                let answer = api.send(request, 200)?;
                ensure!(answer == *body, "{}: {answer} instead of {body}", request.path);
                Ok(())
            }
            Self::Likes { token, posts } => {
                let Some(post) = posts.get(number % posts.len().max(1)) else { return Ok(()) };
                let like = Request::post(format!("/api/posts/like/{post}"), token, None);
                let look = Request::get(format!("/api/posts/by-id/{post}"), token);
                for (message, liked) in [(LIKED, true), (UNLIKED, false)] {
                    let answer = api.send(&like, 200)?;
                    ensure!(answer == json!({ "message": message, "data": null }), "{message}: {answer}");
                    let post = api.send(&look, 200)?;
                    ensure!(post["data"]["likedByMe"] == liked, "{message}, but it shows {post}");
                }
                Ok(())
            }
            Self::Follows { token, users } => {
                let Some(user) = users.get(number % users.len().max(1)) else { return Ok(()) };
                let follow = Request::post(format!("/api/follow/follow/{user}"), token, None);
                let look = Request::get(format!("/api/users/{user}/profile"), token);
                for (message, following) in [(FOLLOWED, true), (UNFOLLOWED, false)] {
                    let answer = api.send(&follow, 200)?;
                    ensure!(answer["message"] == message, "{message}: {answer}");
                    let profile = api.send(&look, 200)?;
                    ensure!(
                        profile["data"]["relationship"]["following"] == following,
                        "{message}, but it shows {profile}"
                    );
                    verify_profile(&profile["data"], Some(user))?;
                }
                Ok(())
            }
            Self::Posts { token, author } => {
                let text = format!("Written to be read again: number {number}.");
                let request = Request::post("/api/posts/create", token, Some(&json!({ "text": text })));
                let mut answer = api.send(&request, 201)?;
                ensure!(answer["message"] == "Post created successfully", "{answer}");
                let post = answer["data"].take();
                let right = post["content"] == text && post["author"]["id"] == **author && post["likeCount"] == 0;
                ensure!(right, "{text:?} became {post}");
                let found = api.send(&Request::get(format!("/api/posts/by-id/{}", id(&post)?), token), 200)?;
                ensure!(found["data"] == post, "{post} was read again as {found}");
                Ok(())
            }
        }
    }
}

/// A client that counts its requests and expects a status.
struct Counted<'a> {
    api: &'a Api,
    requests: &'a mut u32,
}

impl Counted<'_> {
    fn send(&mut self, request: &Request, status: u16) -> Result<Value> {
        *self.requests += 1;
        let answer = self.api.send(request)?;
        ensure!(answer.status == status, "{} {}: {} {}", request.method, request.path, answer.status, answer.text);
        Ok(answer.body)
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
