//! Backups, as a restore reads them.

use agora_operations::fuzzing::read_archive;

const BLOCK: usize = 512;

/// Reads an archive whose entries' own checksums are right: a fuzzer would hardly ever find them.
///
/// # Panics
/// When the entries have more bytes than the archive, or rows are not written as they were read.
pub fn check(data: &[u8]) {
    let mut archive = data.to_vec();
    repair(&mut archive);
    if let Ok(bytes) = read_archive(&archive) {
        assert!(bytes <= archive.len(), "more bytes than there are");
    }
}

/// Writes the checksum of each entry's head.
fn repair(archive: &mut [u8]) {
    let mut at = 0;
    while let Some(head) = archive.get_mut(at..at + BLOCK) {
        head[148..156].fill(b' ');
        let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
        head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let size = std::str::from_utf8(&head[124..135]).ok().and_then(|octal| usize::from_str_radix(octal, 8).ok());
        let Some(size) = size else { return };
        at += BLOCK + size.next_multiple_of(BLOCK);
    }
}
