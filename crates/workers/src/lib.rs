//! Threads for work that takes a core for long, such as the hash of a password or the check of an image: so much at once,
//! with a bounded queue in front of it, of which each account and each client address has a share.
//!
//! tokio's `spawn_blocking` and `rayon` do not do: their threads are kept for other work, and one whose priority was
//! lowered cannot have it back without privileges; their queues have neither a bound nor shares. A pool with a hook for
//! its threads and a limit on its queue would leave of this crate the shares and the memory.

#![forbid(unsafe_code)]

mod shares;
mod workers;

pub use workers::{Capacity, Figures, Kind, Workers, default_parallelism};
