//! ICC profiles, which define the colours of an image. A profile that is invalid or large is removed: the image can be shown
//! without it, and no client receives a profile that its parser may fail on.

use std::io::Read as _;

use flate2::bufread::ZlibDecoder;

/// The exclusive upper bound on the size of a profile. Those of cameras and editors have a few kilobytes.
const MAX_BYTES: usize = 256 * 1024;

/// The length of the header, which the number of tags follows.
const HEADER: usize = 128;
const SIGNATURE: &[u8] = b"acsp";

/// The length of an entry of the tag table: the signature, the offset and the size of an element.
const TAG: usize = 12;

/// Returns whether a profile may be kept: it is not too large, its length is the one in its header, and all elements in its tag
/// table are within the profile and after the table.
pub(super) fn is_valid(profile: &[u8]) -> bool {
    profile.len() < MAX_BYTES && elements(profile).is_some_and(|mut elements| elements.all(|lies_within| lies_within))
}

/// Returns, for each element in the tag table, whether it is within the profile and after the table.
fn elements(profile: &[u8]) -> Option<impl Iterator<Item = bool>> {
    let size = number(profile, 0)?;
    if size != profile.len() || profile.get(36..40)? != SIGNATURE {
        return None;
    }
    let end = number(profile, HEADER)?.checked_mul(TAG)?.checked_add(HEADER + 4)?;
    let tags = profile.get(HEADER + 4..end)?.chunks_exact(TAG);
    Some(tags.map(move |tag| match (number(tag, 4), number(tag, 8)) {
        (Some(start), Some(length)) => start >= end && start.checked_add(length).is_some_and(|last| last <= size),
        _ => false,
    }))
}

/// Decompresses a profile; returns `None` if it is too large, broken or followed by other data.
pub(super) fn inflate(compressed: &[u8]) -> Option<Vec<u8>> {
    let mut decoder = ZlibDecoder::new(compressed);
    let mut profile = Vec::new();
    decoder.by_ref().take(MAX_BYTES as u64).read_to_end(&mut profile).ok()?;
    let is_whole = profile.len() < MAX_BYTES && decoder.total_in() == compressed.len() as u64;
    is_whole.then_some(profile)
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let number = bytes.get(at..)?.first_chunk()?;
    usize::try_from(u32::from_be_bytes(*number)).ok()
}
