//! HAProxy in front of the database servers, which forwards connections to the primary.

use std::fs;

use tempfile::TempDir;

use crate::database::Database;
use crate::process::Process;

/// A running load balancer. It is stopped when this is dropped.
pub(crate) struct Balancer {
    _process: Process,
    _directory: TempDir,
}

impl Balancer {
    const ADDRESS: &str = "127.0.0.1:15432";

    pub(crate) fn start(database: &Database) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let servers = database.members.iter().map(|member| {
            let (name, address) = (&member.machine.name, member.machine.address);
            format!("    server {name} {address}:5432 check port 8008\n")
        });
        // Health checks query each server's Patroni. Connections to a server that is no longer the primary are closed.
        let settings = format!(
            "defaults\n    mode tcp\n    timeout connect 1s\n    timeout check 1s\n    timeout client 1h\n    timeout server 1h\n\
             listen primary\n    bind {}\n    option httpchk OPTIONS /primary\n    http-check expect status 200\n    \
             default-server inter 1s fall 2 rise 3 on-marked-down shutdown-sessions\n{}",
            Self::ADDRESS,
            servers.collect::<String>()
        );
        let file = directory.path().join("haproxy.cfg");
        fs::write(&file, settings).unwrap();
        let mut command = std::process::Command::new("/usr/sbin/haproxy");
        command.args(["-db", "-f"]).arg(file);
        Self { _process: Process::spawn(command, ""), _directory: directory }
    }

    /// Returns the URL of the database through the load balancer. The server behind it may change.
    pub(crate) fn url() -> String {
        format!("postgres://agora@{}/agora?target_session_attrs=read-write", Self::ADDRESS)
    }
}
