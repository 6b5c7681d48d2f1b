//! Accepts connections, up to their limit.

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
use crate::transport::reject::turn_away;

/// How many connections beyond the limit are answered 503 at once; others are closed without.
const MAX_REJECTIONS_IN_FLIGHT: usize = 256;

/// Accepts connections, unless there are too many.
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

    /// Takes a connection on.
    ///
    /// # Errors
    /// When there are too many.
    pub(crate) async fn accept(self, tcp: TcpStream) -> Result<(Stream, Protocol, Option<SocketAddr>), DispatchError> {
        let address = tcp.peer_addr().ok();
        // A trusted proxy is many clients.
        let client = address.map(|address| address.ip()).filter(|ip| !self.state.trusted_proxies.is_trusted(*ip));
        let client = ClientAddress::of(client.unwrap_or(Ipv4Addr::LOCALHOST.into()));
        let Some(permit) = self.capacity.connections.try_acquire(client) else {
            if let Ok(_permit) = self.rejections.try_acquire() {
                turn_away(tcp, &self.state.services).await;
            }
            return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into());
        };
        configure(&tcp, self.capacity.limits.answer_time);
        Ok((Stream::new(tcp, self.state, &self.capacity.limits, permit), Protocol::Http1, address))
    }
}

/// Sends what is to be sent at once, and ends a connection whose client has vanished: one that acknowledges nothing for as long as
/// it has to take an answer. The system would wait for some 15 minutes.
fn configure(tcp: &TcpStream, answer_time: Duration) {
    // A client that is gone already is noticed when it is read from.
    let _ = tcp.set_nodelay(true);
    let _ = SockRef::from(tcp).set_tcp_user_timeout(Some(answer_time));
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_client_that_vanishes_is_noticed_in_the_time_that_it_has_to_take_an_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (_client, accepted) = tokio::join!(client, listener.accept());
        let (tcp, _) = accepted.unwrap();
        configure(&tcp, Duration::from_secs(30));
        assert_eq!(SockRef::from(&tcp).tcp_user_timeout().unwrap(), Some(Duration::from_secs(30)));
        assert!(tcp.nodelay().unwrap());
    }
}
