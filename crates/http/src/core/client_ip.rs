//! The address that a request comes from.

use std::net::{IpAddr, Ipv4Addr};

use actix_web::HttpRequest;
use agora_domain::limits::ClientAddress;

use crate::core::{State, extractor, shared};

/// Where the request comes from.
pub(crate) struct Client(pub(crate) ClientAddress);

impl Client {
    /// Returns the address that the request comes from.
    pub(crate) fn address(state: &State, request: &HttpRequest) -> IpAddr {
        // A connection without an address is one of this machine.
        let peer = request.peer_addr().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.ip());
        state.trusted_proxies.client(peer, request.headers())
    }

    /// Returns what limits count the request as: its address or network.
    pub(crate) fn of(state: &State, request: &HttpRequest) -> Self {
        Self(ClientAddress::of(Self::address(state, request)))
    }
}

extractor!(Client, |request| Ok(Self::of(shared::<State>(request)?, request)));
