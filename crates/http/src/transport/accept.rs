//! Accepts connections, up to the limits on them.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use actix_http::Protocol;
use actix_http::error::DispatchError;
use actix_web::rt::net::TcpStream;
use agora_domain::limits::ClientAddress;
use socket2::SockRef;
use tokio::sync::Semaphore;

use crate::core::{Capacity, State};
use crate::transport::Stream;
use crate::transport::reject::reject_connection;

/// The most connections beyond the limit that are being answered 503 at once. Others are closed without an answer.
const MAX_REJECTIONS_IN_FLIGHT: usize = 256;

/// Accepts connections within the limits on them, and rejects others.
#[derive(Clone)]
pub(crate) struct Acceptor {
    state: Arc<State>,
    capacity: Arc<Capacity>,
    /// A permit for each connection that is being answered 503.
    rejections: Arc<Semaphore>,
}

impl Acceptor {
    pub(crate) fn new(state: Arc<State>, capacity: Arc<Capacity>) -> Self {
        Self { state, capacity, rejections: Arc::new(Semaphore::new(MAX_REJECTIONS_IN_FLIGHT)) }
    }

    /// Returns the stream of a connection, which holds its permit.
    ///
    /// # Errors
    /// When there are too many connections, in total or from the client's address.
    pub(crate) async fn accept(self, tcp: TcpStream) -> Result<(Stream, Protocol, Option<SocketAddr>), DispatchError> {
        let address = tcp.peer_addr().ok();
        // A trusted proxy connects for many clients: it counts as loopback, which the share of an address does not limit.
        let client = address.map(|address| address.ip()).filter(|ip| !self.state.trusted_proxies.is_trusted(*ip));
        let client = ClientAddress::of(client.unwrap_or(Ipv4Addr::LOCALHOST.into()));
        let Some(permit) = self.capacity.connections.try_acquire(client) else {
            if let Ok(_permit) = self.rejections.try_acquire() {
                reject_connection(tcp, &self.state.services).await;
            }
            return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into());
        };
        configure(&tcp, self.capacity.limits.answer_time);
        Ok((Stream::new(tcp, self.state, &self.capacity.limits, permit), Protocol::Http1, address))
    }
}

/// Disables Nagle's algorithm, and closes the connection if the client acknowledges nothing for `answer_time`. By default the
/// system would wait for some 15 minutes.
fn configure(tcp: &TcpStream, answer_time: Duration) {
    // Errors are ignored: if the client is gone already, the first read fails.
    let _ = tcp.set_nodelay(true);
    let _ = SockRef::from(tcp).set_tcp_user_timeout(Some(answer_time));
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn accepted_sockets_have_no_delay_and_the_answer_time_as_tcp_user_timeout() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (_client, accepted) = tokio::join!(client, listener.accept());
        let (tcp, _) = accepted.unwrap();
        configure(&tcp, Duration::from_secs(30));
        assert_eq!(SockRef::from(&tcp).tcp_user_timeout().unwrap(), Some(Duration::from_secs(30)));
        assert!(tcp.nodelay().unwrap());
    }
}
