//! Checks that the files in `deploy/` match the service, and tests upgrades from every earlier schema.

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
