//! Who a request comes from when proxies stand between.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use actix_web::HttpRequest;
use actix_web::http::header::{HeaderMap, HeaderValue, X_FORWARDED_FOR};
use ipnet::IpNet;

/// The proxies whose word about where a request comes from counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl FromStr for TrustedProxies {
    type Err = String;

    /// Addresses and networks such as `10.0.0.0/8` and `::1`, separated by commas.
    fn from_str(list: &str) -> Result<Self, String> {
        let parse = |text: &str| {
            let network = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
            network.map_err(|_| format!("{text:?} is no address and no network such as 10.0.0.0/8"))
        };
        let entries = list.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        entries.map(parse).collect::<Result<_, _>>().map(Self)
    }
}

impl TrustedProxies {
    /// Returns whether an address is that of a trusted proxy.
    pub(crate) fn trust(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// Returns whether a request was handed on by a trusted proxy.
    pub(crate) fn handed_on(&self, request: &HttpRequest) -> bool {
        !self.0.is_empty() && request.peer_addr().is_some_and(|peer| self.trust(peer.ip()))
    }

    /// Returns the address of the client whose request came in from `peer`. Each proxy adds to the end of
    /// `X-Forwarded-For` from whom it had the request; so the word of a trusted one counts, and that of whoever it
    /// names only if that is a trusted one again. What clients write there themselves never counts.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer;
        if self.0.is_empty() {
            return client;
        }
        // Entry by entry: what a client writes there may be no text, and proxies add theirs to the same line.
        let lines = headers.get_all(X_FORWARDED_FOR).map(HeaderValue::as_bytes);
        let mut named: Vec<_> = lines.flat_map(|line| line.split(|byte| *byte == b',')).collect();
        while self.trust(client) {
            match named.pop().and_then(address) {
                // Nobody but this machine knows who on it has asked.
                Some(address) if address.to_canonical().is_loopback() && !peer.to_canonical().is_loopback() => break,
                Some(address) => client = address,
                None => break,
            }
        }
        client
    }
}

/// Returns the address in an entry, which some proxies write with the port.
fn address(entry: &[u8]) -> Option<IpAddr> {
    let entry = str::from_utf8(entry).ok()?.trim();
    let plain = entry.strip_prefix('[').and_then(|entry| entry.strip_suffix(']')).unwrap_or(entry);
    plain.parse().ok().or_else(|| entry.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(trusted: &str, peer: &str, lines: &[impl AsRef<[u8]>]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(X_FORWARDED_FOR, HeaderValue::from_bytes(line.as_ref()).unwrap());
        }
        trusted.parse::<TrustedProxies>().unwrap().client(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn without_trusted_proxies_the_header_is_ignored() {
        assert_eq!(client("", "192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
        assert_eq!(client("10.0.0.1", "192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
    }

    #[test]
    fn the_last_address_that_a_trusted_proxy_names_and_that_is_none_itself_is_the_client() {
        for (trusted, peer, lines, expected) in [
            ("10.0.0.1", "10.0.0.1", &["198.51.100.7"][..], "198.51.100.7"),
            ("10.0.0.1", "::ffff:10.0.0.1", &["198.51.100.7"], "198.51.100.7"),
            // What the client wrote there itself stands before what the proxies added.
            ("10.0.0.0/8", "10.0.0.1", &["127.0.0.1, 198.51.100.7"], "198.51.100.7"),
            ("10.0.0.0/8", "10.0.0.1", &["127.0.0.1,198.51.100.7 , 10.2.3.4"], "198.51.100.7"),
            ("10.0.0.0/8", "10.0.0.1", &["127.0.0.1", "198.51.100.7", "10.2.3.4"], "198.51.100.7"),
            ("127.0.0.1, ::1", "::1", &["2001:db8::1"], "2001:db8::1"),
            ("::1", "::1", &["[2001:db8::1]:4711"], "2001:db8::1"),
            ("::1", "::1", &["[2001:db8::1]"], "2001:db8::1"),
            ("::1", "::1", &["198.51.100.7:4711"], "198.51.100.7"),
            // Only a proxy on this machine knows who else is on it.
            ("10.0.0.0/8", "10.0.0.1", &["127.0.0.1"], "10.0.0.1"),
            ("10.0.0.0/8", "10.0.0.1", &["::ffff:127.0.0.1, 10.0.0.2"], "10.0.0.2"),
            ("127.0.0.1", "127.0.0.1", &["127.0.0.1"], "127.0.0.1"),
            ("127.0.0.1", "127.0.0.1", &["::1"], "::1"),
            // All of them are proxies: the first one is as far as is known.
            ("10.0.0.0/8", "10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ] {
            assert_eq!(client(trusted, peer, lines), expected, "{peer} {lines:?}");
        }
    }

    #[test]
    fn what_is_no_address_ends_the_search_at_the_last_that_was_one() {
        for line in ["", "unknown", "for=198.51.100.7", "198.51.100.7, _hidden", "198.51.100.7,", "::1::"] {
            assert_eq!(client("10.0.0.1", "10.0.0.1", &[line]), "10.0.0.1", "{line}");
        }
        assert_eq!(client("10.0.0.1", "10.0.0.1", &[""; 0]), "10.0.0.1");
    }

    #[test]
    fn what_a_client_writes_there_hides_nothing_that_proxies_add() {
        for line in [&b"\xff, 198.51.100.7"[..], b"\x80,,198.51.100.7", "\u{a0}198.51.100.9, 198.51.100.7".as_bytes()] {
            assert_eq!(client("10.0.0.0/8", "10.0.0.1", &[line]), "198.51.100.7");
        }
        assert_eq!(client("10.0.0.0/8", "10.0.0.1", &[b"198.51.100.7, \xff"]), "10.0.0.1");
    }

    #[test]
    fn a_list_has_addresses_and_networks_alone() {
        assert_eq!("".parse::<TrustedProxies>(), Ok(TrustedProxies::default()));
        for bad in ["proxy.example.org", "10.0.0.0/33", "10.0.0.1;10.0.0.2", "*", "10.0.0"] {
            assert!(bad.parse::<TrustedProxies>().is_err(), "{bad}");
        }
    }
}
