//! The instant of `createAt`.

use agora_http::fuzzing::{parse_instant, print_instant};

/// The milliseconds of the years 0 to 9999, which RFC 3339 can name.
const YEARS: std::ops::Range<i64> = -62_167_219_200_000..253_402_300_800_000;

/// Reads an instant; and, with enough bytes, the one that they are, as answers show it.
///
/// # Panics
/// When an instant as answers show it is not read as what it is.
pub fn check(data: &[u8]) {
    if let Some(millis) = std::str::from_utf8(data).ok().and_then(parse_instant) {
        assert_is_read_as_shown(millis);
    }
    if let Some(millis) = data.first_chunk() {
        assert_is_read_as_shown(i64::from_be_bytes(*millis) % YEARS.end);
    }
}

fn assert_is_read_as_shown(millis: i64) {
    let shown = print_instant(millis);
    if YEARS.contains(&millis) {
        assert_eq!(parse_instant(&shown), Some(millis), "{shown}");
        // The `+` of an address that was not encoded.
        assert_eq!(parse_instant(&shown.replace('+', " ")), Some(millis), "{shown}");
    }
}
