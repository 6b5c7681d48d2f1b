//! The client address of a request.

use std::net::{IpAddr, Ipv4Addr};

use actix_web::HttpRequest;
use agora_domain::limits::ClientAddress;

use crate::core::{State, extractor, shared};

/// The client of a request, as rate limits count it: by its address, or for IPv6 by its network.
pub(crate) struct Client(pub(crate) ClientAddress);

impl Client {
    /// Returns the IP address of the client, which trusted proxies may have forwarded.
    pub(crate) fn address(state: &State, request: &HttpRequest) -> IpAddr {
        // A connection without a peer address is local.
        let peer = request.peer_addr().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.ip());
        state.trusted_proxies.client(peer, request.headers())
    }

    /// Returns the client of a request, by the address from [`Client::address`].
    pub(crate) fn of(state: &State, request: &HttpRequest) -> Self {
        Self(ClientAddress::of(Self::address(state, request)))
    }
}

extractor!(Client, |request| Ok(Self::of(shared::<State>(request)?, request)));
