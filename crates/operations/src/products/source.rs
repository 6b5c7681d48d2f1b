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

/// A batch of rows ends once it has this many bytes.
const BATCH_BYTES: u64 = MAX_ROW;

/// The size of the buffer that copies an input into a temporary file.
const COPY_BUFFER: usize = 64 << 10;

/// A file that can be read several times.
pub(super) struct Source {
    file: File,
    format: Format,
}

impl Source {
    /// Opens the file; `-` is standard input. Standard input, pipes and devices, which can be read only once, are first copied
    /// into a temporary file.
    ///
    /// # Errors
    /// When it cannot be opened, read or copied; and when the command is interrupted, even while the input blocks.
    pub(super) async fn open(path: PathBuf, format: Format, interrupt: &Interrupt) -> Result<Self> {
        let (sender, opened) = oneshot::channel();
        // Not a task of the runtime, whose shutdown waits for it: it may block until the writer of a pipe closes it.
        thread::Builder::new().spawn(move || {
            // Fails only if the command was interrupted.
            let _ = sender.send(open(&path));
        })?;
        tokio::select! {
            file = opened => Ok(Self { file: file??, format }),
            () = interrupt.cancelled() => bail!(INTERRUPTED),
        }
    }

    /// Returns the length of the file in KiB.
    pub(super) fn kib(&self) -> Result<u64> {
        Ok(self.file.metadata()?.len() >> 10)
    }

    /// Reads the file from its beginning, on a separate thread.
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
                if rows.len() < ImportPass::MAX_ROWS && end - begun < BATCH_BYTES {
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

/// Opens a regular file; copies anything else into a temporary file.
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
    let mut file = tempfile::tempfile().context("cannot create a temporary file (TMPDIR)")?;
    copy(input, &mut file, path)?;
    Ok(file)
}

/// Copies the input at `path` to the temporary file. An error names which of the two failed.
pub(super) fn copy(input: impl Read, file: &mut impl Write, path: &Path) -> Result<()> {
    let mut input = BufReader::with_capacity(COPY_BUFFER, input);
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

/// A batch of rows of a file.
pub(super) struct Batch {
    /// The rows, at most [`ImportPass::MAX_ROWS`].
    pub(super) rows: Vec<Row>,
    /// How many bytes of the file were read up to the end of the batch.
    pub(super) end: u64,
}

/// A reader that updates a [`Position`], and fails within a row that is too long.
struct CountingReader<'a, R> {
    inner: R,
    position: &'a Position,
}

impl<R: Read> Read for CountingReader<'_, R> {
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

/// Reads the rows of a file and passes each to `take`, until that returns `false`.
///
/// # Errors
/// When the file cannot be read, or is not a file of products at all.
pub(super) fn read(
    format: Format,
    mut input: impl Read,
    position: &Position,
    take: &mut dyn FnMut(Row) -> bool,
) -> Result<()> {
    const BOM: &[u8] = b"\xef\xbb\xbf";
    let mut head = Vec::new();
    (&mut input).take(3).read_to_end(&mut head).context("cannot read the file")?;
    let is_utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    ensure!(!is_utf16, "the file is UTF-16: save it as UTF-8");
    if head == BOM {
        head.clear();
    }
    let input = BufReader::new(Cursor::new(head).chain(input));
    let input = CountingReader { inner: input, position };
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
