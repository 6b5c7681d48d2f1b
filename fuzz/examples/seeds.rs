//! Writes the seeds that are made by programs: images, tokens, cursors, backups. The others are text, kept by hand.

#![forbid(unsafe_code)]

use std::{fs, io, path::Path};

use agora_domain::{
    accounts::TokenIssuer,
    clock::Timestamp,
    media::ImageFormat,
    page::{Keyset, Position},
};
use agora_fuzz::token::{CLAIMS, NOW, issuer};
use agora_http::{Seal, fuzzing::cursors};
use uuid::Uuid;

#[allow(dead_code, reason = "the tests of images use the rest")]
#[path = "../../crates/media/src/clean/tests/samples.rs"]
mod samples;

use samples::{SECRET, exif, profile};

fn main() -> io::Result<()> {
    images()?;
    tokens()?;
    write("cursor", "after", cursor(Position::After(key())))?;
    write("cursor", "end", cursor(Position::End))?;
    write("query", "link", format!("size=10&cursor={}", cursor(Position::Before(key()))))?;
    write("archive", "backup", backup()?)
}

fn write(target: &str, name: &str, content: impl AsRef<[u8]>) -> io::Result<()> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    fs::create_dir_all(&directory)?;
    fs::write(directory.join(name), content)
}

fn images() -> io::Result<()> {
    for (number, (format, file)) in samples::all().into_iter().enumerate() {
        write(target(format), &format!("plain-{number}"), file)?;
    }
    let exif = exif(6);
    let turned = samples::turned(6);
    let app1 = [b"Exif\0\0".as_slice(), &exif].concat();
    let icc = [b"ICC_PROFILE\0\x01\x01".as_slice(), &profile()].concat();
    let mut jpeg = samples::jpeg(&turned);
    for (marker, data) in [(0xfe, SECRET), (0xe1, &app1), (0xe2, &icc), (0xdd, &[0, 1])] {
        jpeg = samples::with_segment(&jpeg, marker, data);
    }
    write("image_jpeg", "metadata", jpeg)?;

    let chunks = [
        samples::png_chunk(b"eXIf", &exif),
        samples::png_chunk(b"gAMA", &45455u32.to_be_bytes()),
        samples::png_chunk(b"pHYs", &[0, 0, 11, 19, 0, 0, 11, 19, 1]),
        samples::png_chunk(b"tEXt", &[b"Comment\0", SECRET].concat()),
        samples::png_chunk(b"tIME", &[7, 233, 1, 2, 3, 4, 5]),
    ];
    write("image_png", "metadata", samples::with_chunks(&samples::png(&turned), &chunks))?;

    let gif = samples::animated_gif(2);
    let comment = [&[0x21, 0xfe, SECRET.len() as u8], SECRET, &[0]].concat();
    // Behind the screen's descriptor and its palette of two colours.
    write("image_gif", "metadata", [&gif[..19], &comment, &gif[19..]].concat())?;

    let chunks = [
        samples::webp_header(0x08 | 0x20, turned.width(), turned.height()),
        samples::webp_chunk(b"ICCP", &profile()),
        samples::webp_picture(&turned),
        samples::webp_chunk(b"EXIF", &exif),
        samples::webp_chunk(b"XMP ", SECRET),
    ];
    write("image_webp", "metadata", samples::webp_file(&chunks))
}

fn target(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Jpeg => "image_jpeg",
        ImageFormat::Png => "image_png",
        ImageFormat::Gif => "image_gif",
        ImageFormat::WebP => "image_webp",
    }
}

fn tokens() -> io::Result<()> {
    let token = issuer().issue(CLAIMS, NOW).map_err(io::Error::other)?;
    let signed = token.split_once('.').map(|(_, rest)| rest).unwrap_or_default();
    write("token", "unsigned", format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{signed}"))?;
    write("token", "change", b"\x05A\x90B")?;
    write("token", "issued", token)
}

fn key() -> Keyset {
    Keyset { at: Timestamp::from_unix_millis(1_752_539_094_124), id: Uuid::from_u128(7) }
}

fn cursor(position: Position) -> String {
    let seal = Seal::new(b"a secret that nobody knows");
    cursors(&seal, position).into_iter().nth(1).flatten().unwrap_or_default()
}

/// A backup of a service with one account and one image.
fn backup() -> io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    let header = br#"{"format":1,"agora":"0.1.0","schema":"1","made_at":1752539094124}"#;
    let summary = br#"{"rows":{"users":{"rows":1,"sha256":"00"}},"images":1,"missing":[]}"#;
    let id = |number: u128| Uuid::from_u128(number).to_string();
    let follows = format!(
        "{{\"follower_id\":\"{}\",\"followed_id\":\"{}\",\"id\":\"{}\",\"created_at\":1752539094124}}\n",
        id(1),
        id(2),
        id(3)
    );
    for (name, content) in [
        ("agora-backup.json", header.as_slice()),
        ("images/0123456789abcdef0123456789abcdef.png", b"PNG"),
        ("rows/follows-000001.jsonl", follows.as_bytes()),
        ("summary.json", summary),
    ] {
        let mut head = tar::Header::new_gnu();
        head.set_size(content.len() as u64);
        head.set_mode(0o600);
        tar.append_data(&mut head, name, content)?;
    }
    tar.into_inner()
}
