//! The texts of the errors of an S3 server.

use agora_media::fuzzing::failure_of_response;

/// Reads the answer of a server.
///
/// # Panics
/// When the text is more than one short line, or does not say what happened.
pub fn check(data: &[u8]) {
    let text = failure_of_response(&String::from_utf8_lossy(data));
    assert!(text.starts_with("the request returned 403 Forbidden"), "{text}");
    assert!(text.chars().count() <= 301 && !text.chars().any(char::is_control), "{text:?}");
}
