//! The year of a made-up network, in milliseconds since 1970.

pub(super) const HOUR: i64 = 60 * 60 * 1_000;
pub(super) const DAY: i64 = 24 * HOUR;

/// 2026-06-30T12:00:00Z: nothing is made later.
pub(super) const END: i64 = 1_782_820_800_000;
pub(super) const START: i64 = END - 365 * DAY;
/// When the last ordinary account has joined.
pub(super) const JOINS_UNTIL: i64 = START + 60 * DAY;
/// When the last follow has begun.
pub(super) const FOLLOWS_UNTIL: i64 = START + 90 * DAY;
