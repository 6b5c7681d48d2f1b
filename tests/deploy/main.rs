//! What is in `deploy/` against what it deploys, upgrades from every earlier schema, and the drill of a restore.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/backend.rs"]
mod backend;
#[path = "../support/client.rs"]
mod client;
mod container;
mod documented;
mod files;
mod health;
mod kubernetes;
mod lint;
mod migrations;
mod nginx;
mod numbers;
#[path = "../support/picture.rs"]
mod picture;
#[path = "../support/postgres.rs"]
mod private_postgres;
#[path = "../support/process.rs"]
mod process;
#[path = "../support/python.rs"]
mod python;
mod release;
#[path = "../support/store.rs"]
mod store;
mod systemd;
mod upgrade;
