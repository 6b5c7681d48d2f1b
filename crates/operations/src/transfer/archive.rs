//! The file of a backup: a tar archive that ends with its own checksum.
//!
//! | entry | content |
//! |---|---|
//! | `agora-backup.json` | [`Header`]: what the archive is |
//! | `jwt-secret` | the secret that signs tokens, unless it is left out |
//! | `images/KEY` | an image |
//! | `unnamed-images` | the keys of saved images, a line each, whose rows were deleted or changed while the backup was made |
//! | `rows/TABLE-N.jsonl` | rows, a line each, in the order of the primary key |
//! | `summary.json` | [`Summary`]: the counts and checksums of all of it |
//! | `sha256` | the SHA-256 of every byte of the file before this entry |
//!
//! The bytes from that entry on are determined by those before it, so that no byte can be changed, lost or added unnoticed.

use std::fs::File;
use std::io::{BufReader, BufWriter, IsTerminal, Read, Seek, Write};
use std::path::Path;
use std::{fs, io, mem};

use agora_database::schema_version;
use agora_domain::media::ImageKey;
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use super::images::MAX_BYTES;
use super::rows::{Sums, hex};
use crate::atomic_file::AtomicFile;
use crate::background::Background;
use crate::progress::Progress;

/// The name of the first entry.
pub(crate) const HEADER: &str = "agora-backup.json";
/// The name of the second entry, with the secret, if there is one.
pub(crate) const SECRET: &str = "jwt-secret";
/// The name of the entry between images and rows, with the keys of images that no row references.
pub(crate) const UNNAMED: &str = "unnamed-images";
/// The name of the last entry but the checksum.
pub(crate) const SUMMARY: &str = "summary.json";
const CHECKSUM: &str = "sha256";

/// The version of the archive format that this program writes and reads.
pub(crate) const FORMAT: u32 = 1;

/// The most bytes of an entry that is no image.
const MAX_TEXT: u64 = 64 << 20;
/// The most bytes of rows in an entry, unless a single row is longer.
const MAX_ROWS_BYTES: usize = 16 << 20;

/// The length of the end of an archive: header and content of the checksum's entry, and the two blocks that end a tar archive.
const TAIL: u64 = 512 + 512 + 1024;

/// The first entry: what the archive is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    /// [`FORMAT`].
    pub(crate) format: u32,
    /// The version of the program that made it.
    pub(crate) agora: String,
    /// The version of the schema of its rows.
    pub(crate) schema: String,
    /// When the backup began, in milliseconds since 1970.
    pub(crate) made_at: i64,
}

/// The last entry but the checksum: what the archive holds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// The count and checksum of the rows of each table.
    pub(crate) rows: Sums,
    /// The number of images that rows reference.
    pub(crate) images: u64,
    /// The keys of images that rows reference and that the store did not have.
    pub(crate) missing: Vec<String>,
}

/// Renders the keys of images as an entry, a line each.
pub(crate) fn keys_to_lines(keys: &[ImageKey]) -> String {
    keys.iter().map(|key| key.as_str().to_owned() + "\n").collect()
}

/// Parses the keys of images in an entry.
pub(crate) fn keys_from_lines(text: &[u8]) -> Result<Vec<ImageKey>> {
    let keys = std::str::from_utf8(text)?.lines().map(ImageKey::parse);
    keys.collect::<Option<_>>().context("the archive has an invalid image name")
}

/// Splits rows into parts, each of which becomes an entry.
pub(crate) fn split_rows(text: &[u8]) -> Vec<&[u8]> {
    split_lines(text, MAX_ROWS_BYTES)
}

/// Splits lines into parts of whole lines that have at most `most` bytes, unless a part is a single line.
fn split_lines(mut lines: &[u8], most: usize) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while !lines.is_empty() {
        let is_end = |byte: &u8| *byte == b'\n';
        let last = lines.get(..most).map(|fitting| fitting.iter().rposition(is_end));
        let end = last.and_then(|last| last.or_else(|| lines.iter().position(is_end)));
        let (part, rest) = end.and_then(|end| lines.split_at_checked(end + 1)).unwrap_or((lines, &[]));
        parts.push(part);
        lines = rest;
    }
    parts
}

/// An entry of an archive.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) bytes: Bytes,
}

/// A writer that also adds everything written to a checksum.
struct HashingWriter<W> {
    inner: W,
    hasher: Sha256,
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn append<W: Write>(tar: &mut tar::Builder<W>, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(u64::try_from(bytes.len()).map_err(io::Error::other)?);
    header.set_mode(0o600);
    tar.append_data(&mut header, name, bytes)
}

/// Returns the end of an archive, given the checksum of the bytes before it.
fn tail(checksum: &str) -> io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    append(&mut tar, CHECKSUM, checksum.as_bytes())?;
    tar.into_inner()
}

/// Where the bytes of an archive go.
enum Output {
    /// To a file or to standard output.
    Direct(BufWriter<Box<dyn Write + Send>>),
    /// To a channel with a receiver that sets the pace: the bytes not yet sent, and the channel.
    Parts(Vec<u8>, mpsc::Sender<Bytes>),
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(to) => to.write(bytes),
            Self::Parts(buffer, _) => buffer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Direct(to) => to.flush(),
            Self::Parts(..) => Ok(()),
        }
    }
}

/// The most bytes of a part of an archive that is sent to a channel.
const MAX_PART: usize = 64 * 1024;
/// The capacity of the channel, in parts.
const CHANNEL_PARTS: usize = 4;

impl Output {
    /// Sends the buffer to the channel once it holds [`MAX_PART`] bytes, or at the end whatever it holds.
    async fn send_parts(&mut self, is_end: bool) -> Result<()> {
        let Self::Parts(buffer, to) = self else { return Ok(()) };
        if buffer.len() < MAX_PART && !is_end {
            return Ok(());
        }
        let mut buffer = Bytes::from(mem::take(buffer));
        while !buffer.is_empty() {
            let part = buffer.split_to(buffer.len().min(MAX_PART));
            to.send(part).await.context("the receiver of the archive has disconnected")?;
        }
        Ok(())
    }
}

/// Writes an archive. Its file appears only once the archive is finished.
pub(crate) struct Writer {
    tar: tar::Builder<HashingWriter<Output>>,
    file: Option<AtomicFile>,
}

impl Writer {
    /// Begins an archive in a file readable by its owner alone; fails if the file exists. Without a path, the archive goes to
    /// standard output, and the exit code tells whether it is complete.
    pub(crate) fn begin(path: Option<&Path>) -> Result<Self> {
        let file = path.map(|path| AtomicFile::begin(path, ".agora-backup-")).transpose()?;
        let is_terminal = file.is_none() && io::stdout().is_terminal();
        ensure!(!is_terminal, "a backup is not written to a terminal: redirect the output to a file or a program");
        let to: Box<dyn Write + Send> = match &file {
            Some(file) => Box::new(file.file().try_clone()?),
            None => Box::new(io::stdout()),
        };
        Ok(Self::to(Output::Direct(BufWriter::new(to)), file))
    }

    /// Begins an archive that is sent in parts while it is made; returns the receiver of the parts. The checksum at the end tells
    /// whether the archive is complete.
    pub(crate) fn begin_parts() -> (Self, mpsc::Receiver<Bytes>) {
        let (to, parts) = mpsc::channel(CHANNEL_PARTS);
        (Self::to(Output::Parts(Vec::new(), to), None), parts)
    }

    fn to(output: Output, file: Option<AtomicFile>) -> Self {
        Self { tar: tar::Builder::new(HashingWriter { inner: output, hasher: Sha256::new() }), file }
    }

    pub(crate) async fn append(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        append(&mut self.tar, name, bytes).context("cannot write the archive")?;
        self.tar.get_mut().inner.send_parts(false).await
    }

    pub(crate) async fn append_json(&mut self, name: &str, value: &impl Serialize) -> Result<()> {
        self.append(name, &serde_json::to_vec_pretty(value)?).await
    }

    /// Appends the summary and the checksum, and moves a file to its path, durably.
    pub(crate) async fn finish(mut self, summary: &Summary) -> Result<()> {
        self.append_json(SUMMARY, summary).await?;
        let checksum = hex(&self.tar.get_ref().hasher.clone().finalize());
        self.append(CHECKSUM, checksum.as_bytes()).await?;
        let mut output = self.tar.into_inner()?.inner;
        output.flush()?;
        output.send_parts(true).await?;
        self.file.map_or(Ok(()), AtomicFile::keep)
    }
}

/// Opens an archive, verifies its checksum, which reads all of it, and checks that this program can restore it. Returns its file
/// and the secret in it, if there is one.
pub(crate) fn open(path: &Path, progress: &mut Progress) -> Result<(File, Option<String>)> {
    let name = path.display();
    let metadata = fs::metadata(path).with_context(|| format!("cannot open {name}"))?;
    ensure!(metadata.is_file(), "{name} is not a file");
    let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
    check(&file, metadata.len(), progress).with_context(|| format!("{name} is not a backup, or is damaged"))?;
    let mut beginning = Vec::new();
    read(&file, |entry| {
        beginning.push(entry);
        beginning.len() < 2
    })?;
    let mut beginning = beginning.into_iter();
    let header = beginning.next().filter(|entry| entry.name == HEADER);
    let header = header.with_context(|| format!("the archive does not begin with {HEADER}"))?;
    let Header { format, agora, schema, .. } = serde_json::from_slice(&header.bytes).context(HEADER)?;
    ensure!(format == FORMAT, "the archive has format {format}, and this program reads format {FORMAT}");
    let own = schema_version();
    ensure!(
        schema == own,
        "the backup was made by Agora {agora:?} with the schema {schema:?}, and this program has the schema {own:?}: \
         restore it with that version"
    );
    let secret = beginning.next().filter(|entry| entry.name == SECRET);
    let secret = secret.map(|entry| String::from_utf8(entry.bytes.into())).transpose().context(SECRET)?;
    Ok((file, secret))
}

/// Reads the entries on a separate thread. The file must not be read elsewhere meanwhile, since its position is shared.
pub(crate) fn entries(file: &File) -> Result<Background<Entry>> {
    let file = file.try_clone()?;
    Ok(Background::begin(move |take| read(&file, take)))
}

/// Passes the entries to `take`, from the first on, until that returns `false`.
pub(super) fn read(mut content: impl Read + Seek, mut take: impl FnMut(Entry) -> bool) -> Result<()> {
    content.rewind()?;
    // Messages may repeat bytes of the archive: escaped, since control characters could be escape sequences for the terminal.
    let unreadable = |error: io::Error| anyhow::anyhow!("cannot read the archive: {:?}", error.to_string());
    let mut archive = tar::Archive::new(BufReader::new(content));
    // Raw, so that only regular files are accepted: no links, no sparse files, no extension headers that modify the next entry.
    for entry in archive.entries().map_err(unreadable)?.raw(true) {
        let mut entry = entry.map_err(unreadable)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let most = if name.starts_with("images/") { MAX_BYTES } else { MAX_TEXT };
        let is_plain = entry.header().entry_type() == tar::EntryType::Regular;
        ensure!(is_plain && entry.size() <= most, "unexpected entry in the archive: {name:?}");
        let mut bytes = Vec::with_capacity(usize::try_from(entry.size())?);
        entry.read_to_end(&mut bytes).map_err(unreadable)?;
        if name == CHECKSUM || !take(Entry { name, bytes: bytes.into() }) {
            break;
        }
    }
    Ok(())
}

/// Verifies the checksum of an archive.
fn check(mut file: &File, length: u64, progress: &mut Progress) -> Result<()> {
    const STEP: u64 = 1 << 20;
    let mut left = length.checked_sub(TAIL).context("it is too short")?;
    let mut hasher = Sha256::new();
    let mut part = Vec::new();
    progress.phase("checksum (MiB)", Some(left >> 20));
    while left > 0 {
        let is_first = part.is_empty();
        part.clear();
        let read = file.take(left.min(STEP)).read_to_end(&mut part)?;
        ensure!(read > 0, "it is too short");
        if is_first {
            ensure!(!part.starts_with(&[0x1f, 0x8b]), "it is compressed: gunzip it first");
            ensure!(!part.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]), "it is compressed: unzstd it first");
        }
        hasher.update(&part);
        left -= u64::try_from(read)?;
        progress.advance(1)?;
    }
    part.clear();
    file.read_to_end(&mut part)?;
    ensure!(part == tail(&hex(&hasher.finalize()))?, "its checksum does not match its content");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_only_at_line_breaks() {
        for (lines, expected) in [
            ("", &[][..]),
            ("one\n", &["one\n"]),
            ("one\ntwo\n", &["one\ntwo\n"]),
            ("one\ntwo\nthree\n", &["one\ntwo\n", "three\n"]),
            ("a longer one\ntwo\n", &["a longer one\n", "two\n"]),
            ("two\na longer one\n", &["two\n", "a longer one\n"]),
            ("a longer one", &["a longer one"]),
        ] {
            let parts: Vec<_> = split_lines(lines.as_bytes(), 8).into_iter().map(<[u8]>::to_vec).collect();
            assert_eq!(parts, expected.iter().map(|part| part.as_bytes().to_vec()).collect::<Vec<_>>(), "{lines}");
        }
    }
}
