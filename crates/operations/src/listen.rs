//! The addresses that the service listens at.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};

use anyhow::{Context, Result};
use tokio::net::TcpSocket;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// Listens at an address, the first of those that a name stands for at which that is possible.
///
/// # Errors
/// When there is none, with the name of the setting.
pub fn listen(address: &str, setting: &str) -> Result<TcpListener> {
    first(address, setting, |candidate| bind(candidate)?.listen(BACKLOG)?.into_std())
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
