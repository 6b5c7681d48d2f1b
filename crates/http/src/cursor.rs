//! The cursor: a position in a list, in a notation that clients pass back and need not understand.

use agora_domain::{clock::Timestamp, page::Keyset};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use uuid::Uuid;

/// The list a cursor belongs to: one made for another list is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Users = 1,
    Posts = 2,
    Likes = 3,
    Comments = 4,
    Follows = 5,
    Products = 6,
}

/// The list, the instant in milliseconds, the identifier.
const BYTES: usize = 1 + 8 + 16;

pub(crate) fn encode(list: List, position: Keyset) -> String {
    let mut bytes = [0; BYTES];
    bytes[0] = list as u8;
    bytes[1..9].copy_from_slice(&position.at.unix_millis().to_be_bytes());
    bytes[9..].copy_from_slice(position.id.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn decode(list: List, cursor: &str) -> Option<Keyset> {
    let bytes: [u8; BYTES] = URL_SAFE_NO_PAD.decode(cursor).ok()?.try_into().ok()?;
    let (head, id) = bytes.split_last_chunk::<16>()?;
    let (tag, millis) = head.split_first()?;
    let at = Timestamp::from_unix_millis(i64::from_be_bytes(millis.try_into().ok()?));
    (*tag == list as u8).then(|| Keyset { at, id: Uuid::from_bytes(*id) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_decodes_for_its_own_list_only() {
        for millis in [0, -1, 1_752_539_094_124, i64::MAX, i64::MIN] {
            let position = Keyset { at: Timestamp::from_unix_millis(millis), id: Uuid::from_u128(7) };
            let cursor = encode(List::Posts, position);
            assert_eq!(decode(List::Posts, &cursor), Some(position));
            assert_eq!(decode(List::Users, &cursor), None);
        }
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        let good = encode(List::Posts, Keyset::before(Timestamp::from_unix_millis(5)));
        for bad in ["", "x", "!!!!", &good[1..], &format!("{good}A"), &format!("{good}=")] {
            assert_eq!(decode(List::Posts, bad), None, "{bad}");
        }
    }
}
