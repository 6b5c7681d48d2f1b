//! The workloads: their requests, the expected responses, and the requests that pgbench reproduces for comparison.

use std::ops::RangeInclusive;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::api::{Api, Request, Response};
use crate::check;
use crate::check::Check;
use crate::network::{Accounts, Rng, Sample};
use crate::script::Choice;

/// The number of accounts that send the requests of a workload.
pub(crate) const ACCOUNTS: usize = 32;

/// The number of posts per account that pgbench likes, too.
const LIKED_EACH: usize = 8;

/// The entries of a page.
pub(crate) const PAGE: u64 = 20;

/// Returns the range that contains only `count`.
const fn exactly(count: u64) -> RangeInclusive<u64> {
    count..=count
}

/// A kind of request to the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
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

impl Scenario {
    /// All of them, reads first, so that writes do not change what is read.
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

    /// Returns the name that tables and messages show.
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

    /// Returns the name that files have.
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

    /// Prepares the workload, and verifies the response to each request once.
    pub(crate) fn prepare(self, accounts: &Accounts<'_>, sample: &Sample) -> Result<Workload> {
        let api = &accounts.service.api;
        match self {
            Self::Post => posts(api, &accounts.readers(20, ACCOUNTS)?, sample),
            Self::Feed20 => feed(api, &accounts.readers(20, ACCOUNTS)?),
            Self::Feed1000 => feed(api, &accounts.readers(1000, ACCOUNTS)?),
            Self::Comments => comments(api, &accounts.readers(20, ACCOUNTS)?, sample),
            Self::UserPosts => posts_of_user(api, &accounts.readers(20, ACCOUNTS)?, sample),
            Self::Public => public(api, &accounts.readers(20, ACCOUNTS)?),
            Self::Profile => profiles(api, &accounts.readers(20, ACCOUNTS)?, sample),
            Self::Like => likes(api, &accounts.readers(20, ACCOUNTS + 1)?, sample),
            Self::NewPost => new_posts(api, &accounts.writers(ACCOUNTS + 1)?),
        }
    }
}

/// The requests to the service, and the expected responses.
pub(crate) struct Traffic {
    /// The requests, which wrk sends in rotation.
    pub(crate) requests: Vec<Request>,
    /// How responses are checked under load.
    pub(crate) check: Check,
    /// The size of responses, if it is known.
    pub(crate) size: Option<ResponseSize>,
}

/// The size of responses in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ResponseSize {
    /// The average size.
    pub(crate) mean: f64,
    /// The difference between the largest and the smallest size.
    pub(crate) spread: f64,
}

/// A workload, ready to be sent to the service and to be compared with the bare handler and pgbench.
pub(crate) struct Workload {
    pub(crate) traffic: Traffic,
    /// The requests whose statements pgbench sends, in groups that belong together.
    pub(crate) groups: Vec<Vec<Request>>,
    /// How pgbench chooses among the groups.
    pub(crate) choice: Choice,
    /// A response of median size.
    pub(crate) typical: Response,
}

/// Prepares a workload of reads: sends each once, verifies its response, and expects the same response under load.
pub(crate) fn reads(
    api: &Api,
    requests: Vec<Request>,
    verify: impl Fn(usize, &Value) -> Result<()>,
) -> Result<Workload> {
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
    mut answers: Vec<Response>,
) -> Result<Workload> {
    ensure!(!answers.is_empty(), "the network has nothing of the kind");
    let mean = answers.iter().map(|answer| answer.size as f64).sum::<f64>() / answers.len() as f64;
    answers.sort_by_key(|answer| answer.size);
    let spread = answers.last().map_or(0, |answer| answer.size) - answers.first().map_or(0, |answer| answer.size);
    let size = ResponseSize { mean, spread: spread as f64 };
    let typical = answers.swap_remove(answers.len() / 2);
    Ok(Workload { traffic: Traffic { requests, check, size: Some(size) }, groups, choice, typical })
}

/// Prepares reads of single posts, by the accounts in rotation.
pub(crate) fn posts(api: &Api, tokens: &[String], sample: &Sample) -> Result<Workload> {
    let pairs = sample.posts.iter().zip(tokens.iter().cycle());
    let requests = pairs.map(|(post, token)| Request::get(format!("/api/posts/by-id/{post}"), token)).collect();
    reads(api, requests, |number, data| check::verify_post(data, sample.posts.get(number)))
}

/// Prepares reads of the first page of each account's feed.
pub(crate) fn feed(api: &Api, tokens: &[String]) -> Result<Workload> {
    let first = |token: &String| Request::get(format!("/api/posts/following/all?size={PAGE}"), token);
    reads(api, tokens.iter().map(first).collect(), |_, data| check::verify_posts(data, exactly(PAGE)))
}

/// Prepares reads of a later page of each account's feed; `None` if no account has that page.
pub(crate) fn feed_page(api: &Api, tokens: &[String], page: usize) -> Result<Option<Workload>> {
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

/// Prepares reads of the first page of posts of the busiest authors.
pub(crate) fn posts_of_user(api: &Api, tokens: &[String], sample: &Sample) -> Result<Workload> {
    let pairs = sample.authors.iter().zip(tokens.iter().cycle());
    let path = |author: &str| format!("/api/posts/user/{author}?size={PAGE}");
    let requests = pairs.map(|((author, _), token)| Request::get(path(author), token)).collect();
    // The exact number is unknown: the count of the sample lacks posts that only followers may view.
    reads(api, requests, |_, data| check::verify_posts(data, 1..=PAGE))
}

/// Prepares reads of the first page of the public timeline, by each account.
fn public(api: &Api, tokens: &[String]) -> Result<Workload> {
    let first = |token: &String| Request::get(format!("/api/posts/public?size={PAGE}"), token);
    reads(api, tokens.iter().map(first).collect(), |_, data| check::verify_posts(data, exactly(PAGE)))
}

/// Prepares reads of the profiles of the busiest authors.
fn profiles(api: &Api, tokens: &[String], sample: &Sample) -> Result<Workload> {
    let pairs = sample.authors.iter().zip(tokens.iter().cycle());
    let path = |author: &str| format!("/api/users/{author}/profile");
    let requests = pairs.map(|((author, _), token)| Request::get(path(author), token)).collect();
    reads(api, requests, |number, data| check::verify_profile(data, sample.authors.get(number).map(|(id, _)| id)))
}

/// Prepares reads of the first page of likes of the posts with the most likes.
pub(crate) fn likers(api: &Api, tokens: &[String], sample: &Sample) -> Result<Workload> {
    let pairs = sample.liked.iter().zip(tokens.iter().cycle());
    let path = |post: &str| format!("/api/posts/{post}/likes?size={PAGE}");
    let requests = pairs.map(|((post, _), token)| Request::get(path(post), token)).collect();
    reads(api, requests, |number, data| match sample.liked.get(number) {
        Some((_, count)) => check::verify_likers(data, (*count).min(PAGE)),
        None => bail!("one more than asked for"),
    })
}

/// Prepares reads of the first page of comments of the posts with the most comments.
pub(crate) fn comments(api: &Api, tokens: &[String], sample: &Sample) -> Result<Workload> {
    let pairs = sample.commented.iter().zip(tokens.iter().cycle());
    let path = |post: &str| format!("/api/comments/all/{post}?size={PAGE}");
    let requests = pairs.map(|((post, _), token)| Request::get(path(post), token)).collect();
    reads(api, requests, |number, data| match sample.commented.get(number) {
        Some((post, count)) => check::verify_comments(data, post, exactly((*count).min(PAGE))),
        None => bail!("one more than asked for"),
    })
}

/// Prepares likes and unlikes of posts by each account but the last, which the checks use.
fn likes(api: &Api, tokens: &[String], sample: &Sample) -> Result<Workload> {
    let (checker, tokens) = tokens.split_last().context("there are no accounts")?;
    let like = |post: &String, token: &String| Request::post(format!("/api/posts/like/{post}"), token, None);
    let mut rng = Rng::new(2);
    let mut groups = Vec::new();
    let mut requests = Vec::new();
    let mut answers = Vec::new();
    for token in tokens {
        let mut posts = sample.posts.clone();
        rng.shuffle(&mut posts);
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
    rng.shuffle(&mut requests);
    let check = Check::Likes { token: checker.clone(), posts: sample.posts.clone() };
    work(requests, groups, Choice::OfOwnUser(tokens.len()), check, answers)
}

/// Prepares new comments by each account but the last, which the checks use.
pub(crate) fn new_comments(accounts: &Accounts<'_>, sample: &Sample) -> Result<Traffic> {
    let api = &accounts.service.api;
    let tokens = accounts.readers(20, ACCOUNTS + 1)?;
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

/// Prepares new posts by each account but the last, which the checks use.
fn new_posts(api: &Api, tokens: &[String]) -> Result<Workload> {
    let (checker, tokens) = tokens.split_last().context("there are no accounts")?;
    let text = "A post of ordinary length, as people write them: a sentence or two, and then nothing more to say.";
    let write = |token: &String| Request::post("/api/posts/create", token, Some(&json!({ "text": text })));
    let requests: Vec<Request> = tokens.iter().map(write).collect();
    let answers = requests.iter().map(|request| api.expect(request)).collect::<Result<_>>()?;
    let groups = requests.iter().map(|request| vec![request.clone()]).collect();
    let check = Check::Posts { token: checker.clone(), author: crate::network::me(api, checker)? };
    work(requests, groups, Choice::Any, check, answers)
}
