//! Generates the accounts, the follows, and the posts with the number of their likes and comments.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use agora_domain::posts::Visibility;
use anyhow::Result;
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom, index};
use rand_distr::{Distribution, Pareto, Zipf};
use uuid::{Builder, Uuid};

use super::words;

/// 2026-06-30T12:00:00Z, in milliseconds since 1970: the end of the generated year.
pub(super) const END: i64 = 1_782_820_800_000;
pub(super) const START: i64 = END - 365 * DAY;
/// The end of the time in which accounts join.
pub(super) const JOINS_UNTIL: i64 = START + 60 * DAY;
/// The end of the time in which follows begin.
pub(super) const FOLLOWS_UNTIL: i64 = START + 90 * DAY;
const DAY: i64 = 24 * 60 * 60 * 1_000;

/// The accounts `reader_{n}_{k}`: the number `n` of accounts that each follows, and how many such readers there are.
const READERS: [(usize, usize); 5] = [(10, 64), (20, 64), (100, 64), (1_000, 64), (5_000, 16)];

/// How many accounts each reader `silent_5000_{k}` follows, and how many of these have no post.
const SILENT: (usize, usize) = (5_000, 4_750);
const SILENT_READERS: usize = 4;

/// How many ordinary accounts like each post of the celebrity.
const LIKES_OF_CELEBRITY: usize = 10;

const WRITERS: usize = 64;
/// How many ordinary accounts follow each `writer_{k}`.
pub(super) const FOLLOWERS_OF_WRITER: usize = 20;

/// How many ordinary accounts there may be.
pub(super) const USERS: RangeInclusive<u64> = FOLLOWERS_OF_WRITER as u64..=1_000_000;

/// The exponent of the Zipf distribution of popularity and activity: of 10,000 accounts, the first is drawn once in fifty times.
const SKEW: f64 = 0.75;

/// The scale of the number of accounts that an ordinary account follows, which is heavy-tailed: some 30 on average, and at most
/// [`MAX_FOLLOWS`].
const FOLLOWS: f64 = 12.0;
const MAX_FOLLOWS: usize = 2_000;

/// The scale of the number of likes of a post by an author of average appeal, which is heavy-tailed.
const LIKES: f64 = 2.1;
/// The largest share of a post's possible viewers that like it.
const MAX_LIKING_SHARE: f64 = 0.75;
/// The number of comments is up to this times the number of likes to the power of 0.75.
const COMMENTS: f64 = 2.0;

/// The probability that a like or a comment comes from a follower.
const FROM_FOLLOWERS: f64 = 0.6;

/// A post without its text. Accounts are numbered: first the ordinary ones, then those with fixed names.
pub(super) struct Post {
    pub(super) id: Uuid,
    pub(super) author: usize,
    pub(super) at: i64,
    pub(super) visibility: Visibility,
    pub(super) likes: usize,
    pub(super) comments: usize,
}

/// The accounts and follows, and the distributions that posts are drawn from.
pub(super) struct Network {
    /// The number of ordinary accounts.
    pub(super) users: usize,
    /// The names of the special accounts, those with fixed names.
    pub(super) special_names: Vec<String>,
    /// The follows of and by special accounts, as pairs of follower and followed account.
    special_follows: Vec<(usize, usize)>,
    /// The ordinary followers of each ordinary account.
    pub(super) followers: Vec<Vec<usize>>,
    /// The ordinary accounts that post, the busiest first.
    pub(super) posters: Vec<usize>,
    /// The account that likes every public post of others, and the number of its own posts.
    celebrity: Option<(usize, u64)>,
    /// The distribution of the authors of posts, by their rank in `posters`.
    activity: Zipf<f64>,
    /// The average number of ordinary followers of the author of a post.
    average: f64,
    /// A heavy-tailed distribution: its median is 1.7, its mean is 4, and one in ten thousand numbers is above 1,000.
    tail: Pareto<f64>,
}

impl Network {
    /// Generates a network of `users` ordinary accounts, and of an account `celebrity` if it is to make posts.
    pub(super) fn new(users: usize, celebrity: u64, random: &mut StdRng) -> Result<Self> {
        let mut by_popularity: Vec<usize> = (0..users).collect();
        by_popularity.shuffle(random);
        let ranks = Zipf::new(users as f64, SKEW)?;
        let popular = |random: &mut StdRng| by_popularity[ranks.sample(random) as usize - 1];

        // Popular accounts tend to be among the active ones.
        let ranked = by_popularity.iter().enumerate();
        let mut posters: Vec<_> = ranked.map(|(rank, user)| (rank + random.random_range(0..users), *user)).collect();
        posters.sort_unstable();
        let mut posters: Vec<usize> = posters.into_iter().map(|(_, user)| user).collect();
        let (needed, silent_readers) = if users > SILENT.0 { (SILENT.1, SILENT_READERS) } else { (0, 0) };
        let lurkers = posters.split_off(users - needed.max(users * 6 / 10));

        let tail = Pareto::new(1.0, 4.0 / 3.0)?;
        let mut followers = vec![Vec::new(); users];
        for user in 0..users {
            let wanted = (FOLLOWS * (tail.sample(random) - 1.0)) as usize;
            let followed = distinct(wanted.min(MAX_FOLLOWS).min(users / 2), || popular(random));
            followed.into_iter().filter(|followed| *followed != user).for_each(|it| followers[it].push(user));
        }

        let (mut special_names, mut special_follows) = (Vec::new(), Vec::new());
        let mut join = |name| {
            special_names.push(name);
            users + special_names.len() - 1
        };
        for (follows, count) in READERS.into_iter().filter(|(follows, _)| *follows < users) {
            for k in 1..=count {
                let reader = join(format!("reader_{follows}_{k}"));
                special_follows.extend(distinct(follows, || popular(random)).into_iter().map(|it| (reader, it)));
            }
        }
        for k in 1..=silent_readers {
            let reader = join(format!("silent_{}_{k}", SILENT.0));
            special_follows.extend(lurkers.sample(random, SILENT.1).map(|it| (reader, *it)));
            special_follows.extend(posters.sample(random, SILENT.0 - SILENT.1).map(|it| (reader, *it)));
        }
        for k in 1..=WRITERS {
            let writer = join(format!("writer_{k}"));
            special_follows
                .extend(index::sample(random, users, FOLLOWERS_OF_WRITER).into_iter().map(|it| (it, writer)));
        }
        join("hermit".to_owned());
        let celebrity = (celebrity > 0).then(|| (join("celebrity".to_owned()), celebrity));

        let activity = Zipf::new(posters.len() as f64, SKEW)?;
        let authors = (0..10_000).map(|_| posters[activity.sample(random) as usize - 1]);
        let average = authors.map(|author| followers[author].len() as f64).sum::<f64>() / 10_000.0;
        Ok(Self { users, special_names, special_follows, followers, posters, celebrity, activity, average, tail })
    }

    /// Returns the usernames of all accounts.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        (0..self.users).map(words::username).chain(self.special_names.iter().cloned())
    }

    /// Returns the follower and the followed account of each follow.
    pub(super) fn follows(&self) -> impl Iterator<Item = (usize, usize)> {
        let ordinary = self.followers.iter().enumerate();
        let ordinary = ordinary.flat_map(|(followed, by)| by.iter().map(move |follower| (*follower, followed)));
        ordinary.chain(self.special_follows.iter().copied())
    }

    /// Draws a post: its author, its visibility, and the number of its likes and comments.
    pub(super) fn post(&self, at: i64, random: &mut StdRng) -> Post {
        let author = self.posters[self.activity.sample(random) as usize - 1];
        let followers = self.followers[author].len();
        let (visibility, viewers) = match random.random_range(0..100) {
            ..85 => (Visibility::Public, self.users - 1),
            85..95 => (Visibility::Followers, followers),
            95.. => (Visibility::Private, 0),
        };
        // The relative number of likes of the author's posts: 1 on average.
        let appeal = (2.0 + followers as f64) / (2.0 + self.average);
        let liked = LIKES * appeal * (self.tail.sample(random) - 1.0);
        let liked = liked.min(viewers as f64 * MAX_LIKING_SHARE);
        let comments = liked.powf(0.75) * random.random_range(0.0..COMMENTS);
        let (likes, comments) = (liked as usize, comments as usize);
        Post { id: new_id(at, random), author, at, visibility, likes, comments }
    }

    /// Generates the posts of the celebrity that come right after the nth of `count` ordinary posts.
    pub(super) fn posts_of_celebrity(&self, at: i64, nth: u64, count: u64, random: &mut StdRng) -> Vec<Post> {
        let Some((author, posts)) = self.celebrity else { return Vec::new() };
        let these = (nth + 1) * posts / count - nth * posts / count;
        let likes = LIKES_OF_CELEBRITY.min(self.users - 1);
        let post = |_| {
            let id = new_id(at, random);
            Post { id, author, at, visibility: Visibility::Public, likes, comments: 0 }
        };
        (0..these).map(post).collect()
    }

    /// Returns the celebrity, if it likes the post.
    pub(super) fn celebrity_liking(&self, post: &Post) -> Option<usize> {
        let (celebrity, _) = self.celebrity?;
        (post.visibility == Visibility::Public && post.author != celebrity).then_some(celebrity)
    }

    /// Draws an account that may see the post, other than the author; most likely a follower. There must be one.
    pub(super) fn viewer(&self, post: &Post, random: &mut StdRng) -> usize {
        // The celebrity is no ordinary account, and has no followers.
        let followers = self.followers.get(post.author).map_or(&[][..], Vec::as_slice);
        let by_follower = post.visibility == Visibility::Followers || random.random_bool(FROM_FOLLOWERS);
        match followers.choose(random) {
            Some(follower) if by_follower => *follower,
            _ => (post.author + random.random_range(1..self.users)) % self.users,
        }
    }

    /// Draws the accounts that like the post.
    pub(super) fn likers(&self, post: &Post, random: &mut StdRng) -> BTreeSet<usize> {
        let mut likers = distinct(post.likes, || self.viewer(post, random));
        likers.extend(self.celebrity_liking(post));
        likers
    }
}

/// Draws until there are `count` distinct numbers; `draw` must be able to return as many.
fn distinct(count: usize, mut draw: impl FnMut() -> usize) -> BTreeSet<usize> {
    let mut drawn = BTreeSet::new();
    while drawn.len() < count {
        drawn.insert(draw());
    }
    drawn
}

/// Returns an identifier such as the service generates: a UUID of version 7, which sorts by its instant.
pub(super) fn new_id(at: i64, random: &mut StdRng) -> Uuid {
    Builder::from_unix_timestamp_millis(at.unsigned_abs(), &random.random()).into_uuid()
}

/// Returns the nth of `count` instants that are spread evenly over a period.
pub(super) fn nth_instant(from: i64, until: i64, nth: u64, count: u64) -> i64 {
    from + (until - from) * nth as i64 / count as i64
}

/// Draws the instant of a reaction to something made at an instant: mostly soon after, sometimes much later.
pub(super) fn later(at: i64, random: &mut StdRng) -> i64 {
    at + ((END - at) as f64 * random.random::<f64>().powi(12)) as i64
}
