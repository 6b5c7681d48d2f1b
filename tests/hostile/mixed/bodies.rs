//! Malicious bodies.

/// Returns JSON that is malformed, nested too deeply or invalid.
pub(super) fn jsons() -> Vec<Vec<u8>> {
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        text(""),
        text("{"),
        text("null"),
        text("\"text\""),
        "[".repeat(30_000).into_bytes(),
        format!("{{\"text\":{}1{}}}", "[".repeat(20_000), "]".repeat(20_000)).into_bytes(),
        "{\"a\":".repeat(10_000).into_bytes(),
        format!("{{\"text\":{}}}", "9".repeat(60_000)).into_bytes(),
        text("{\"text\":1e999999999}"),
        text("{\"text\":-0.0000000000000000000000000000000000001}"),
        text("{\"text\":\"\\ud800\"}"),
        text("{\"text\":\"\\u0000\"}"),
        b"{\"text\":\"\xff\xfe\x80\"}".to_vec(),
        text("{\"text\":\"one\",\"text\":\"two\",\"visibility\":\"NOBODY\"}"),
        format!("{{\"text\":\"{}\"}}", "\u{1f600}".repeat(6000)).into_bytes(),
        format!("{{{}\"z\":1}}", (0..4000).map(|n| format!("\"k{n}\":{n},")).collect::<String>()).into_bytes(),
    ]
}

/// Returns a file of each format that declares this size, but has no pixels.
pub(super) fn images(width: u16, height: u16) -> Vec<Vec<u8>> {
    let ([w1, w0], [h1, h0]) = (width.to_be_bytes(), height.to_be_bytes());
    let header = [b"IHDR".as_slice(), &[0, 0, w1, w0, 0, 0, h1, h0, 8, 6, 0, 0, 0]].concat();
    let png = [
        b"\x89PNG\r\n\x1a\n\0\0\0\x0d".as_slice(),
        &header,
        &crc(&header).to_be_bytes(),
        b"\0\0\x10\0IDAT\x78\x9c\xed\xc1\x01\x0d\0\0\0\xc2\xa0",
    ]
    .concat();
    let gif = [b"GIF89a".as_slice(), &[w0, w1, h0, h1, 0, 0, 0, 0x2c, 0, 0, 0, 0, w0, w1, h0, h1, 0, 8, 255]].concat();
    let lossless = u32::from(width - 1) | u32::from(height - 1) << 14;
    let webp =
        [b"RIFF\x40\0\0\0WEBPVP8L\x30\0\0\0\x2f".as_slice(), &lossless.to_le_bytes(), b"\x10\x07\x10\x11"].concat();
    vec![png, gif, webp, jpeg([h1, h0, w1, w0], 0xc0), jpeg([h1, h0, w1, w0], 0xc2), b"BM no image at all".to_vec()]
}

/// Returns the beginning of a JPEG file with three components at full resolution. The marker makes it baseline or progressive.
fn jpeg(size: [u8; 4], marker: u8) -> Vec<u8> {
    let quantization = [&[0xff, 0xdb, 0, 67, 0], [1; 64].as_slice()].concat();
    let frame = [&[0xff, marker, 0, 17, 8], size.as_slice(), &[3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0]].concat();
    let huffman = |class| [&[0xff, 0xc4, 0, 20, class, 1], [0; 15].as_slice(), &[0]].concat();
    let last = if marker == 0xc2 { 0 } else { 63 };
    let scan = [0xff, 0xda, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, last, 0, 0x2a, 0x15, 0x80];
    [[0xff, 0xd8].as_slice(), &quantization, &frame, &huffman(0), &huffman(0x10), &scan].concat()
}

fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}
