//! JSON bodies.

use agora_http::fuzzing::json_requests;

/// Reads a body as each of the requests.
///
/// # Panics
/// When it is neither taken nor refused as a bad request.
pub fn check(data: &[u8]) {
    for status in json_requests(data) {
        assert!([200, 400].contains(&status), "{status}");
    }
}
