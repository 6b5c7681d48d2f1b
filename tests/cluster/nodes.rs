//! The nodes of the service, and nginx in front of them.

use std::env;

use crate::balancer::Balancer;
use crate::client::{Client, PASSWORD, PUBLIC_URL};
use crate::database::Database;
use crate::nginx;
use crate::process::{AGORA, Home, Process, Service};
use crate::store::Store;

/// Three nodes with the same database, images and secret, each at a fixed address. Two are configured with the servers of the
/// database, one with its load balancer.
pub(crate) struct Nodes {
    nodes: Vec<Node>,
    variables: Vec<(&'static str, String)>,
    servers: String,
    front: (Client, Process, Home),
}

struct Node {
    home: Home,
    /// The path of the binary.
    binary: String,
    service: Option<Service>,
}

impl Nodes {
    const COUNT: usize = 3;

    pub(crate) async fn start(database: &Database) -> Self {
        let binary = env::var("AGORA_CLUSTER_BEFORE").unwrap_or_else(|_| AGORA.to_owned());
        let node = |_| Node { home: Home::new(), binary: binary.clone(), service: None };
        let nodes = (0..Self::COUNT).map(node).collect();
        let mut variables = vec![
            ("AGORA_DATABASE_CONNECTIONS", "20".to_owned()),
            ("AGORA_PUBLIC_URL", PUBLIC_URL.to_owned()),
            ("AGORA_TRUSTED_PROXIES", "127.0.0.1".to_owned()),
            ("AGORA_JWT_SECRET", "a secret that all nodes have in common".to_owned()),
            ("AGORA_ADMIN_USERNAME", "root".to_owned()),
            ("AGORA_ADMIN_EMAIL", "root@example.org".to_owned()),
            ("AGORA_ADMIN_PASSWORD", PASSWORD.to_owned()),
        ];
        variables.extend(Store::variables());
        let (home, (http, https)) = (Home::new(), nginx::addresses());
        let addresses: [_; Self::COUNT] = std::array::from_fn(address);
        let proxy = nginx::nginx(&home, &addresses.each_ref().map(String::as_str), http, https).await;
        let front = (nginx::client(https, |builder| builder), proxy, home);
        let mut nodes = Self { nodes, variables, servers: database.url(), front };
        (0..Self::COUNT).for_each(|node| nodes.restart(node));
        nodes
    }

    /// Starts a node at its address.
    pub(crate) fn restart(&mut self, node: usize) {
        let address = address(node);
        let Node { home, binary, service } = &mut self.nodes[node];
        let mut variables: Vec<_> = self.variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let balancer = Balancer::url();
        let database = if node == 0 { &balancer } else { &self.servers };
        variables.extend([("AGORA_LISTEN", address.as_str()), ("AGORA_DATABASE_URL", database)]);
        let mut command = home.release(binary, &[]);
        command.envs(variables);
        *service = Some(Service::start(command));
    }

    /// Kills a node, as a crash would.
    pub(crate) fn kill(&mut self, node: usize) {
        if let Some(service) = self.nodes[node].service.take() {
            service.kill();
        }
    }

    /// Stops a node gracefully, and starts the current binary in its place.
    pub(crate) fn replace(&mut self, node: usize) {
        if let Some(service) = self.nodes[node].service.take() {
            service.stop();
        }
        AGORA.clone_into(&mut self.nodes[node].binary);
        self.restart(node);
    }

    pub(crate) fn count(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn clients(&self) -> Vec<Client> {
        self.nodes.iter().map(|node| node.service.as_ref().unwrap().api.clone()).collect()
    }

    /// Returns a client of the proxy in front of the nodes.
    pub(crate) fn front(&self) -> Client {
        self.front.0.clone()
    }

    pub(crate) fn stop(mut self) {
        for node in &mut self.nodes {
            node.service.take().unwrap().stop();
        }
    }
}

fn address(node: usize) -> String {
    format!("127.0.0.1:{}", 18_080 + node)
}

impl Drop for Nodes {
    #[allow(clippy::print_stderr, reason = "what the nodes say explains the failure")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            for (number, node) in self.nodes.iter().enumerate() {
                eprintln!("node {number}:\n{}", node.service.as_ref().map(Service::log).unwrap_or_default());
            }
        }
    }
}
