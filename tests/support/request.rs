//! Requests as bytes, for tests that write to a socket directly.

use super::User;

/// Returns the bytes of a request. `line` is its method and target; `fields` are further header fields, each with its line end.
pub(crate) fn request_bytes(line: &str, fields: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!("{line} HTTP/1.1\r\nHost: agora\r\n{fields}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// Header fields with the content type of a body.
pub(crate) const JSON: &str = "Content-Type: application/json\r\n";
pub(crate) const FORM: &str = "Content-Type: multipart/form-data; boundary=b\r\n";

/// Returns the body of a form with an image.
pub(crate) fn form_bytes(image: &[u8]) -> Vec<u8> {
    let begin = "--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"x.png\"\r\n\r\n";
    [begin.as_bytes(), image, b"\r\n--b--\r\n"].concat()
}

impl User {
    /// Returns the header field that authenticates this user.
    pub(crate) fn authorization(&self) -> String {
        format!("Authorization: Bearer {}\r\n", self.token)
    }
}
