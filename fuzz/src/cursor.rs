//! Cursors.

use agora_domain::clock::Timestamp;
use agora_domain::page::{Keyset, Position};
use agora_http::MacKeys;
use agora_http::fuzzing::{cursors, positions};
use uuid::Uuid;

/// Reads a cursor; and, with enough bytes, makes cursors of the position that they are.
///
/// # Panics
/// When a text is taken that was not made, or a cursor is not read as what it was made of, for its own list alone.
pub fn check(data: &[u8]) {
    let mac_keys = MacKeys::new(b"a secret that nobody knows");
    if let Ok(text) = std::str::from_utf8(data) {
        for (list, position) in positions(&mac_keys, text).into_iter().enumerate() {
            if let Some(position) = position {
                assert_eq!(cursors(&mac_keys, position)[list].as_deref(), Some(text), "not as it was made");
            }
        }
    }
    let Some((millis, rest)) = data.split_first_chunk() else { return };
    let Some((id, _)) = rest.split_first_chunk() else { return };
    let at = Timestamp::from_unix_millis(i64::from_be_bytes(*millis));
    let key = Keyset { at, id: Uuid::from_bytes(*id) };
    for position in [Position::After(key), Position::Before(key), Position::End] {
        for (list, cursor) in cursors(&mac_keys, position).into_iter().enumerate() {
            let cursor = cursor.expect("a cursor of every position but the beginning");
            let read = positions(&mac_keys, &cursor);
            let expected = (0..read.len()).map(|of| (of == list).then_some(position)).collect::<Vec<_>>();
            assert_eq!(read, expected);
        }
    }
}
