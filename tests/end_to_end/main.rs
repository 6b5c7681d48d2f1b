//! End-to-end tests of the real binary, over HTTP and on the command line: ordinary use, generated clients, attacks, operation,
//! and faults of its environment.
//!
//! They are one program, since each separate one would compile and link the same support again.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod access_log;
mod administrators;
#[path = "../support/backend.rs"]
mod backend;
#[path = "../bounds/mod.rs"]
mod bounds;
mod catalog;
#[path = "../support/client.rs"]
mod client;
#[path = "../clients/mod.rs"]
mod clients;
mod configuration;
mod connection;
mod crash;
mod crash_changes;
mod deletion;
#[path = "../deploy/mod.rs"]
mod deploy;
#[path = "../support/disk.rs"]
mod disk;
mod doctor;
mod embedded;
#[path = "../faults/mod.rs"]
mod faults;
mod first_start;
mod hashes;
#[path = "../hostile/mod.rs"]
mod hostile;
mod interrupts;
mod life;
mod mail;
mod manual;
mod media;
mod metrics;
mod migrations;
mod moderation;
#[path = "../support/nginx.rs"]
mod nginx;
mod operator;
mod parallel;
#[path = "../support/picture.rs"]
mod picture;
#[path = "../support/port.rs"]
mod port;
#[path = "../support/postgres.rs"]
mod private_postgres;
#[path = "../support/s3.rs"]
mod private_s3;
#[path = "../support/process.rs"]
mod process;
#[path = "../support/proxy.rs"]
mod proxy;
#[path = "../support/python.rs"]
mod python;
mod retries;
mod rotation;
mod secrecy;
mod shutdown;
#[path = "../support/smtp.rs"]
mod smtp;
#[path = "../support/sse.rs"]
mod sse;
#[path = "../support/store.rs"]
mod store;
mod streams;
mod telemetry;
mod times;
mod tour;
#[path = "../support/world.rs"]
mod world;
