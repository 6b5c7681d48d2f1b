//! Resources of the host: addresses to listen on, and open files.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};

use agora_config::Config;
use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::net::{TcpListener as TokioListener, TcpSocket};

/// The most connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// A bound address. Connections are refused until [`listen`](Self::listen).
pub struct Bound {
    socket: TcpSocket,
    /// The address, with the port that the system chose if 0 was configured.
    pub address: SocketAddr,
    setting: &'static str,
}

impl Bound {
    /// Binds the first of the addresses that `address` resolves to that can be bound. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// When there is none, with the name of the setting.
    pub fn new(address: &str, setting: &'static str) -> Result<Self> {
        try_each(address, setting, |candidate| {
            let socket = bind(candidate)?;
            Ok(Self { address: socket.local_addr()?, socket, setting })
        })
    }

    /// Starts to listen.
    ///
    /// # Errors
    /// When another process listens on the same address by now, with the name of the setting.
    pub fn listen(self) -> Result<TcpListener> {
        let Self { socket, address, setting } = self;
        let listener = socket.listen(BACKLOG).and_then(TokioListener::into_std);
        listener.with_context(|| format!("cannot listen on {address} ({setting})"))
    }
}

/// Returns whether the address is in use. It is bound but not listened on, so that a service may start meanwhile.
///
/// # Errors
/// When the address cannot be bound for another reason, with the name of the setting.
pub fn is_taken(address: &str, setting: &str) -> Result<bool> {
    try_each(address, setting, |candidate| match bind(candidate) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(true),
        bound => bound.map(|_| false),
    })
}

/// Calls `attempt` with each address that `address` resolves to, until one succeeds.
fn try_each<T>(address: &str, setting: &str, attempt: impl Fn(SocketAddr) -> io::Result<T>) -> Result<T> {
    let context = || format!("cannot listen on {address} ({setting})");
    let mut failure = anyhow::anyhow!("it does not resolve to an address");
    for candidate in address.to_socket_addrs().with_context(context)? {
        match attempt(candidate) {
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

/// Returns the address under which this machine reaches a listener: the loopback address if it listens on all interfaces.
pub fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    address
}

/// Open files reserved for everything but the connections of clients and of the database's pool: the listener, threads, SQLite.
const RESERVED_FILES: u64 = 256;

/// Raises the limit on open files as far as possible, and returns the most client connections to accept: the configured number,
/// or by default half of the free files, at most [`Config::MAX_CONNECTIONS`], so that each connection may also have the file of an
/// image open.
///
/// # Errors
/// When more connections are configured than open files are free.
pub fn connections(config: &Config) -> Result<usize> {
    max_connections(raise_limit(), reserved(config), config.max_connections)
}

/// Returns how many open files the default maximum of connections requires.
pub fn wanted(config: &Config) -> u64 {
    reserved(config) + 2 * u64::try_from(Config::MAX_CONNECTIONS).unwrap_or(u64::MAX / 4)
}

fn reserved(config: &Config) -> u64 {
    RESERVED_FILES + u64::from(u32::try_from(config.database_connections).unwrap_or(u32::MAX))
}

/// Raises the soft limit on open files to the hard limit; returns the limit now in effect.
fn raise_limit() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    let given = limit.current;
    limit.current = limit.maximum;
    let now = setrlimit(Resource::Nofile, limit).map_or(given, |()| limit.maximum);
    now.unwrap_or(u64::MAX)
}

fn max_connections(files: u64, reserved: u64, configured: Option<usize>) -> Result<usize> {
    let free = usize::try_from(files.saturating_sub(reserved)).unwrap_or(usize::MAX);
    let Some(configured) = configured else { return Ok((free / 2).clamp(1, Config::MAX_CONNECTIONS)) };
    ensure!(
        configured <= free,
        "AGORA_MAX_CONNECTIONS must be at most {free}: the process may have {files} files open (ulimit -n), of which \
         {reserved} are reserved for other purposes"
    );
    Ok(configured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_the_reserved_files_free() {
        assert_eq!(max_connections(1024, 256, None).unwrap(), 384);
        assert_eq!(max_connections(1 << 20, 256, None).unwrap(), Config::MAX_CONNECTIONS);
        assert_eq!(max_connections(10, 256, None).unwrap(), 1);
        assert_eq!(max_connections(1024, 256, Some(768)).unwrap(), 768);
        let refused = max_connections(1024, 256, Some(769)).unwrap_err().to_string();
        assert!(refused.contains("AGORA_MAX_CONNECTIONS") && refused.contains("768"), "{refused}");
    }
}
