//! Looks for what a cleaned image must not have, knowing of the formats no more than their outer form: anything that is
//! not on the lists below counts as metadata.

use agora_domain::media::ImageFormat;

/// The first thing in the file that is no part of the picture.
pub(crate) fn find(format: ImageFormat, file: &[u8]) -> Option<String> {
    let found = match format {
        ImageFormat::Jpeg => jpeg(file),
        ImageFormat::Png => png(file),
        ImageFormat::Gif => gif(file),
        ImageFormat::WebP => webp(file.get(12..).unwrap_or_default(), file),
    };
    found.err()
}

type Found = Result<(), String>;

fn split<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], String> {
    let (taken, left) = rest.split_at_checked(count).ok_or("an end before the end")?;
    *rest = left;
    Ok(taken)
}

fn byte(rest: &mut &[u8]) -> Result<u8, String> {
    Ok(split(rest, 1)?[0])
}

fn ended(rest: &[u8]) -> Found {
    if rest.is_empty() { Ok(()) } else { Err(format!("{} bytes after the end", rest.len())) }
}

fn png(file: &[u8]) -> Found {
    const PARTS: [&[u8]; 16] = [
        b"IHDR", b"PLTE", b"tRNS", b"sBIT", b"bKGD", b"pHYs", b"IDAT", b"IEND", b"acTL", b"fcTL", b"fdAT", b"cICP",
        b"iCCP", b"sRGB", b"gAMA", b"cHRM",
    ];
    let mut rest = file.get(8..).unwrap_or_default();
    loop {
        let length = u32::from_be_bytes(split(&mut rest, 4)?.try_into().map_err(|_| "no length")?);
        let kind = split(&mut rest, 4)?;
        split(&mut rest, length as usize + 4)?;
        if !PARTS.contains(&kind) {
            return Err(format!("the chunk {}", kind.escape_ascii()));
        }
        if kind == b"IEND" {
            return ended(rest);
        }
    }
}

fn jpeg(file: &[u8]) -> Found {
    let mut rest = file.get(2..).unwrap_or_default();
    loop {
        let marker = split(&mut rest, 2)?;
        match marker {
            [0xff, 0xd9] => return ended(rest),
            [0xff, kind] => {
                let length = u16::from_be_bytes(split(&mut rest, 2)?.try_into().map_err(|_| "no length")?);
                let segment = split(&mut rest, usize::from(length).checked_sub(2).ok_or("a length below two")?)?;
                let is_part = match kind {
                    0xc0..=0xc2 | 0xc4 | 0xda | 0xdb | 0xdd => true,
                    0xe0 => segment.len() == 14 && segment.starts_with(b"JFIF\0") && segment.ends_with(&[0, 0]),
                    0xe2 => segment.starts_with(b"ICC_PROFILE\0"),
                    0xee => segment.len() == 12 && segment.starts_with(b"Adobe"),
                    _ => false,
                };
                if !is_part {
                    return Err(format!("the segment {kind:#x} of {} bytes", segment.len()));
                }
                if *kind == 0xda {
                    let is_end = |pair: &[u8]| pair[0] == 0xff && !matches!(pair[1], 0 | 0xd0..=0xd7 | 0xff);
                    let end = rest.windows(2).position(is_end).ok_or("a scan without an end")?;
                    split(&mut rest, end)?;
                }
            }
            other => return Err(format!("{other:?} in place of a marker")),
        }
    }
}

fn gif(file: &[u8]) -> Found {
    let mut rest = file;
    let head = split(&mut rest, 13)?;
    split(&mut rest, palette(head[10]))?;
    loop {
        match byte(&mut rest)? {
            0x3b => return ended(rest),
            0x2c => {
                let descriptor = split(&mut rest, 9)?;
                split(&mut rest, palette(descriptor[8]) + 1)?;
                blocks(&mut rest)?;
            }
            0x21 => {
                let label = byte(&mut rest)?;
                let first = blocks(&mut rest)?;
                let is_part = label == 0xf9 && first.len() == 4 || label == 0xff && first == b"NETSCAPE2.0";
                if !is_part {
                    return Err(format!("the extension {label:#x}"));
                }
            }
            other => return Err(format!("the block {other:#x}")),
        }
    }
}

/// The bytes of a palette that the flags announce.
fn palette(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

/// Skips blocks up to an empty one; the first of them.
fn blocks<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], String> {
    let mut first = None;
    loop {
        let length = byte(rest)?;
        let block = split(rest, length.into())?;
        let first = *first.get_or_insert(block);
        if length == 0 {
            return Ok(first);
        }
    }
}

fn webp(chunks: &[u8], file: &[u8]) -> Found {
    let size = file.get(4..8).and_then(|size| size.try_into().ok()).map(u32::from_le_bytes).unwrap_or_default();
    if size as usize + 8 != file.len() {
        return Err(format!("{} bytes in a file of {size}", file.len()));
    }
    webp_chunks(chunks)
}

fn webp_chunks(mut rest: &[u8]) -> Found {
    while !rest.is_empty() {
        let kind = split(&mut rest, 4)?;
        let length = u32::from_le_bytes(split(&mut rest, 4)?.try_into().map_err(|_| "no length")?) as usize;
        let data = split(&mut rest, length)?;
        split(&mut rest, length % 2)?;
        match kind {
            b"VP8 " | b"VP8L" | b"ALPH" | b"ICCP" => {}
            b"VP8X" if data.len() == 10 => {}
            b"ANIM" if data.len() == 6 => {}
            b"ANMF" => webp_chunks(data.get(16..).unwrap_or_default())?,
            other => return Err(format!("the chunk {} of {length} bytes", other.escape_ascii())),
        }
    }
    Ok(())
}
