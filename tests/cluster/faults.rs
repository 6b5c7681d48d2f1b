//! The faults that are injected.

use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use tokio::task::block_in_place;
use tokio::time::sleep;

use crate::database::Database;
use crate::nodes::Nodes;
use crate::store::Store;

/// Makes a part of the system fail, and repairs it if necessary. The cluster itself decides which server takes over.
pub(crate) type Fault = for<'a> fn(&'a mut Database, &'a mut Store, &'a mut Nodes) -> LocalBoxFuture<'a, ()>;

/// Longer than the TTL of the leader key: another server has become the primary meanwhile.
const LONG: Duration = Duration::from_secs(15);

/// All faults, by name. The first two are tried for every change.
pub(crate) const FAULTS: &[(&str, Fault)] = &[
    ("PostgreSQL of the primary killed", |database, _, _| {
        Box::pin(async {
            let leader = database.leader().await;
            database.members[leader].machine.signal("KILL", "postgres");
        })
    }),
    ("a node killed", |_, _, nodes| {
        Box::pin(async {
            block_in_place(|| nodes.kill(0));
            sleep(LONG / 5).await;
            block_in_place(|| nodes.restart(0));
        })
    }),
    ("the primary cut off the network", |database, _, _| {
        Box::pin(async {
            let leader = database.leader().await;
            database.members[leader].machine.cut();
            sleep(LONG).await;
            database.members[leader].machine.reconnect();
        })
    }),
    ("PostgreSQL and Patroni of the primary killed", |database, _, _| {
        Box::pin(async {
            let leader = database.leader().await;
            database.members[leader].kill_database();
            sleep(LONG).await;
            database.members[leader].start_patroni();
        })
    }),
    ("planned switchover", |database, _, _| Box::pin(async { database.switch_over().await })),
    ("a member of etcd killed", |database, _, _| {
        Box::pin(async {
            let leader = database.leader().await;
            database.members[leader].kill_etcd();
            sleep(LONG / 5).await;
            database.members[leader].start_etcd();
        })
    }),
    ("a volume server of the images killed", |_, store, _| {
        Box::pin(async {
            store.kill_volume(0);
            sleep(LONG / 5).await;
            store.start_volume(0);
        })
    }),
    ("nodes replaced one by one", |_, _, nodes| {
        Box::pin(async {
            for node in 0..nodes.count() {
                block_in_place(|| nodes.replace(node));
            }
        })
    }),
];
