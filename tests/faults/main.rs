//! What goes wrong around the service: its database goes away, hangs or is overrun, its disk is full, and other nodes
//! work beside it.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/backend.rs"]
mod backend;
#[path = "../support/client.rs"]
mod client;
mod contention;
#[path = "../support/disk.rs"]
mod disk;
mod disk_full;
mod honest;
mod load;
mod network;
mod nodes;
mod overload;
#[path = "../support/picture.rs"]
mod picture;
#[path = "../support/postgres.rs"]
mod private_postgres;
#[path = "../support/s3.rs"]
mod private_s3;
#[path = "../support/process.rs"]
mod process;
#[path = "../support/proxy.rs"]
mod proxy;
mod restart;
