//! What is told of the errors of an S3 server.

use agora_media::fuzzing::told_of_answer;

/// Reads the answer of a server.
///
/// # Panics
/// When what is told is more than one short line, or does not say what happened.
pub fn check(data: &[u8]) {
    let told = told_of_answer(&String::from_utf8_lossy(data));
    assert!(told.starts_with("the request returned 403 Forbidden"), "{told}");
    assert!(told.chars().count() <= 301 && !told.chars().any(char::is_control), "{told:?}");
}
