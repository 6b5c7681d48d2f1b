//! A TCP port of this machine that a test opens and closes as it likes.

#![allow(dead_code, reason = "each suite uses a part")]

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr};

use socket2::{Domain, SockRef, Socket, Type};
use tokio::net::{TcpListener, TcpStream};

/// A port of 127.0.0.1 that nobody else is given while this is there, whether or not it is open.
///
/// It stays the same socket throughout. A new one at the same address would not always get it: a process that is being
/// started has the sockets of the one that starts it, for a moment, and what listens elsewhere stands in the way.
pub(crate) struct Port(Socket);

impl Port {
    /// A free one, closed: connections are refused. Another process can listen there if it asks for the port by its
    /// number and lets others reuse the address.
    pub(crate) fn new() -> Self {
        let free = bind(0);
        // The system forgets a port that it chose itself when the socket stops to listen, not one that it was asked for.
        Self(bind(address(&free).port()))
    }

    /// Where to connect to.
    pub(crate) fn address(&self) -> SocketAddr {
        address(&self.0)
    }

    /// Opens it, until what this returns is dropped. It MUST be closed.
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
        // Other holders of the socket do not keep it open.
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
