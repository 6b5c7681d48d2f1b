//! Bodies of posts: forms, or JSON.

use agora_http::fuzzing::{form_parts, post};
use bytes::Bytes;
use tokio::runtime::Builder;

/// The most bytes of an image here.
const MAX_IMAGE: usize = 1024;

/// Reads a body whose content type is the first line, whole and in pieces.
///
/// # Panics
/// When what it says depends on the pieces in which it arrives, a text is larger than the body, or the parts by which a
/// repeated request is known are not all of the body.
pub fn check(data: &[u8]) {
    let mut lines = data.splitn(2, |byte| *byte == b'\n');
    let content_type = lines.next().unwrap_or_default().trim_ascii_end();
    let body = lines.next().unwrap_or_default();

    let whole = read(content_type, body, &[body.len()]);
    for pieces in [&[1][..], &[2, 7, 1, 64], &[body.len() / 2, 1], &sizes(body)] {
        assert_eq!(read(content_type, body, pieces), whole, "in pieces of {pieces:?}");
    }

    if let Ok(content_type) = std::str::from_utf8(content_type) {
        let (parts, boundary) = form_parts(content_type, body);
        assert_eq!(parts.join(boundary.as_bytes()), body);
    }
}

/// Sizes that the body itself says, so that the fuzzer has them in its hands.
fn sizes(body: &[u8]) -> Vec<usize> {
    body.iter().rev().take(8).map(|byte| usize::from(*byte)).collect()
}

/// What the body says when it arrives in pieces of these sizes, over and over.
fn read(content_type: &[u8], body: &[u8], sizes: &[usize]) -> String {
    let mut rest = body;
    let mut sizes = sizes.iter().cycle();
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let size = sizes.next().map_or(1, |size| (*size).clamp(1, rest.len()));
        let (piece, left) = rest.split_at(size);
        pieces.push(Bytes::copy_from_slice(piece));
        rest = left;
    }
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    let read = runtime.block_on(post(content_type, pieces, MAX_IMAGE));
    if let Ok(fields) = &read {
        let text = fields.text.as_ref().map_or(0, |text| text.as_str().len());
        let visibility = fields.visibility.map_or(0, |visibility| visibility.as_str().len());
        let image = fields.image.as_ref().map_or(0, Bytes::len);
        assert!(image <= MAX_IMAGE && text + visibility + image <= body.len());
    }
    format!("{read:?}")
}
