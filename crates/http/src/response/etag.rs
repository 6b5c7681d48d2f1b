//! The tags of answers: `ETag`.
//!
//! The tag of a thing that can be edited begins with its version, which only an edit changes. What else an answer
//! shows, such as likes, makes up the rest. A cache compares whole tags, an edit the versions alone: a like that comes
//! in between does not make it stale.

use agora_domain::clock::Timestamp;
use sha2::{Digest, Sha256};

use crate::core::{MacKeys, Purpose};

// Tags are weak: the same answer may be sent compressed.

/// Returns the tag of a version, without what else an answer shows: for edits.
pub(crate) fn version_tag(version: Timestamp) -> String {
    format!("W/\"{:x}\"", version.unix_millis())
}

/// Returns the tag of an answer with this body.
pub(crate) fn tag(version: Option<Timestamp>, body: &[u8]) -> String {
    let shown = Sha256::digest(body);
    let shown = shown.first_chunk().copied().map_or(0, u64::from_be_bytes);
    match version {
        Some(version) => format!("W/\"{:x}-{shown:016x}\"", version.unix_millis()),
        None => format!("W/\"{shown:016x}\""),
    }
}

/// Returns the tag of an answer that these parts and the code of this release determine. It differs from release to
/// release, and from one signing secret to another, with which links are made.
pub(crate) fn tag_of(mac_keys: &MacKeys, parts: &[&[u8]]) -> String {
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
    fn a_tag_is_of_its_version_and_of_all_that_is_shown() {
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
    fn a_tag_of_what_an_answer_follows_from_is_of_each_part_and_of_the_secret() {
        let mac_keys = MacKeys::new(b"a secret");
        let one = tag_of(&mac_keys, &[b"a", b"b"]);
        assert_eq!(one, tag_of(&mac_keys, &[b"a", b"b"]));
        for other in [
            tag_of(&mac_keys, &[b"a", b"c"]),
            tag_of(&mac_keys, &[b"ab", b""]),
            tag_of(&MacKeys::new(b"another"), &[b"a", b"b"]),
        ] {
            assert_ne!(one, other);
        }
    }

    proptest! {
        #![proptest_config(crate::proptest_config())]

        #[test]
        fn a_version_is_known_by_its_tag_among_any_others(millis in any::<i64>(), others in "[ -~]{0,20}") {
            let version = Timestamp::from_unix_millis(millis);
            let Versions::OneOf(named) = versions(&format!("{others},{}", version_tag(version))) else {
                panic!("a list with a tag means any version");
            };
            prop_assert!(named.contains(&version));
        }
    }
}
