//! Entity tags: the `ETag` of responses.
//!
//! The tag of something that can be edited begins with its version, which only an edit changes. The rest is a digest of the
//! body, which other things change as well, such as likes. Caches compare whole tags (`If-None-Match`), edits only the versions
//! (`If-Match`), so that a like in the meantime does not make an edit fail.

use agora_domain::clock::Timestamp;
use sha2::{Digest, Sha256};

use crate::core::{MacKeys, Purpose};

// Tags are weak because the same response may be sent with or without compression.

/// Returns a tag that consists of a version alone, for `If-Match`.
pub(crate) fn version_tag(version: Timestamp) -> String {
    format!("W/\"{:x}\"", version.unix_millis())
}

/// Returns the tag of a response with this version and body.
pub(crate) fn tag(version: Option<Timestamp>, body: &[u8]) -> String {
    let digest = Sha256::digest(body);
    let digest = digest.first_chunk().copied().map_or(0, u64::from_be_bytes);
    match version {
        Some(version) => format!("W/\"{:x}-{digest:016x}\"", version.unix_millis()),
        None => format!("W/\"{digest:016x}\""),
    }
}

/// Returns the tag of a response that is determined by these parts and the code of this release. It depends on the release, and
/// on the signing secret, which determines the cursors in links.
pub(crate) fn derived_tag(mac_keys: &MacKeys, parts: &[&[u8]]) -> String {
    let parts = parts.iter().copied().chain([env!("CARGO_PKG_VERSION").as_bytes()]);
    let code = mac_keys.mac(Purpose::Response, parts);
    format!("W/\"{:016x}\"", code.first_chunk().copied().map_or(0, u64::from_be_bytes))
}

#[cfg(test)]
mod tests {
    use agora_domain::version::Versions;
    use proptest::prelude::*;

    use super::*;
    use crate::request::preconditions::versions;

    #[test]
    fn a_tag_depends_on_the_version_and_the_body() {
        let at = Timestamp::from_unix_millis;
        let one = tag(Some(at(1_752_539_094_124)), b"body");
        assert_eq!(one, tag(Some(at(1_752_539_094_124)), b"body"));
        for other in
            [tag(Some(at(1_752_539_094_124)), b"other"), tag(Some(at(1_752_539_094_125)), b"body"), tag(None, b"body")]
        {
            assert_ne!(one, other);
        }
        assert_eq!(versions(&one), Versions::OneOf(vec![at(1_752_539_094_124)]));
        assert_eq!(versions(&version_tag(at(5))), Versions::OneOf(vec![at(5)]));
        assert_eq!(versions(&version_tag(at(-1))), Versions::OneOf(vec![at(-1)]));
    }

    #[test]
    fn a_derived_tag_depends_on_each_part_and_on_the_secret() {
        let mac_keys = MacKeys::new(b"a secret");
        let one = derived_tag(&mac_keys, &[b"a", b"b"]);
        assert_eq!(one, derived_tag(&mac_keys, &[b"a", b"b"]));
        for other in [
            derived_tag(&mac_keys, &[b"a", b"c"]),
            derived_tag(&mac_keys, &[b"ab", b""]),
            derived_tag(&MacKeys::new(b"another"), &[b"a", b"b"]),
        ] {
            assert_ne!(one, other);
        }
    }

    proptest! {
        #![proptest_config(crate::proptest_config())]

        #[test]
        fn a_version_is_recognized_among_other_tags(millis in any::<i64>(), others in "[ -~]{0,20}") {
            let version = Timestamp::from_unix_millis(millis);
            let Versions::OneOf(named) = versions(&format!("{others},{}", version_tag(version))) else {
                panic!("a list with a tag means any version");
            };
            prop_assert!(named.contains(&version));
        }
    }
}
