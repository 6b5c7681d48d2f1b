//! What is driven: for each work its requests, what must come back, and what is compared with it.

use std::ops::RangeInclusive;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::api::{Answer, Api, Request};
use crate::check;
use crate::check::Check;
use crate::network::{Dice, People, Sample};
use crate::script::Choice;

/// How many accounts share a work.
pub(crate) const ACCOUNTS: usize = 32;

/// How many posts each account likes that pgbench likes too.
const LIKED_EACH: usize = 8;

/// The entries of a page.
pub(crate) const PAGE: u64 = 20;

/// Exactly so many.
const fn exactly(count: u64) -> RangeInclusive<u64> {
    count..=count
}

/// A path of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Subject {
    /// Post by id
    Post,
    /// First page of the feed of those who follow 20
    #[value(name = "feed-20")]
    Feed20,
    /// First page of the feed of those who follow 1,000
    #[value(name = "feed-1000")]
    Feed1000,
    /// First page of comments
    Comments,
    /// First page of a user's posts
    UserPosts,
    /// First page of the public timeline
    Public,
    /// Profile by id
    Profile,
    /// Like and unlike
    Like,
    /// New post
    NewPost,
}

impl Subject {
    /// All, reads first: what is written does not change them.
    pub(crate) const PATHS: [Self; 9] = [
        Self::Post,
        Self::Feed20,
        Self::Feed1000,
        Self::Comments,
        Self::UserPosts,
        Self::Public,
        Self::Profile,
        Self::Like,
        Self::NewPost,
    ];

    /// Returns its name, for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Post => "post by id",
            Self::Feed20 => "feed, 20 followed",
            Self::Feed1000 => "feed, 1,000 followed",
            Self::Comments => "comments page",
            Self::UserPosts => "a user's posts page",
            Self::Public => "public timeline",
            Self::Profile => "profile by id",
            Self::Like => "like and unlike",
            Self::NewPost => "new post",
        }
    }

    /// Returns its name, for files.
    pub(crate) fn slug(self) -> &'static str {
        match self {
            Self::Post => "post",
            Self::Feed20 => "feed-20",
            Self::Feed1000 => "feed-1000",
            Self::Comments => "comments",
            Self::UserPosts => "user-posts",
            Self::Public => "public",
            Self::Profile => "profile",
            Self::Like => "like",
            Self::NewPost => "new-post",
        }
    }

    /// Makes the work, after looking at each answer once.
    pub(crate) fn prepare(self, people: &People<'_>, sample: &Sample) -> Result<Work> {
        let api = &people.service.api;
        match self {
            Self::Post => posts(api, &people.readers(20, ACCOUNTS)?, sample),
            Self::Feed20 => feed(api, &people.readers(20, ACCOUNTS)?),
            Self::Feed1000 => feed(api, &people.readers(1000, ACCOUNTS)?),
            Self::Comments => comments(api, &people.readers(20, ACCOUNTS)?, sample),
            Self::UserPosts => posts_of_user(api, &people.readers(20, ACCOUNTS)?, sample),
            Self::Public => public(api, &people.readers(20, ACCOUNTS)?),
            Self::Profile => profiles(api, &people.readers(20, ACCOUNTS)?, sample),
            Self::Like => likes(api, &people.readers(20, ACCOUNTS + 1)?, sample),
            Self::NewPost => new_posts(api, &people.writers(ACCOUNTS + 1)?),
        }
    }
}

/// What is sent to the service, and what must come back.
pub(crate) struct Traffic {
    /// What wrk sends, in turns.
    pub(crate) requests: Vec<Request>,
    /// How answers are checked.
    pub(crate) check: Check,
    /// The bytes of an answer, when they are known.
    pub(crate) size: Option<Bytes>,
}

/// How large answers are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bytes {
    /// On average.
    pub(crate) mean: f64,
    /// From the smallest to the largest.
    pub(crate) spread: f64,
}

/// A work, ready to be driven and to be compared.
pub(crate) struct Work {
    pub(crate) traffic: Traffic,
    /// What pgbench does, too: groups of requests that belong together.
    pub(crate) groups: Vec<Vec<Request>>,
    /// How pgbench chooses among them.
    pub(crate) choice: Choice,
    /// An answer of middling size.
    pub(crate) typical: Answer,
}

/// Reads, after each was done once and looked at.
pub(crate) fn reads(api: &Api, requests: Vec<Request>, verify: impl Fn(usize, &Value) -> Result<()>) -> Result<Work> {
    let (mut answers, mut expected) = (Vec::new(), Vec::new());
    for (number, request) in requests.iter().enumerate() {
        let answer = api.expect(request)?;
        check::verify_success(&answer.body)
            .and_then(|()| verify(number, &answer.body["data"]))
            .with_context(|| format!("{}: {}", request.path, answer.text))?;
        expected.push((request.clone(), answer.body.clone()));
        answers.push(answer);
    }
    let groups = requests.iter().map(|request| vec![request.clone()]).collect();
    work(requests, groups, Choice::Any, Check::Same(expected), answers)
}

fn work(
    requests: Vec<Request>,
    groups: Vec<Vec<Request>>,
    choice: Choice,
    check: Check,
    mut answers: Vec<Answer>,
) -> Result<Work> {
    ensure!(!answers.is_empty(), "the network has nothing of the kind");
    let mean = answers.iter().map(|answer| answer.size as f64).sum::<f64>() / answers.len() as f64;
    answers.sort_by_key(|answer| answer.size);
    let spread = answers.last().map_or(0, |answer| answer.size) - answers.first().map_or(0, |answer| answer.size);
    let size = Bytes { mean, spread: spread as f64 };
    let typical = answers.swap_remove(answers.len() / 2);
    Ok(Work { traffic: Traffic { requests, check, size: Some(size) }, groups, choice, typical })
}

/// Returns each post by another account in turn.
pub(crate) fn posts(api: &Api, tokens: &[String], sample: &Sample) -> Result<Work> {
    let pairs = sample.posts.iter().zip(tokens.iter().cycle());
    let requests = pairs.map(|(post, token)| Request::get(format!("/api/posts/by-id/{post}"), token)).collect();
    reads(api, requests, |number, data| check::verify_post(data, sample.posts.get(number)))
}

/// Returns the first page of each account's feed.
pub(crate) fn feed(api: &Api, tokens: &[String]) -> Result<Work> {
    let first = |token: &String| Request::get(format!("/api/posts/following/all?size={PAGE}"), token);
    reads(api, tokens.iter().map(first).collect(), |_, data| check::verify_posts(data, exactly(PAGE)))
}

/// Returns a later page of each account's feed, of those that have it.
pub(crate) fn feed_page(api: &Api, tokens: &[String], page: usize) -> Result<Option<Work>> {
    let mut requests = Vec::new();
    for token in tokens {
        let mut request = Some(Request::get(format!("/api/posts/following/all?size={PAGE}"), token));
        for _ in 1..page {
            let Some(read) = request else { break };
            request = api.expect(&read)?.next.map(|path| Request::get(path, token));
        }
        requests.extend(request);
    }
    let full = |data: &Value| check::verify_posts(data, 1..=PAGE);
    (!requests.is_empty()).then(|| reads(api, requests, |_, data| full(data))).transpose()
}

/// Returns the first page of the posts of the busiest authors.
pub(crate) fn posts_of_user(api: &Api, tokens: &[String], sample: &Sample) -> Result<Work> {
    let pairs = sample.authors.iter().zip(tokens.iter().cycle());
    let path = |author: &str| format!("/api/posts/user/{author}?size={PAGE}");
    let requests = pairs.map(|((author, _), token)| Request::get(path(author), token)).collect();
    // What only followers may view comes on top of what was counted.
    reads(api, requests, |_, data| check::verify_posts(data, 1..=PAGE))
}

/// Returns the first page of the public timeline, as each account sees it.
fn public(api: &Api, tokens: &[String]) -> Result<Work> {
    let first = |token: &String| Request::get(format!("/api/posts/public?size={PAGE}"), token);
    reads(api, tokens.iter().map(first).collect(), |_, data| check::verify_posts(data, exactly(PAGE)))
}

/// Returns the profiles of the busiest authors.
fn profiles(api: &Api, tokens: &[String], sample: &Sample) -> Result<Work> {
    let pairs = sample.authors.iter().zip(tokens.iter().cycle());
    let path = |author: &str| format!("/api/users/{author}/profile");
    let requests = pairs.map(|((author, _), token)| Request::get(path(author), token)).collect();
    reads(api, requests, |number, data| check::verify_profile(data, sample.authors.get(number).map(|(id, _)| id)))
}

/// Returns the first page of likes of the posts that have the most.
pub(crate) fn likers(api: &Api, tokens: &[String], sample: &Sample) -> Result<Work> {
    let pairs = sample.liked.iter().zip(tokens.iter().cycle());
    let path = |post: &str| format!("/api/posts/{post}/likes?size={PAGE}");
    let requests = pairs.map(|((post, _), token)| Request::get(path(post), token)).collect();
    reads(api, requests, |number, data| match sample.liked.get(number) {
        Some((_, count)) => check::verify_likers(data, (*count).min(PAGE)),
        None => bail!("one more than asked for"),
    })
}

/// Returns the first page of comments of the posts that have the most.
pub(crate) fn comments(api: &Api, tokens: &[String], sample: &Sample) -> Result<Work> {
    let pairs = sample.commented.iter().zip(tokens.iter().cycle());
    let path = |post: &str| format!("/api/comments/all/{post}?size={PAGE}");
    let requests = pairs.map(|((post, _), token)| Request::get(path(post), token)).collect();
    reads(api, requests, |number, data| match sample.commented.get(number) {
        Some((post, count)) => check::verify_comments(data, post, exactly((*count).min(PAGE))),
        None => bail!("one more than asked for"),
    })
}

/// Each account likes and unlikes posts; the last one's likes are checked.
fn likes(api: &Api, tokens: &[String], sample: &Sample) -> Result<Work> {
    let (checker, tokens) = tokens.split_last().context("there are no accounts")?;
    let like = |post: &String, token: &String| Request::post(format!("/api/posts/like/{post}"), token, None);
    let mut dice = Dice::new(2);
    let mut groups = Vec::new();
    let mut requests = Vec::new();
    let mut answers = Vec::new();
    for token in tokens {
        let mut posts = sample.posts.clone();
        dice.shuffle(&mut posts);
        for post in posts.iter().take(LIKED_EACH) {
            let request = like(post, token);
            api.expect(&Request { method: "DELETE", ..request.clone() })?;
            for message in [check::LIKED, check::UNLIKED] {
                let answer = api.expect(&request)?;
                ensure!(answer.body["message"] == message, "{}: {}", request.path, answer.text);
                answers.push(answer);
            }
            groups.push(vec![request.clone(), request]);
        }
        requests.extend(posts.iter().take(4 * LIKED_EACH).map(|post| like(post, token)));
    }
    dice.shuffle(&mut requests);
    let check = Check::Likes { token: checker.clone(), posts: sample.posts.clone() };
    work(requests, groups, Choice::OfOwnUser(tokens.len()), check, answers)
}

/// Each account comments on posts; what the last one writes is checked.
pub(crate) fn new_comments(people: &People<'_>, sample: &Sample) -> Result<Traffic> {
    let api = &people.service.api;
    let tokens = people.readers(20, ACCOUNTS + 1)?;
    let (checker, tokens) = tokens.split_last().context("there are no accounts")?;
    let comment = |(post, token): (&String, &String)| {
        let body = json!({ "postId": post, "content": "A comment as people write them: a sentence, and no more." });
        Request::post("/api/comments/create", token, Some(&body))
    };
    let requests: Vec<Request> = sample.posts.iter().zip(tokens.iter().cycle()).map(comment).collect();
    for request in &requests {
        let answer = api.expect(request)?;
        ensure!(answer.body["message"] == check::COMMENTED, "{}: {}", request.path, answer.text);
    }
    let check = Check::Posts { token: checker.clone(), author: crate::network::me(api, checker)? };
    Ok(Traffic { requests, check, size: None })
}

/// Returns each account writes; what the last one writes is checked.
fn new_posts(api: &Api, tokens: &[String]) -> Result<Work> {
    let (checker, tokens) = tokens.split_last().context("there are no accounts")?;
    let text = "A post of ordinary length, as people write them: a sentence or two, and then nothing more to say.";
    let write = |token: &String| Request::post("/api/posts/create", token, Some(&json!({ "text": text })));
    let requests: Vec<Request> = tokens.iter().map(write).collect();
    let answers = requests.iter().map(|request| api.expect(request)).collect::<Result<_>>()?;
    let groups = requests.iter().map(|request| vec![request.clone()]).collect();
    let check = Check::Posts { token: checker.clone(), author: crate::network::me(api, checker)? };
    work(requests, groups, Choice::Any, check, answers)
}
