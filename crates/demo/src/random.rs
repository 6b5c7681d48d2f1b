//! Randomness that is the same everywhere and in every release.
//!
//! The numbers are those of PCG 64, a published algorithm. What is made of them is integer arithmetic, or floating
//! point of exact operations alone (the four of arithmetic and square roots): powers and logarithms differ between
//! machines in their last bit.

use std::collections::BTreeSet;

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};
use uuid::Uuid;

/// The year of a made-up network, in milliseconds since 1970.
pub(super) const HOUR: i64 = 60 * 60 * 1_000;
pub(super) const DAY: i64 = 24 * HOUR;

/// 2026-06-30T12:00:00Z: nothing is made later.
pub(super) const END: i64 = 1_782_820_800_000;
pub(super) const START: i64 = END - 365 * DAY;
/// When the last ordinary account has joined.
pub(super) const JOINS_UNTIL: i64 = START + 60 * DAY;
/// When the last follow has begun.
pub(super) const FOLLOWS_UNTIL: i64 = START + 90 * DAY;

/// What numbers are drawn for. Each has numbers of its own, so that one part can be made again without the others.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    Accounts = 1,
    Profiles,
    Follows,
    FollowTimes,
    Hours,
    Posts,
    PostTexts,
    Likes,
    Comments,
    Products,
}

/// A source of random numbers.
pub(super) struct Random(Pcg64);

impl Random {
    pub(super) fn new(seed: u64, purpose: Purpose) -> Self {
        // An odd factor: seeds near each other share no numbers.
        let state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(purpose as u64);
        Self(Pcg64::seed_from_u64(state))
    }

    /// Returns a number below the bound; 0 when that is 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns the index of one of so many.
    pub(super) fn index(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }

    /// One of these, of which there must be some.
    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }

    /// Returns whether something happens that does in so many of a hundred cases.
    pub(super) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// Returns a number from 0 on, below 1.
    pub(super) fn unit(&mut self) -> f64 {
        // As many bits as the type holds exactly.
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number from 0 on with a heavy tail (Pareto's, exponent 4/3): half of all are below 0.7, their mean is
    /// 3, and one in ten thousand is above 1,000.
    pub(super) fn tail(&mut self) -> f64 {
        let root = (1.0 - self.unit()).sqrt();
        1.0 / (root * root.sqrt()) - 1.0
    }

    /// Puts them into a random order.
    pub(super) fn shuffle<T>(&mut self, all: &mut [T]) {
        for end in (1..all.len()).rev() {
            all.swap(end, self.index(end + 1));
        }
    }

    /// So many of these, each set of them as likely, in their order; all when there are no more.
    pub(super) fn sample<T: Copy>(&mut self, count: usize, from: &[T]) -> Vec<T> {
        let mut wanted = count;
        let mut taken = Vec::with_capacity(count.min(from.len()));
        for (i, one) in from.iter().enumerate() {
            if self.index(from.len() - i) < wanted {
                taken.push(*one);
                wanted -= 1;
            }
        }
        taken
    }

    /// So many different ones, of which there must be as many, in their order. The draw repeats itself.
    pub(super) fn distinct<T: Ord>(&mut self, count: usize, mut draw: impl FnMut(&mut Self) -> T) -> BTreeSet<T> {
        let mut drawn = BTreeSet::new();
        while drawn.len() < count {
            drawn.insert(draw(self));
        }
        drawn
    }
}

/// Ranks from 0 on, the first the likeliest: Zipf's distribution with the exponent 3/4. Of 10,000 the first is drawn
/// once in fifty times.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ranks {
    count: usize,
    scale: f64,
}

impl Ranks {
    /// Of so many, at least one.
    pub(super) fn new(count: usize) -> Self {
        Self { count, scale: (count as f64 + 1.0).sqrt().sqrt() - 1.0 }
    }

    pub(super) fn draw(self, random: &mut Random) -> usize {
        let root = 1.0 + random.unit() * self.scale;
        let square = root * root;
        // The last step may round up to the first rank that is not there.
        ((square * square) as usize - 1).min(self.count - 1)
    }

    /// Returns how likely the rank is.
    pub(super) fn share(self, rank: usize) -> f64 {
        ((rank as f64 + 2.0).sqrt().sqrt() - (rank as f64 + 1.0).sqrt().sqrt()) / self.scale
    }
}

/// Identifiers as the service makes them: UUIDs of version 7, whose order is that of their instants.
#[derive(Debug, Default)]
pub(super) struct Ids {
    millis: i64,
    tail: u128,
}

impl Ids {
    /// Returns the identifier of what was made at an instant. When the one before was of the same, this is greater.
    pub(super) fn next(&mut self, random: &mut Random, millis: i64) -> Uuid {
        if millis == self.millis {
            self.tail += 1 + u128::from(random.below(1 << 32));
        } else {
            // Of 74 bits the first is left for what follows in the same millisecond.
            self.tail = u128::from(random.0.next_u64()) << 9 | u128::from(random.below(1 << 9));
        }
        self.millis = millis;
        let (version, variant) = (7 << 76, 2 << 62);
        let time = u128::from(millis.unsigned_abs()) << 80;
        Uuid::from_u128(time | version | (self.tail >> 62) << 64 | variant | self.tail & ((1 << 62) - 1))
    }
}
