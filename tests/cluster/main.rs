//! Three nodes on a PostgreSQL cluster with automatic failover and on a distributed object store. Clients must lose nothing while
//! servers of either, and nodes, are killed, cut off from the network and replaced.
//!
//! `scripts/cluster` installs the dependencies and runs this as root: each database server is a machine of its own, simulated by
//! a network namespace with an address. `AGORA_CLUSTER_ROUNDS` is the number of faults, one after the other; by default, each
//! occurs once. `AGORA_CLUSTER_ONLY` selects the faults whose names contain it. If `AGORA_CLUSTER_BEFORE` is set, the nodes run
//! that binary until they are replaced.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/backend.rs"]
mod backend;
mod balancer;
#[path = "../support/client.rs"]
mod client;
mod clients;
mod database;
mod faults;
mod listeners;
mod machine;
#[path = "../support/nginx.rs"]
mod nginx;
mod nodes;
#[path = "../support/picture.rs"]
mod picture;
#[path = "../support/process.rs"]
mod process;
#[path = "../support/sse.rs"]
mod sse;
mod store;

use std::env;

use crate::balancer::Balancer;
use crate::clients::{Clients, Noticed};
use crate::database::Database;
use crate::faults::FAULTS;
use crate::machine::Network;
use crate::nodes::Nodes;
use crate::store::Store;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "installs a cluster and takes minutes: scripts/cluster"]
#[allow(clippy::print_stdout, reason = "the measurements are of use beyond the failure")]
async fn nothing_acknowledged_is_lost_or_doubled_whatever_fails() {
    let network = Network::new();
    let mut database = Database::start(&network).await;
    let _balancer = Balancer::start(&database);
    let mut store = Store::start().await;
    let mut nodes = Nodes::start(&database).await;
    let clients = Clients::start(&nodes).await;
    let only = env::var("AGORA_CLUSTER_ONLY").unwrap_or_default();
    let faults: Vec<_> = FAULTS.iter().filter(|(name, _)| name.contains(&only)).collect();
    let rounds = env::var("AGORA_CLUSTER_ROUNDS").map_or(faults.len(), |rounds| rounds.parse().expect("a number"));
    println!("fault | without writes, s | without reads, s | refusing, s | refused");
    for (name, fault) in faults.into_iter().cycle().take(rounds) {
        clients.writes(100).await;
        clients.measure();
        fault(&mut database, &mut store, &mut nodes).await;
        clients.writes(100).await;
        let found = clients.measure();
        let Noticed { without_writes, without_reads, refusing, refused } = found;
        println!("{name} | {without_writes:.1} | {without_reads:.1} | {refusing:.1} | {refused:?}");
        database.settle().await;
        clients.check().await;
    }
    clients.finish().await;
    nodes.stop();
}
