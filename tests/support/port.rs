//! A TCP port of this machine that a test can open and close repeatedly.

#![allow(dead_code, reason = "each suite uses a part")]

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr};

use socket2::{Domain, SockRef, Socket, Type};
use tokio::net::{TcpListener, TcpStream};

/// A port of 127.0.0.1, reserved while this value exists, whether or not it is open.
///
/// The socket stays the same throughout. A new one could not always bind the address: a process that is being spawned briefly
/// holds copies of its parent's sockets, and a listening copy prevents it.
pub(crate) struct Port(Socket);

impl Port {
    /// Reserves a free port. It is closed: connections are refused. Another process can listen on it if it binds the port by
    /// number with `SO_REUSEADDR`.
    pub(crate) fn new() -> Self {
        let free = bind(0);
        // Bound once more by number: the system releases a port that it chose itself when the socket stops listening.
        Self(bind(address(&free).port()))
    }

    /// Returns the address to connect to.
    pub(crate) fn address(&self) -> SocketAddr {
        address(&self.0)
    }

    /// Opens the port until the returned value is dropped. It must be closed before.
    pub(crate) fn open(&self) -> Open {
        self.0.listen(1024).expect("a listener");
        Open(TcpListener::from_std(self.0.try_clone().expect("a socket").into()).expect("a listener"))
    }
}

/// An open port. When it is dropped, connections are refused, and those that were not accepted are cut.
pub(crate) struct Open(TcpListener);

impl Open {
    /// Waits for a connection.
    pub(crate) async fn accept(&self) -> io::Result<TcpStream> {
        Ok(self.0.accept().await?.0)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // A shutdown also closes copies of the socket in other processes.
        SockRef::from(&self.0).shutdown(Shutdown::Both).expect("it was open");
    }
}

fn bind(port: u16) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.set_reuse_address(true).expect("a socket");
    socket.set_nonblocking(true).expect("a socket");
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into()).expect("a free port");
    socket
}

fn address(socket: &Socket) -> SocketAddr {
    socket.local_addr().expect("an address").as_socket().expect("an address")
}
