//! The client address of a request that arrives through reverse proxies.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use actix_web::HttpRequest;
use actix_web::http::header::{HeaderMap, HeaderValue, X_FORWARDED_FOR};
use ipnet::IpNet;

/// The proxies whose forwarding headers are trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl FromStr for TrustedProxies {
    type Err = String;

    /// Parses addresses and networks such as `10.0.0.0/8` and `::1`, separated by commas.
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
    pub(crate) fn is_trusted(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// Returns whether a request was forwarded by a trusted proxy.
    pub(crate) fn is_forwarded(&self, request: &HttpRequest) -> bool {
        !self.0.is_empty() && request.peer_addr().is_some_and(|peer| self.is_trusted(peer.ip()))
    }

    /// Returns the address of the client whose request came in from `peer`.
    ///
    /// Each proxy appends to `X-Forwarded-For` the address from which it received the request. So the entries are read from the
    /// end, for as long as the address found so far is a trusted proxy. Entries that clients write themselves never count.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer;
        if self.0.is_empty() {
            return client;
        }
        // Split as bytes: a client may send invalid text, to which proxies append their entries in the same line.
        let lines = headers.get_all(X_FORWARDED_FOR).map(HeaderValue::as_bytes);
        let mut entries: Vec<_> = lines.flat_map(|line| line.split(|byte| *byte == b',')).collect();
        while self.is_trusted(client) {
            match entries.pop().and_then(address) {
                // Only a peer on this machine can name a loopback address of this machine.
                Some(address) if address.to_canonical().is_loopback() && !peer.to_canonical().is_loopback() => break,
                Some(address) => client = address,
                None => break,
            }
        }
        client
    }
}

/// Parses the address in an entry. Some proxies write it with the port.
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
    fn the_client_is_the_last_entry_that_is_not_a_trusted_proxy() {
        for (trusted, peer, lines, expected) in [
            ("10.0.0.1", "10.0.0.1", &["198.51.100.7"][..], "198.51.100.7"),
            ("10.0.0.1", "::ffff:10.0.0.1", &["198.51.100.7"], "198.51.100.7"),
            // What the client itself sent stands before the entries of the proxies.
            ("10.0.0.0/8", "10.0.0.1", &["127.0.0.1, 198.51.100.7"], "198.51.100.7"),
            ("10.0.0.0/8", "10.0.0.1", &["127.0.0.1,198.51.100.7 , 10.2.3.4"], "198.51.100.7"),
            ("10.0.0.0/8", "10.0.0.1", &["127.0.0.1", "198.51.100.7", "10.2.3.4"], "198.51.100.7"),
            ("127.0.0.1, ::1", "::1", &["2001:db8::1"], "2001:db8::1"),
            ("::1", "::1", &["[2001:db8::1]:4711"], "2001:db8::1"),
            ("::1", "::1", &["[2001:db8::1]"], "2001:db8::1"),
            ("::1", "::1", &["198.51.100.7:4711"], "198.51.100.7"),
            // A loopback address counts only from a proxy on this machine.
            ("10.0.0.0/8", "10.0.0.1", &["127.0.0.1"], "10.0.0.1"),
            ("10.0.0.0/8", "10.0.0.1", &["::ffff:127.0.0.1, 10.0.0.2"], "10.0.0.2"),
            ("127.0.0.1", "127.0.0.1", &["127.0.0.1"], "127.0.0.1"),
            ("127.0.0.1", "127.0.0.1", &["::1"], "::1"),
            // If all entries are trusted proxies, the first one counts as the client.
            ("10.0.0.0/8", "10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ] {
            assert_eq!(client(trusted, peer, lines), expected, "{peer} {lines:?}");
        }
    }

    #[test]
    fn an_invalid_entry_ends_the_search_at_the_last_valid_address() {
        for line in ["", "unknown", "for=198.51.100.7", "198.51.100.7, _hidden", "198.51.100.7,", "::1::"] {
            assert_eq!(client("10.0.0.1", "10.0.0.1", &[line]), "10.0.0.1", "{line}");
        }
        assert_eq!(client("10.0.0.1", "10.0.0.1", &[""; 0]), "10.0.0.1");
    }

    #[test]
    fn invalid_text_from_a_client_does_not_hide_the_entries_of_proxies() {
        for line in [&b"\xff, 198.51.100.7"[..], b"\x80,,198.51.100.7", "\u{a0}198.51.100.9, 198.51.100.7".as_bytes()] {
            assert_eq!(client("10.0.0.0/8", "10.0.0.1", &[line]), "198.51.100.7");
        }
        assert_eq!(client("10.0.0.0/8", "10.0.0.1", &[b"198.51.100.7, \xff"]), "10.0.0.1");
    }

    #[test]
    fn only_addresses_and_networks_can_be_parsed() {
        assert_eq!("".parse::<TrustedProxies>(), Ok(TrustedProxies::default()));
        for bad in ["proxy.example.org", "10.0.0.0/33", "10.0.0.1;10.0.0.2", "*", "10.0.0"] {
            assert!(bad.parse::<TrustedProxies>().is_err(), "{bad}");
        }
    }
}
