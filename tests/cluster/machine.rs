//! Machines: network namespaces, each with an address on one network.

use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;

/// The network of all machines. It is gone when this is dropped.
pub(crate) struct Network {
    bridge: String,
}

impl Network {
    /// The first address is this machine's.
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

/// A machine. It is gone, with all that it runs, when this is dropped.
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) address: Ipv4Addr,
    /// What programs on it may write to.
    pub(crate) directory: PathBuf,
    /// Its end of the line to the network, as this machine sees it.
    line: String,
}

impl Machine {
    /// Sets up the machine of this number.
    pub(crate) fn new(network: &Network, number: u8) -> Self {
        let [a, b, c] = Network::PREFIX;
        let address = Ipv4Addr::new(a, b, c, 10 + number);
        let (name, line, inside) = (format!("agora-db{number}"), format!("agora-line{number}"), "line");
        let directory = tempfile::Builder::new().prefix("agora-cluster-").tempdir().unwrap().keep();
        run(Command::new("chown").arg("postgres:").arg(&directory));
        ip(&["netns", "add", &name]);
        ip(&["link", "add", &line, "type", "veth", "peer", "name", inside, "netns", &name]);
        ip(&["link", "set", &line, "master", &network.bridge, "up"]);
        ip(&["-n", &name, "address", "add", &format!("{address}/24"), "dev", inside]);
        ip(&["-n", &name, "link", "set", inside, "up"]);
        ip(&["-n", &name, "link", "set", "lo", "up"]);
        Self { name, address, directory, line }
    }

    /// A program on it, which has the rights of the database server's user.
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

    /// Sends a signal to each of its processes whose command line has this text.
    pub(crate) fn signal(&self, signal: &str, text: &str) {
        let pids = ip(&["netns", "pids", &self.name]);
        let is_meant = |pid: &&str| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).replace('\0', " ").contains(text)
        };
        let pids: Vec<_> = pids.lines().filter(is_meant).collect();
        // Some may have ended by themselves.
        let _ = Command::new("kill").arg(format!("-{signal}")).args(pids).output();
    }

    /// Cuts it off the network, without a word to anybody.
    pub(crate) fn cut(&self) {
        ip(&["link", "set", &self.line, "down"]);
    }

    /// Puts it on the network again.
    pub(crate) fn reconnect(&self) {
        ip(&["link", "set", &self.line, "up"]);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.signal("KILL", "");
        // A namespace may last for a while after it has no name any more, and with it its line.
        ip(&["link", "delete", &self.line]);
        ip(&["netns", "delete", &self.name]);
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn ip(arguments: &[&str]) -> String {
    run(Command::new("ip").args(arguments))
}

/// Runs a program to its end; what it printed.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().expect("the program runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
