//! Cursors: opaque positions in a list, which clients pass back unchanged. A cursor carries a MAC, so that a changed or forged
//! one is refused, and only positions that the service itself issued reach the database.

use agora_domain::clock::Timestamp;
use agora_domain::page::{Keyset, Position};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use uuid::Uuid;

use crate::core::{MacKeys, Purpose};

/// The list that a cursor belongs to. A cursor of another list is refused. The numbers are part of issued cursors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Sessions = 0,
    Users = 1,
    Posts = 2,
    Likes = 3,
    Comments = 4,
    Follows = 5,
    Products = 6,
    Directory = 7,
    Bookmarks = 8,
    Search = 9,
    Notifications = 10,
    Actors = 11,
    Blocks = 12,
    Mutes = 13,
    AuditLog = 14,
    Reports = 15,
}

impl List {
    /// All kinds of lists.
    pub(crate) const ALL: [Self; 16] = [
        Self::Sessions,
        Self::Users,
        Self::Posts,
        Self::Likes,
        Self::Comments,
        Self::Follows,
        Self::Products,
        Self::Directory,
        Self::Bookmarks,
        Self::Search,
        Self::Notifications,
        Self::Actors,
        Self::Blocks,
        Self::Mutes,
        Self::AuditLog,
        Self::Reports,
    ];
}

/// The kind of a position: after or before its key, or the end of the list.
const AFTER: u8 = 1;
const BEFORE: u8 = 2;
const END: u8 = 3;

/// The bytes of the truncated MAC: enough that it cannot be guessed.
const MAC_BYTES: usize = 8;

// The list is encoded in four bits.
const _: () = assert!(List::ALL.len() <= 16);

/// The layout: one byte for the list and the kind, the instant in milliseconds, the identifier, the MAC.
const BYTES: usize = 1 + 8 + 16 + MAC_BYTES;

fn mac(mac_keys: &MacKeys, content: &[u8]) -> [u8; MAC_BYTES] {
    let mut mac = [0; MAC_BYTES];
    mac.copy_from_slice(&mac_keys.mac(Purpose::Cursor, [content])[..MAC_BYTES]);
    mac
}

/// Returns the cursor of a position; `None` for the start, from which a list is read without a cursor.
pub(crate) fn encode(mac_keys: &MacKeys, list: List, position: Position) -> Option<String> {
    let (kind, key) = match position {
        Position::Start => return None,
        Position::After(key) => (AFTER, key),
        Position::Before(key) => (BEFORE, key),
        Position::End => (END, Keyset::before(Timestamp::from_unix_millis(0))),
    };
    let mut bytes = [0; BYTES];
    bytes[0] = (list as u8) << 4 | kind;
    bytes[1..9].copy_from_slice(&key.at.unix_millis().to_be_bytes());
    bytes[9..25].copy_from_slice(key.id.as_bytes());
    let mac = mac(mac_keys, &bytes[..25]);
    bytes[25..].copy_from_slice(&mac);
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns the position of a cursor of this list; `None` if it is invalid or of another list.
pub(crate) fn decode(mac_keys: &MacKeys, list: List, cursor: &str) -> Option<Position> {
    let bytes: [u8; BYTES] = URL_SAFE_NO_PAD.decode(cursor).ok()?.try_into().ok()?;
    let (content, mac) = bytes.split_last_chunk::<MAC_BYTES>()?;
    if !mac_keys.verify(Purpose::Cursor, &[content], mac) {
        return None;
    }
    let (head, id) = content.split_last_chunk::<16>()?;
    let (list_and_kind, millis) = head.split_first()?;
    let at = Timestamp::from_unix_millis(i64::from_be_bytes(millis.try_into().ok()?));
    let key = Keyset { at, id: Uuid::from_bytes(*id) };
    match list_and_kind ^ ((list as u8) << 4) {
        AFTER => Some(Position::After(key)),
        BEFORE => Some(Position::Before(key)),
        END => Some(Position::End),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mac_keys() -> MacKeys {
        MacKeys::new(b"a secret")
    }

    fn key(millis: i64) -> Keyset {
        Keyset { at: Timestamp::from_unix_millis(millis), id: Uuid::from_u128(7) }
    }

    #[test]
    fn a_cursor_decodes_for_its_own_list_only() {
        let keys = [0, -1, 1_752_539_094_124, i64::MAX, i64::MIN].map(key);
        let positions = keys.into_iter().flat_map(|key| [Position::After(key), Position::Before(key), Position::End]);
        for position in positions {
            let cursor = encode(&mac_keys(), List::Posts, position).unwrap();
            assert_eq!(decode(&mac_keys(), List::Posts, &cursor), Some(position));
            assert_eq!(decode(&mac_keys(), List::Users, &cursor), None);
        }
        assert_eq!(encode(&mac_keys(), List::Posts, Position::Start), None);
    }

    #[test]
    fn an_invalid_cursor_is_refused() {
        let good = encode(&mac_keys(), List::Posts, Position::After(key(5))).unwrap();
        for bad in ["", "x", "!!!!", &good[1..], &good[..43], &good[..40], &format!("{good}A"), &format!("{good}=")] {
            assert_eq!(decode(&mac_keys(), List::Posts, bad), None, "{bad}");
        }
        assert_eq!(decode(&MacKeys::new(b"another"), List::Posts, &good), None, "of another service");
    }

    #[test]
    fn a_cursor_with_any_bit_changed_is_refused() {
        for position in [Position::After(key(5)), Position::Before(key(5)), Position::End] {
            let bytes = URL_SAFE_NO_PAD.decode(encode(&mac_keys(), List::Posts, position).unwrap()).unwrap();
            for bit in 0..BYTES * 8 {
                let mut changed = bytes.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                let changed = URL_SAFE_NO_PAD.encode(changed);
                assert_eq!(decode(&mac_keys(), List::Posts, &changed), None, "{position:?} with bit {bit} changed");
            }
        }
    }

    proptest! {
        #![proptest_config(crate::proptest_config())]

        #[test]
        fn every_position_survives_encoding_and_decoding(millis in any::<i64>(), id in any::<u128>()) {
            let key = Keyset { at: Timestamp::from_unix_millis(millis), id: Uuid::from_u128(id) };
            for position in [Position::After(key), Position::Before(key)] {
                let cursor = encode(&mac_keys(), List::Likes, position).unwrap();
                prop_assert_eq!(decode(&mac_keys(), List::Likes, &cursor), Some(position));
                prop_assert_eq!(decode(&mac_keys(), List::Comments, &cursor), None);
            }
        }

        #[test]
        fn no_arbitrary_text_is_a_cursor(text in prop_oneof![any::<String>(), "[A-Za-z0-9_=-]{44}"]) {
            prop_assert_eq!(decode(&mac_keys(), List::Posts, &text), None);
        }
    }
}
