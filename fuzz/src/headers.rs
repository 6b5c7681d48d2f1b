//! The headers that the service reads.

use agora_domain::clock::Timestamp;
use agora_domain::version::Versions;
use agora_http::fuzzing::{bearer_token, encoding, idempotency_key, if_match, if_none_match, range, version_tag};

/// Reads a value as each of the headers.
///
/// # Panics
/// When one is read as what it cannot mean.
pub fn check(data: &[u8]) {
    let as_text = std::str::from_utf8(data).unwrap_or_default();

    let tag = "W/\"197f3a5c2ac-0123456789abcdef\"";
    let known = if_none_match(data, tag);
    assert!(!known || as_text.contains('*') || as_text.contains("\"197f3a5c2ac-0123456789abcdef\""));
    if !data.iter().any(|byte| byte.is_ascii_control() || !byte.is_ascii()) {
        assert!(if_none_match(&[data, b", ", tag.as_bytes()].concat(), tag), "a tag beside others is not found");
        let more = [data, b", ", version_tag(7).as_bytes()].concat();
        let Versions::OneOf(versions) = if_match(&more) else { panic!("a list with a tag means any version") };
        assert!(versions.contains(&Timestamp::from_unix_millis(7)));
    }
    if let Versions::OneOf(versions) = if_match(data) {
        for version in versions {
            assert_eq!(if_match(version_tag(version.unix_millis()).as_bytes()), Versions::OneOf(vec![version]));
        }
    }

    if let Some(range) = range(as_text) {
        for size in [0, 1, 1000, u64::MAX] {
            if let Some(part) = range.within(size) {
                assert!(part.start < part.end && part.end <= size, "{part:?} of {size}");
            }
        }
    }

    if let Some(key) = idempotency_key(data) {
        assert!(key.as_bytes() == data && key.len() <= 255 && key.bytes().all(|byte| byte.is_ascii_graphic()));
    }
    if let Some(token) = bearer_token(data) {
        assert!(!token.is_empty() && token.trim() == token && as_text.contains(&token));
    }
    if let Some(encoding) = encoding(data) {
        assert!(["zstd", "gzip"].contains(&encoding));
    }
}
