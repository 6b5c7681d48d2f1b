//! What a service takes of its machine: addresses to listen at, and open files.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};

use agora_config::Config;
use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::net::{TcpListener as TokioListener, TcpSocket};

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// An address at which nobody listens, and connections are refused until [`listen`](Self::listen).
pub struct Bound {
    socket: TcpSocket,
    /// The address.
    pub address: SocketAddr,
    setting: &'static str,
}

impl Bound {
    /// Takes an address, the first of those that a name stands for at which that is possible. It is called on a runtime.
    ///
    /// # Errors
    /// When there is none, with the name of the setting.
    pub fn new(address: &str, setting: &'static str) -> Result<Self> {
        first(address, setting, |candidate| {
            let socket = bind(candidate)?;
            Ok(Self { address: socket.local_addr()?, socket, setting })
        })
    }

    /// Begins to listen.
    ///
    /// # Errors
    /// When another process took the same address meanwhile, with the name of the setting.
    pub fn listen(self) -> Result<TcpListener> {
        let Self { socket, address, setting } = self;
        let listener = socket.listen(BACKLOG).and_then(TokioListener::into_std);
        listener.with_context(|| format!("cannot listen on {address} ({setting})"))
    }
}

/// Returns whether anybody listens at an address, or nobody but could: without listening, so that a service may start
/// meanwhile.
///
/// # Errors
/// When nobody can, with the name of the setting.
pub fn is_taken(address: &str, setting: &str) -> Result<bool> {
    first(address, setting, |candidate| match bind(candidate) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(true),
        bound => bound.map(|_| false),
    })
}

/// Returns what can be done with the first of the addresses that a name stands for.
fn first<T>(address: &str, setting: &str, listen: impl Fn(SocketAddr) -> io::Result<T>) -> Result<T> {
    let context = || format!("cannot listen on {address} ({setting})");
    let mut failure = anyhow::anyhow!("it names no address");
    for candidate in address.to_socket_addrs().with_context(context)? {
        match listen(candidate) {
            Ok(done) => return Ok(done),
            Err(error) => failure = error.into(),
        }
    }
    Err(failure.context(context()))
}

fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Returns the address under which this machine reaches a listener: one on all interfaces is reached on the loopback
/// one.
pub fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    address
}

/// Files for all but the connections of clients: the database's, the listener, those of the threads.
const OTHERS: u64 = 256;

/// Lets the process have as many open files as it may, and finds the most connections to take on: as configured, or
/// else so many that each may read an image's file at the same time.
///
/// # Errors
/// When more connections are configured than there may be open files for.
pub fn connections(config: &Config) -> Result<usize> {
    within(raise(), others(config), config.max_connections)
}

/// Returns how many open files the most connections by default take.
pub fn wanted(config: &Config) -> u64 {
    others(config) + 2 * u64::try_from(Config::MAX_CONNECTIONS).unwrap_or(u64::MAX / 4)
}

fn others(config: &Config) -> u64 {
    OTHERS + u64::from(u32::try_from(config.database_connections).unwrap_or(u32::MAX))
}

/// Raises the limit on open files as far as it goes; what it is then.
fn raise() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    let given = limit.current;
    limit.current = limit.maximum;
    let now = setrlimit(Resource::Nofile, limit).map_or(given, |()| limit.maximum);
    now.unwrap_or(u64::MAX)
}

fn within(files: u64, others: u64, configured: Option<usize>) -> Result<usize> {
    let free = usize::try_from(files.saturating_sub(others)).unwrap_or(usize::MAX);
    let Some(configured) = configured else { return Ok((free / 2).clamp(1, Config::MAX_CONNECTIONS)) };
    ensure!(
        configured <= free,
        "AGORA_MAX_CONNECTIONS must be at most {free}: the process may have {files} files open (ulimit -n), of which \
         {others} serve other ends"
    );
    Ok(configured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_the_rest() {
        assert_eq!(within(1024, 256, None).unwrap(), 384);
        assert_eq!(within(1 << 20, 256, None).unwrap(), Config::MAX_CONNECTIONS);
        assert_eq!(within(10, 256, None).unwrap(), 1);
        assert_eq!(within(1024, 256, Some(768)).unwrap(), 768);
        let refused = within(1024, 256, Some(769)).unwrap_err().to_string();
        assert!(refused.contains("AGORA_MAX_CONNECTIONS") && refused.contains("768"), "{refused}");
    }
}
