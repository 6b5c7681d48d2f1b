//! Computes the memory that the prefix codes of a lossless WebP picture take.
//!
//! A picture of any size may have 65,536 groups of five prefix codes, and the decoder of `image` keeps tables for all of them
//! at once: a file of a megabyte took gigabytes. The number of groups is not in the header. It is one more than the largest
//! number in a small picture that precedes the pixels. This module reads the stream (RFC 9649) up to that picture, and the
//! lengths of the codes, from which the sizes of the tables follow. It can be removed once the decoder has a memory limit.

/// The sizes of the alphabets of a group: green with lengths of copies, red, blue, alpha, distances of copies.
const ALPHABETS: [usize; 5] = [256 + 24, 256, 256, 256, 40];

/// The order in which the code lengths of the code for code lengths are stored.
const LENGTH_ORDER: [usize; 19] = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// The number of bits that the decoder looks up in a table; the rest of a longer code is a path in a tree.
const TABLE_BITS: usize = 10;

/// The bytes of an entry of the table, of a node of the tree, of which each longer code has two, and of everything else that a
/// code takes.
const ENTRY: u64 = 4;
const NODE: u64 = 16;
const CODE: u64 = 56;

/// Returns the bytes that the prefix codes of a picture take in the decoder, or `None` if the picture is broken. It stops
/// reading once they exceed `most`.
///
/// `stream` is that of a picture of this size, without the header.
pub(super) fn code_bytes(stream: &[u8], (width, height): (u32, u32), most: u64) -> Option<u64> {
    let mut bits = Bits { stream, at: 0 };
    let mut width = width;
    let mut seen = [false; 4];
    while bits.take(1)? == 1 {
        let kind = bits.take(2)?;
        if std::mem::replace(seen.get_mut(kind as usize)?, true) {
            return None;
        }
        match kind {
            // The predictor and colour transforms, which have a picture with a pixel for each block.
            0 | 1 => drop(bits.block_picture(width, height)?),
            2 => {}
            // The palette; with a small one, several pixels share a byte.
            _ => {
                let colours = bits.take(8)? + 1;
                bits.largest_group(colours, 1)?;
                let packed = match colours {
                    1 | 2 => 3,
                    3 | 4 => 2,
                    5..=16 => 1,
                    _ => 0,
                };
                width = width.div_ceil(1 << packed);
            }
        }
    }
    let cache = bits.cache_size()?;
    let groups = if bits.take(1)? == 1 { bits.block_picture(width, height)? + 1 } else { 1 };
    let mut bytes = 0;
    for _ in 0..groups {
        for code in bits.group(cache)? {
            bytes += code.decoder_bytes();
        }
        if bytes > most {
            break;
        }
    }
    Some(bytes)
}

/// A canonical prefix code.
struct Code {
    /// The number of symbols with codes of each length.
    counts: [usize; 16],
    /// The symbols, ordered by the length of their codes and then by value.
    symbols: Vec<u16>,
}

impl Code {
    fn new(lengths: &[u8]) -> Self {
        let used = || lengths.iter().map(|length| usize::from(*length)).zip(0..).filter(|(length, _)| *length > 0);
        let mut counts = [0; 16];
        used().for_each(|(length, _)| counts[length] += 1);
        let mut symbols: Vec<(usize, u16)> = used().collect();
        symbols.sort_unstable();
        Self { counts, symbols: symbols.into_iter().map(|(_, symbol)| symbol).collect() }
    }

    /// Creates a code of one symbol, which takes no bits, or of two.
    fn simple(symbols: Vec<u16>) -> Self {
        let mut counts = [0; 16];
        counts[1] = symbols.len();
        Self { counts, symbols }
    }

    /// Returns the bytes that the decoder allocates for the code. A code of one symbol has no table.
    fn decoder_bytes(&self) -> u64 {
        if self.symbols.len() < 2 {
            return CODE;
        }
        let longest = self.counts.iter().rposition(|count| *count > 0).unwrap_or_default();
        let in_tree: usize = self.counts.iter().skip(TABLE_BITS + 1).sum();
        CODE + ENTRY * (1 << longest.min(TABLE_BITS)) + NODE * 2 * in_tree as u64
    }
}

struct Bits<'a> {
    stream: &'a [u8],
    /// The position in bits, counted from the least significant bit of each byte.
    at: usize,
}

impl Bits<'_> {
    /// Reads a number of `count` bits, at most 18; returns `None` if fewer are left.
    fn take(&mut self, count: usize) -> Option<u32> {
        let mut window = [0; 4];
        let rest = self.stream.get(self.at / 8..)?;
        window.iter_mut().zip(rest).for_each(|(byte, given)| *byte = *given);
        let number = u32::from_le_bytes(window) >> (self.at % 8) & ((1 << count) - 1);
        self.at += count;
        (self.at <= self.stream.len() * 8).then_some(number)
    }

    fn symbol(&mut self, code: &Code) -> Option<usize> {
        if let [symbol] = *code.symbols {
            return Some(symbol.into());
        }
        // The codes of one length are consecutive numbers, which continue after those of the shorter codes.
        let (mut number, mut first, mut index) = (0, 0, 0);
        for count in code.counts.iter().skip(1) {
            number = number << 1 | self.take(1)? as usize;
            first <<= 1;
            if let Some(nth) = number.checked_sub(first).filter(|nth| nth < count) {
                return code.symbols.get(index + nth).map(|symbol| usize::from(*symbol));
            }
            index += count;
            first += count;
        }
        None
    }

    /// Reads the size of the colour cache.
    fn cache_size(&mut self) -> Option<usize> {
        match self.take(1)? {
            0 => Some(0),
            _ => Some(1 << self.take(4).filter(|bits| (1..=11).contains(bits))?),
        }
    }

    fn group(&mut self, cache: usize) -> Option<[Code; 5]> {
        let [green, rest @ ..] = ALPHABETS;
        let green = self.code(green + cache)?;
        let [red, blue, alpha, distance] = rest;
        Some([green, self.code(red)?, self.code(blue)?, self.code(alpha)?, self.code(distance)?])
    }

    fn code(&mut self, alphabet: usize) -> Option<Code> {
        if self.take(1)? == 1 {
            let two = self.take(1)? == 1;
            let width = if self.take(1)? == 1 { 8 } else { 1 };
            let mut symbols = vec![self.take(width)? as u16];
            if two {
                symbols.push(self.take(8)? as u16);
            }
            return symbols.iter().all(|symbol| usize::from(*symbol) < alphabet).then(|| Code::simple(symbols));
        }
        let mut lengths = vec![0; alphabet];
        let mut of_lengths = [0; LENGTH_ORDER.len()];
        let count = 4 + self.take(4)? as usize;
        for at in LENGTH_ORDER.into_iter().take(count) {
            of_lengths[at] = self.take(3)? as u8;
        }
        let of_lengths = Code::new(&of_lengths);
        let mut most = alphabet;
        if self.take(1)? == 1 {
            let width = 2 + 2 * self.take(3)?;
            most = 2 + self.take(width as usize)? as usize;
        }
        let (mut at, mut last) = (0, 8);
        while at < alphabet && most > 0 {
            most -= 1;
            let (length, times) = match self.symbol(&of_lengths)? {
                16 => (last, 3 + self.take(2)?),
                17 => (0, 3 + self.take(3)?),
                18 => (0, 11 + self.take(7)?),
                length => (length as u8, 1),
            };
            last = if length > 0 { length } else { last };
            lengths.get_mut(at..at + times as usize)?.fill(length);
            at += times as usize;
        }
        Some(Code::new(&lengths))
    }

    /// Reads a picture that has a pixel for each block of a larger one; returns the largest group number in it.
    fn block_picture(&mut self, width: u32, height: u32) -> Option<usize> {
        let side = 1 << (self.take(3)? + 2);
        self.largest_group(width.div_ceil(side), height.div_ceil(side))
    }

    /// Reads a picture with a single group of codes; returns the largest number that red and green of a pixel form. Copied
    /// pixels, and those from the colour cache, occur earlier in the picture and need not be considered.
    fn largest_group(&mut self, width: u32, height: u32) -> Option<usize> {
        let cache = self.cache_size()?;
        let [green, red, blue, alpha, distance] = self.group(cache)?;
        let mut left = u64::from(width) * u64::from(height);
        let mut largest = 0;
        while left > 0 {
            match self.symbol(&green)? {
                low @ ..256 => {
                    largest = largest.max(self.symbol(&red)? << 8 | low);
                    self.symbol(&blue)?;
                    self.symbol(&alpha)?;
                    left -= 1;
                }
                length @ ..280 => {
                    left = left.checked_sub(self.number(length - 256)?.into())?;
                    let distance = self.symbol(&distance)?;
                    self.number(distance)?;
                }
                _ => left -= 1,
            }
        }
        Some(largest)
    }

    /// Reads the extra bits of a symbol for a length or distance of a copy; returns that number.
    fn number(&mut self, symbol: usize) -> Option<u32> {
        if symbol < 4 {
            return Some(symbol as u32 + 1);
        }
        let more = (symbol - 2) >> 1;
        let offset = (2 + (symbol as u32 & 1)) << more;
        Some(offset + self.take(more)? + 1)
    }
}
