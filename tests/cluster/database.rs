//! PostgreSQL managed by Patroni, with etcd: three machines, each of which runs all three.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::client::{Client, Response, eventually, list};
use crate::machine::{Machine, Network, run};
use crate::process::Process;

/// The TTL of the leader key, in seconds: a primary that does not renew it in time loses its role.
const TTL: u32 = 12;

/// A cluster with synchronous replication: a commit waits until a replica has it.
pub(crate) struct Database {
    pub(crate) members: Vec<Member>,
}

/// A machine of the cluster.
pub(crate) struct Member {
    pub(crate) machine: Machine,
    etcd: Option<Process>,
    patroni: Option<Process>,
}

impl Database {
    pub(crate) async fn start(network: &Network) -> Self {
        let machines: Vec<_> = (1..=3).map(|number| Machine::new(network, number)).collect();
        let peers: Vec<_> = machines.iter().map(|it| format!("{}=http://{}:2380", it.name, it.address)).collect();
        let stores: Vec<_> = machines.iter().map(|it| format!("{}:2379", it.address)).collect();
        let mut members = Vec::new();
        for machine in machines {
            fs::write(machine.directory.join("patroni.yml"), configuration(&machine, &stores).to_string()).unwrap();
            fs::write(machine.directory.join("peers"), peers.join(",")).unwrap();
            let mut member = Member { machine, etcd: None, patroni: None };
            member.start_etcd();
            members.push(member);
        }
        let mut database = Self { members };
        for member in &mut database.members {
            member.start_patroni();
        }
        database.settle().await;
        let leader = database.leader().await;
        let address = database.members[leader].machine.address.to_string();
        let mut create = database.members[leader].machine.command(&programs().join("createdb").display().to_string());
        block_in_place(|| run(create.args(["-h", &address, "-U", "agora", "agora"])));
        database
    }

    /// Returns the URL of the database, which lists all servers.
    pub(crate) fn url(&self) -> String {
        let hosts: Vec<_> = self.members.iter().map(|member| format!("{}:5432", member.machine.address)).collect();
        format!("postgres://agora@{}/agora", hosts.join(","))
    }

    /// Returns the index of the primary, once there is one.
    pub(crate) async fn leader(&self) -> usize {
        eventually("there is a primary", async || {
            for (n, member) in self.members.iter().enumerate() {
                if member.ask("/primary").await.is_some_and(|answer| answer.status == 200) {
                    return Some(n);
                }
            }
            None
        })
        .await
    }

    /// Makes a replica the primary by a planned switchover.
    pub(crate) async fn switch_over(&self) {
        let leader = &self.members[self.leader().await];
        let body = json!({ "leader": leader.machine.name });
        let api = leader.api();
        let answer = api.post_json("/switchover", &body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    /// Waits until all members are running, one of them as the synchronous standby.
    pub(crate) async fn settle(&self) {
        eventually("the cluster is whole", async || {
            let answer = self.members[0].ask("/cluster").await?.json();
            let members = list(&answer["members"]);
            let count = |key: &str, values: &[&str]| {
                members.iter().filter(|member| member[key].as_str().is_some_and(|it| values.contains(&it))).count()
            };
            let is_whole = count("state", &["running", "streaming"]) == self.members.len()
                && count("role", &["leader"]) == 1
                && count("role", &["sync_standby"]) >= 1;
            is_whole.then_some(())
        })
        .await;
    }
}

impl Drop for Database {
    #[allow(clippy::print_stderr, reason = "what Patroni says explains the failure")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            for member in &self.members {
                let said = member.patroni.as_ref().map(Process::errors).unwrap_or_default();
                eprintln!("{}:\n{said}", member.machine.name);
            }
        }
    }
}

impl Member {
    fn api(&self) -> Client {
        Client::new(&format!("http://{}:8008", self.machine.address))
    }

    /// Sends a request to its Patroni. Returns `None` if that does not respond.
    async fn ask(&self, path: &str) -> Option<Response> {
        let api = self.api();
        api.try_send(api.request(reqwest::Method::GET, path).timeout(std::time::Duration::from_secs(1))).await
    }

    pub(crate) fn start_etcd(&mut self) {
        let Machine { name, address, directory, .. } = &self.machine;
        let (clients, peers) = (format!("http://{address}:2379"), format!("http://{address}:2380"));
        let all = fs::read_to_string(directory.join("peers")).unwrap();
        let mut command = self.machine.command("etcd");
        command.args(["--name", name, "--data-dir", "etcd", "--initial-cluster", &all]);
        command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
        command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
        // With pre-vote, a member that reconnects does not trigger an election, in which the primary could lose the leader key.
        command.args([
            "--heartbeat-interval",
            "100",
            "--election-timeout",
            "1000",
            "--pre-vote",
            "--log-level",
            "error",
        ]);
        self.etcd = Some(Process::spawn(command, ""));
    }

    pub(crate) fn start_patroni(&mut self) {
        let mut command = self.machine.command("patroni");
        command.arg("patroni.yml");
        self.patroni = Some(Process::spawn(command, ""));
    }

    /// Kills its member of etcd, as a crash would.
    pub(crate) fn kill_etcd(&mut self) {
        self.etcd = None;
    }

    /// Kills its PostgreSQL and its Patroni, as a crash of both would.
    pub(crate) fn kill_database(&mut self) {
        self.machine.signal("KILL", "postgres");
        self.patroni = None;
        self.machine.signal("KILL", "patroni");
        self.machine.signal("KILL", "postgres");
    }
}

/// Returns the configuration of a machine's Patroni. It is JSON, which is valid YAML.
fn configuration(machine: &Machine, stores: &[String]) -> Value {
    let (address, directory) = (machine.address, machine.directory.display().to_string());
    let [a, b, c] = Network::PREFIX;
    let network = format!("{a}.{b}.{c}.0/24");
    json!({
        "scope": "agora",
        "name": machine.name,
        "restapi": { "listen": format!("{address}:8008"), "connect_address": format!("{address}:8008") },
        "etcd3": { "hosts": stores },
        "bootstrap": {
            "dcs": {
                "ttl": TTL, "loop_wait": 1, "retry_timeout": 5, "primary_start_timeout": 0, "synchronous_mode": true,
                "synchronous_mode_strict": true,
                "postgresql": { "use_pg_rewind": true, "parameters": { "max_connections": 200, "wal_keep_size": "256MB" } },
            },
            "initdb": ["data-checksums", { "encoding": "UTF8" }, { "locale": "C" }],
        },
        "postgresql": {
            "listen": format!("{address}:5432"), "connect_address": format!("{address}:5432"),
            "data_dir": format!("{directory}/data"), "bin_dir": programs(), "pgpass": format!("{directory}/pgpass"),
            "authentication": { "superuser": { "username": "agora" }, "replication": { "username": "agora" } },
            "parameters": { "unix_socket_directories": directory },
            "pg_hba": [
                "local all all trust", format!("host all all {network} trust"), format!("host replication all {network} trust"),
            ],
        },
    })
}

/// Returns the directory of PostgreSQL's programs.
fn programs() -> PathBuf {
    let mut versions: Vec<_> =
        fs::read_dir("/usr/lib/postgresql").unwrap().map(|entry| entry.unwrap().path()).collect();
    versions.sort();
    versions.last().map(|version| version.join("bin")).unwrap_or_else(|| Path::new("/usr/bin").to_owned())
}
