//! The queries of lists, and the links made of them.

use std::collections::BTreeSet;

use agora_domain::clock::Timestamp;
use agora_domain::page::{Keyset, Position};
use agora_http::MacKeys;
use agora_http::fuzzing::{links, positions};
use url::{Url, form_urlencoded};
use uuid::Uuid;

const SERVICE: &str = "https://agora.example.org";
const PATH: &str = "/api/posts/all";

/// Reads a query and follows the links of the list it asks for.
///
/// # Panics
/// When a link leads elsewhere, loses or changes what was asked for, or has more, or its cursor is another position.
pub fn check(data: &[u8]) {
    let Ok(query) = std::str::from_utf8(data) else { return };
    let mac_keys = MacKeys::new(b"a secret that nobody knows");
    let key = Keyset { at: Timestamp::from_unix_millis(1_752_539_094_124), id: Uuid::from_u128(7) };
    let position = Position::After(key);
    let Some(links) = links(&mac_keys, SERVICE, PATH, query, position) else { return };

    let parameters = |query: &str| -> Vec<(String, String)> {
        form_urlencoded::parse(query.as_bytes()).into_owned().filter(|(name, _)| name != "cursor").collect()
    };
    // Of a parameter that is given again, the first counts.
    let mut seen = BTreeSet::new();
    let is_asked = |name: &str| ["size", "createAt"].contains(&name);
    let given = parameters(query).into_iter().filter(|(name, _)| is_asked(name) && seen.insert(name.clone()));
    // Parsing drops the white space around a value.
    let given: Vec<_> = given.map(|(name, value)| (name, value.trim().to_owned())).collect();
    let each: Vec<_> = links.split(", ").collect();
    assert_eq!(each.len(), 2, "{links}");
    for (link, relation) in each.into_iter().zip(["prev", "next"]) {
        assert!(link.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '), "{link}");
        let address = link.strip_prefix('<').and_then(|link| link.strip_suffix(&format!(">; rel=\"{relation}\"")));
        let url = Url::parse(address.expect("an address and its relation")).expect("an address");
        assert_eq!((url.origin().ascii_serialization().as_str(), url.path()), (SERVICE, PATH));
        assert_eq!(parameters(url.query().unwrap_or_default()), given);
        let cursor = url.query_pairs().find(|(name, _)| name == "cursor").expect("a cursor").1;
        assert!(positions(&mac_keys, &cursor).contains(&Some(position)));
    }
}
