//! Simulated machines: network namespaces, each with an address on a common network.

use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;

/// The network of all machines. It is removed when this is dropped.
pub(crate) struct Network {
    bridge: String,
}

impl Network {
    /// The prefix of all addresses. The first address is that of the host.
    pub(crate) const PREFIX: [u8; 3] = [198, 18, 0];

    pub(crate) fn new() -> Self {
        let network = Self { bridge: "agora-bridge".to_owned() };
        ip(&["link", "add", &network.bridge, "type", "bridge"]);
        let [a, b, c] = Self::PREFIX;
        ip(&["address", "add", &format!("{a}.{b}.{c}.1/24"), "dev", &network.bridge]);
        ip(&["link", "set", &network.bridge, "up"]);
        network
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        ip(&["link", "delete", &self.bridge]);
    }
}

/// A machine. It is removed, with all its processes, when this is dropped.
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) address: Ipv4Addr,
    /// The working directory of its programs, to which they may write.
    pub(crate) directory: PathBuf,
    /// The host's end of the virtual Ethernet pair that connects the machine to the network.
    link: String,
}

impl Machine {
    /// Sets up the machine with this number.
    pub(crate) fn new(network: &Network, number: u8) -> Self {
        let [a, b, c] = Network::PREFIX;
        let address = Ipv4Addr::new(a, b, c, 10 + number);
        let (name, link, inside) = (format!("agora-db{number}"), format!("agora-line{number}"), "line");
        let directory = tempfile::Builder::new().prefix("agora-cluster-").tempdir().unwrap().keep();
        run(Command::new("chown").arg("postgres:").arg(&directory));
        ip(&["netns", "add", &name]);
        ip(&["link", "add", &link, "type", "veth", "peer", "name", inside, "netns", &name]);
        ip(&["link", "set", &link, "master", &network.bridge, "up"]);
        ip(&["-n", &name, "address", "add", &format!("{address}/24"), "dev", inside]);
        ip(&["-n", &name, "link", "set", inside, "up"]);
        ip(&["-n", &name, "link", "set", "lo", "up"]);
        Self { name, address, directory, link }
    }

    /// Returns a command for a program on this machine, run as the database server's user.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args([
            "netns",
            "exec",
            &self.name,
            "setpriv",
            "--reuid=postgres",
            "--regid=postgres",
            "--clear-groups",
        ]);
        command.arg(program).current_dir(&self.directory).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command
    }

    /// Sends a signal to each of its processes whose command line contains this text.
    pub(crate) fn signal(&self, signal: &str, text: &str) {
        let pids = ip(&["netns", "pids", &self.name]);
        let is_meant = |pid: &&str| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).replace('\0', " ").contains(text)
        };
        let pids: Vec<_> = pids.lines().filter(is_meant).collect();
        // Some may have ended already.
        let _ = Command::new("kill").arg(format!("-{signal}")).args(pids).output();
    }

    /// Disconnects the machine from the network. Connections are not closed.
    pub(crate) fn cut(&self) {
        ip(&["link", "set", &self.link, "down"]);
    }

    /// Reconnects the machine to the network.
    pub(crate) fn reconnect(&self) {
        ip(&["link", "set", &self.link, "up"]);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.signal("KILL", "");
        // A namespace may outlive its name for a while, and with it the link.
        ip(&["link", "delete", &self.link]);
        ip(&["netns", "delete", &self.name]);
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn ip(arguments: &[&str]) -> String {
    run(Command::new("ip").args(arguments))
}

/// Runs a program, which must succeed, and returns its standard output.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().expect("the program runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
