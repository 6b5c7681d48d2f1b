//! Threads for CPU-bound work, such as hashing a password or checking an image: limited concurrency behind a bounded queue,
//! in which each account and each client address has a limited share.
//!
//! tokio's `spawn_blocking` and `rayon` do not fit: they reuse their threads for other work, and a thread whose priority was
//! lowered cannot raise it again without privileges; their queues have neither a bound nor shares. A thread pool with a hook
//! for its threads and a bounded queue could replace all of this crate except the shares and the memory limit.

#![forbid(unsafe_code)]

mod shares;
mod workers;

pub use workers::{Capacity, Figures, Kind, Workers, default_parallelism};
