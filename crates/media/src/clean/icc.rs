//! ICC profiles, which say what the colours of an image mean. One that does not parse, or is large, is left out: the
//! image is shown all the same, and no client is handed what its parser might trip over.

use std::io::Read as _;

use flate2::bufread::ZlibDecoder;

/// A profile has fewer bytes than this. Those of cameras and editors have a few kilobytes.
const MAX_BYTES: usize = 256 * 1024;

/// The length of the header; the number of tags comes after it.
const HEADER: usize = 128;
const SIGNATURE: &[u8] = b"acsp";

/// The signature, the offset and the size of an element.
const TAG: usize = 12;

/// Returns whether a profile may be kept: it is not too large, as long as its header says, and all that its tag table
/// names lies within it, behind the table.
pub(super) fn is_valid(profile: &[u8]) -> bool {
    profile.len() < MAX_BYTES && elements(profile).is_some_and(|mut elements| elements.all(|lies_within| lies_within))
}

/// For each element that the tag table names, whether it lies within the profile.
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

/// Decompresses a profile, unless it is too large, broken or followed by anything.
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
