//! What is in `deploy/` against what it deploys, upgrades from every earlier schema, and the drill of a restore.

mod container;
mod documented;
mod files;
mod health;
mod kubernetes;
mod lint;
mod migrations;
mod nginx;
mod numbers;
mod release;
mod systemd;
mod upgrade;
