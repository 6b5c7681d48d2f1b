//! Where a request comes from.

use std::net::{IpAddr, Ipv4Addr};

use agora_http::fuzzing::client;

/// Reads `X-Forwarded-For`.
///
/// # Panics
/// When the word of somebody counts who is not trusted.
pub fn check(data: &[u8]) {
    let [proxy, stranger] = [[10, 0, 0, 1], [192, 0, 2, 1]].map(|address| IpAddr::from(Ipv4Addr::from(address)));
    let [nobody, proxies] = ["", "10.0.0.0/8"].map(|list| list.parse().expect("a list of networks"));
    assert_eq!(client(&nobody, proxy, data), proxy);
    assert_eq!(client(&proxies, stranger, data), stranger);

    // What a proxy adds at the end counts, whatever its client wrote before.
    for named in ["192.0.2.1", "192.0.2.1:4711", "[::ffff:192.0.2.1]", " 192.0.2.1 , 10.2.3.4"] {
        let forwarded = [data, b",", named.as_bytes()].concat();
        let found = client(&proxies, proxy, &forwarded);
        let is_header = !data.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t' || !byte.is_ascii());
        assert!(!is_header || found.to_canonical() == stranger, "{found} instead of {named}");
    }
}
