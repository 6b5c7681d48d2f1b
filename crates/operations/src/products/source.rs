//! A file of products, read row by row.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::{io, mem, thread};

use agora_domain::products::{ImportPass, RowPosition};
use anyhow::{Context, Result, bail, ensure};
use tokio::sync::oneshot;

use super::row::{Format, MAX_ROW, Position, Row, Take};
use super::{json, table};
use crate::background::Background;
use crate::progress::{INTERRUPTED, Interrupt};

/// How many bytes of rows are handed on at once, or one row of more.
const BATCH: u64 = MAX_ROW;

/// How much of what can be read only once is kept at a time.
const COPIED: usize = 64 << 10;

/// A file that can be read several times.
pub(super) struct Source {
    file: File,
    format: Format,
}

impl Source {
    /// Opens the file; `-` is the standard input, which is kept in a file of its own, as is all that can be read only
    /// once.
    ///
    /// # Errors
    /// When it cannot be opened, read or kept; and when the work is to end, however long the input is open.
    pub(super) async fn open(path: PathBuf, format: Format, interrupt: &Interrupt) -> Result<Self> {
        let (sender, opened) = oneshot::channel();
        // A thread that the program does not wait for at its end: nobody knows when others write and close a pipe.
        thread::Builder::new().spawn(move || {
            // Whoever has given up does not miss it.
            let _ = sender.send(open(&path));
        })?;
        tokio::select! {
            file = opened => Ok(Self { file: file??, format }),
            () = interrupt.cancelled() => bail!(INTERRUPTED),
        }
    }

    /// Returns how long it is.
    pub(super) fn kib(&self) -> Result<u64> {
        Ok(self.file.metadata()?.len() >> 10)
    }

    /// Reads it from its beginning, on a thread of its own.
    pub(super) fn batches(&self) -> Result<Background<Batch>> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        let format = self.format;
        Ok(Background::begin(move |take| {
            let position = Position::default();
            let (mut rows, mut begun) = (Vec::new(), 0);
            read(format, file, &position, &mut |row| {
                rows.push(row);
                let end = position.offset.get();
                if rows.len() < ImportPass::MAX_ROWS && end - begun < BATCH {
                    return true;
                }
                begun = end;
                take(Batch { rows: mem::take(&mut rows), end })
            })?;
            take(Batch { rows, end: position.offset.get() });
            Ok(())
        }))
    }
}

/// Returns a file, or what could be read only once in a file of its own.
fn open(path: &Path) -> Result<File> {
    let name = path.display();
    if path.as_os_str() == "-" {
        return spool(io::stdin().lock(), path);
    }
    let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
    let metadata = file.metadata().with_context(|| format!("cannot read {name}"))?;
    ensure!(!metadata.is_dir(), "{name} is a directory");
    if metadata.is_file() { Ok(file) } else { spool(file, path) }
}

fn spool(input: impl Read, path: &Path) -> Result<File> {
    let mut file = tempfile::tempfile().context("cannot make a temporary file (TMPDIR)")?;
    copy(input, &mut file, path)?;
    Ok(file)
}

/// Copies all of an input of this name, and says which of the two has failed.
pub(super) fn copy(input: impl Read, file: &mut impl Write, path: &Path) -> Result<()> {
    let mut input = BufReader::with_capacity(COPIED, input);
    loop {
        let part = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            part => part.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let length = part.len();
        if length == 0 {
            return Ok(());
        }
        file.write_all(part).context("cannot write the temporary file (TMPDIR)")?;
        input.consume(length);
    }
}

/// Some rows of a file.
pub(super) struct Batch {
    /// They are [`ImportPass::MAX_ROWS`] at most.
    pub(super) rows: Vec<Row>,
    /// How much of the file was read until then.
    pub(super) end: u64,
}

/// A reader that keeps its position up to date, and fails within a row that is too long.
struct Counted<'a, R> {
    inner: R,
    position: &'a Position,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.position.is_too_long() {
            return Err(io::Error::other("a row is too long"));
        }
        let count = self.inner.read(bytes)?;
        let read = bytes.get(..count).unwrap_or_default();
        let lines = read.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
        self.position.line.set(self.position.line.get() + lines);
        self.position.offset.set(self.position.offset.get() + u64::try_from(count).map_err(io::Error::other)?);
        Ok(count)
    }
}

/// Reads the rows of a file, until none is wanted any more.
///
/// # Errors
/// When it cannot be read, or is no file of products at all.
pub(super) fn read(
    format: Format,
    mut input: impl Read,
    position: &Position,
    take: &mut dyn FnMut(Row) -> bool,
) -> Result<()> {
    const BOM: &[u8] = b"\xef\xbb\xbf";
    let mut head = Vec::new();
    (&mut input).take(3).read_to_end(&mut head).context("the file cannot be read")?;
    let is_utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    ensure!(!is_utf16, "the file is UTF-16: save it as UTF-8");
    if head == BOM {
        head.clear();
    }
    let input = BufReader::new(Cursor::new(head).chain(input));
    let input = Counted { inner: input, position };
    let mut row = 0;
    let take: Take<'_> = &mut |line, content| {
        row += 1;
        take(Row { at: RowPosition { row, line }, content })
    };
    match format {
        Format::Json => json::read_array(input, position, take),
        Format::Jsonl => json::read_lines(BufReader::new(input), position, take),
        Format::Csv => table::read(input, position, take),
    }
}
