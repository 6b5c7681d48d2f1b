//! Tests of reading files of products: valid, broken and hostile ones.

use std::io;
use std::path::Path;

use agora_domain::products::{
    Category, Description, ImageUrl, Price, ProductEdit, ProductName, Sku, Stock, Variant, VariantFields,
};

use super::row::Format::{Csv, Json, Jsonl};
use super::row::{Format, MAX_ROW, ParsedRow, Position};
use super::source::{copy, read};

/// The rows of a file, each with its line and either its fields or what is wrong with it.
fn rows(format: Format, bytes: &[u8]) -> anyhow::Result<Vec<(u64, Result<ProductEdit, String>)>> {
    let mut rows = Vec::new();
    read(format, bytes, &Position::default(), &mut |row| {
        let content = row.content.map_err(|bad| bad.reason).and_then(|ParsedRow { edit, errors }| {
            let wrong: Vec<_> = errors.iter().flat_map(|(_, violations)| violations).map(ToString::to_string).collect();
            if wrong.is_empty() { Ok(edit) } else { Err(wrong.join("; ")) }
        });
        rows.push((row.at.line, content));
        assert_eq!(row.at.row, u64::try_from(rows.len()).unwrap());
        true
    })?;
    Ok(rows)
}

/// The number of each bad row, and its SKU if that can be read.
fn skus_of_bad_rows(format: Format, bytes: &[u8]) -> Vec<(u64, Option<String>)> {
    let mut skus = Vec::new();
    read(format, bytes, &Position::default(), &mut |row| {
        let named = row.content.err().map(|bad| (row.at.row, bad.sku.map(|sku| sku.as_str().to_owned())));
        skus.extend(named);
        true
    })
    .unwrap();
    skus
}

/// The line of each row, and its SKU or, for a bad row, what is wrong with it.
#[track_caller]
fn skus(format: Format, bytes: &[u8]) -> Vec<(u64, String)> {
    let sku = |row: Result<ProductEdit, String>| match row {
        Ok(edit) => edit.sku.map_or_else(String::new, |sku| sku.as_str().to_owned()),
        Err(reason) => reason,
    };
    rows(format, bytes).unwrap().into_iter().map(|(line, row)| (line, sku(row))).collect()
}

fn expected(rows: &[(u64, &str)]) -> Vec<(u64, String)> {
    rows.iter().map(|(line, text)| (*line, (*text).to_owned())).collect()
}

fn refusal(format: Format, bytes: &[u8]) -> String {
    format!("{:#}", rows(format, bytes).unwrap_err())
}

#[test]
fn a_product_is_the_same_in_every_format() {
    let array = r#"[{"sku":"A","name":"Mug, \"big\"","description":"two\nlines","price":9.50,"category":"K","stock":3,
        "variants":[{"color":"red","size":"M","stock":2},{"stock":1}],"images":["https://e.org/a"]}]"#;
    let line = array[1..array.len() - 1].replace("\n        ", "");
    let table = concat!(
        "sku,name,description,price,category,stock,variants,images\n",
        "A,\"Mug, \"\"big\"\"\",\"two\nlines\", 9.50 ,K, 3,",
        r#""[{""color"":""red"",""size"":""M"",""stock"":2},{""stock"":1}]","[""https://e.org/a""]""#,
    );
    let color = Some("red".to_owned());
    let given = [
        VariantFields { color, size: Some("M".to_owned()), stock: Some(2) },
        VariantFields { color: None, size: None, stock: Some(1) },
    ];
    let expected = ProductEdit {
        sku: Sku::parse("A").ok(),
        name: ProductName::parse("Mug, \"big\"").ok(),
        description: Description::parse("two\nlines").ok(),
        price: Price::parse("9.50").ok(),
        category: Category::parse("K").ok(),
        stock: Stock::parse(3).ok(),
        variants: Variant::parse_all(given.into()).ok(),
        images: ImageUrl::parse_all(vec!["https://e.org/a".to_owned()]).ok(),
        ..ProductEdit::default()
    };
    for (format, bytes, line) in [(Json, array, 1), (Jsonl, &line, 1), (Csv, table, 2)] {
        assert_eq!(rows(format, bytes.as_bytes()).unwrap(), [(line, Ok(expected.clone()))], "{format:?}");
    }
}

#[test]
fn null_and_blank_values_leave_a_field_unset() {
    for (format, bytes) in [
        (Json, r#"[{"sku":"A","name":null}]"#),
        (Jsonl, r#"{"sku":"A","stock":null,"variants":null}"#),
        (Csv, "name,sku,price,category,stock,variants,images\n,A,, ,,,"),
    ] {
        let read = rows(format, bytes.as_bytes()).unwrap();
        let [(_, Ok(edit))] = read.as_slice() else { panic!("{read:?}") };
        assert_eq!(*edit, ProductEdit { sku: Sku::parse("A").ok(), ..ProductEdit::default() }, "{format:?}");
    }
    // But an empty description and an empty list are values.
    let rows = rows(Csv, b"sku,description,variants,images\nA,,[],[]").unwrap();
    let [(_, Ok(edit))] = rows.as_slice() else { panic!("{rows:?}") };
    let description = Some(Description::default());
    let expected = ProductEdit { variants: Some(vec![]), images: Some(vec![]), description, ..ProductEdit::default() };
    assert_eq!(*edit, ProductEdit { sku: Sku::parse("A").ok(), ..expected });
}

#[test]
fn a_row_is_reported_with_the_line_it_begins_on() {
    let lines = b"{\"sku\":\"A\"}\r\n\n  {\"sku\":\"B\"}\n{\"sku\":\"C\"}";
    assert_eq!(skus(Jsonl, lines), expected(&[(1, "A"), (3, "B"), (4, "C")]));
    let array = b"\n[ {\"sku\":\n\"A\"},{\"sku\":\"B\"}\n\n,\n{\"sku\":\"C\"} ]\n";
    assert_eq!(skus(Json, array), expected(&[(2, "A"), (3, "B"), (6, "C")]));
    // Line breaks within cells, blank lines, a last line without a break, and both kinds of line breaks.
    let table = "\nsku,name\nA,x\n\n\nB,\"two\n\nlines\"\nC,\"\"\n\nD,x";
    for table in [table.to_owned(), table.replace('\n', "\r\n"), format!("{table}\n\n")] {
        let found = skus(Csv, table.as_bytes());
        assert_eq!(found, expected(&[(3, "A"), (6, "B"), (9, "C"), (11, "D")]), "{table:?}");
    }
    let broken = rows(Csv, b"sku,name\r\nA,\"one\r\ntwo\"\r\n").unwrap();
    let name = ProductName::parse("one\r\ntwo").ok();
    assert_eq!(broken[0].1.as_ref().unwrap().name, name, "cells are as they are");
}

#[test]
fn a_byte_order_mark_is_skipped() {
    for (format, text) in [(Json, r#"[{"sku":"A"}]"#), (Jsonl, r#"{"sku":"A"}"#)] {
        assert_eq!(skus(format, format!("\u{feff}{text}").as_bytes()), expected(&[(1, "A")]));
    }
    assert_eq!(skus(Csv, "\u{feff}sku\nA".as_bytes()), expected(&[(2, "A")]));
    assert_eq!(skus(Csv, "\u{feff}\"sku\"\nA".as_bytes()), expected(&[(2, "A")]));
}

#[test]
fn bad_rows_are_reported_and_reading_continues() {
    let lines = concat!(
        "{\"sku\":\"A\"}\n[1]\n{\"sku\":\n{\"sku\":\"B\",\"colour\":1}\n{\"sku\":7,\"price\":[],\"stock\":1.5}\n",
        "{\"sku\":\"C\",\"sku\":\"D\"}\n{\"sku\":\"E\",\"variants\":{}}\n{\"sku\":\"F\",\"variants\":[{\"weight\":1}]}\n",
        "{\"sku\":\"G\",\"images\":[1]}\n{\"sku\":\"H\"} x\n{\"sku\":\"I\"}\n",
    );
    let list = "variants must be an array of objects with color, size and stock";
    let price = "Price must be a number with at most two decimals, 0 to under 10^12";
    let fields = "`sku`, `name`, `description`, `price`, `category`, `stock`, `variants`, `images`";
    let found = skus(Jsonl, lines.as_bytes());
    assert_eq!(
        found,
        expected(&[
            (1, "A"),
            (2, "it is not a JSON object"),
            (3, "EOF while parsing a value (column 7)"),
            (4, &format!("unknown field `colour`, expected one of {fields}")),
            (5, &format!("sku must be a string; {price}; stock must be a whole number")),
            (6, "duplicate field `sku`"),
            (7, list),
            (8, list),
            (9, "images must be an array of strings"),
            (10, "trailing characters (column 13)"),
            (11, "I"),
        ])
    );
    let invalid = b"{\"sku\":\"\xff\"}\n{\"sku\":\"A\"}\n";
    assert_eq!(skus(Jsonl, invalid), expected(&[(1, "it is not valid UTF-8"), (2, "A")]));

    let table = b"sku,name,stock,variants\nA,x,1,\nB,x\nC,x,many,[\n\xff,x,1,\nD,x,1,,\nE,x,1,[]";
    let found = skus(Csv, table);
    assert_eq!(
        found,
        expected(&[
            (2, "A"),
            (3, "it has 2 cells, and the first line has 4"),
            (4, &format!("stock must be a whole number; {list}")),
            (5, "sku is not valid UTF-8"),
            (6, "it has 5 cells, and the first line has 4"),
            (7, "E"),
        ])
    );
}

#[test]
fn a_bad_row_is_reported_with_its_number_and_its_sku_if_it_can_be_read() {
    let named = |row: u64, sku: &str| (row, Some(sku.to_owned()));
    let array = br#"[{"sku":"A"}, {"sku":"B","colour":1}, 7, {"sku":["C"],"colour":1}, {"colour":1,"sku":" D "}]"#;
    assert_eq!(skus_of_bad_rows(Json, array), [named(2, "B"), (3, None), (4, None), named(5, "D")]);
    let lines = b"\n{\"sku\":\"A\",\"colour\":1}\n\n{\"sku\":\"B\"";
    assert_eq!(skus_of_bad_rows(Jsonl, lines), [named(1, "A"), (2, None)]);
    let table = b"sku,name\nA,x\n\nB,\xff\n\xff,x\nC\n";
    assert_eq!(skus_of_bad_rows(Csv, table), [named(2, "B"), (3, None), named(4, "C")]);
    let shifted = b"name,sku\nx,y,A\n";
    assert_eq!(skus_of_bad_rows(Csv, shifted), [(1, None)], "the name may have had a comma");
}

#[test]
fn an_error_after_which_reading_cannot_continue_is_reported_with_its_line() {
    let after = "the rest was not read";
    for (array, line) in [
        (&b"[{\"sku\":\"A\"},\n{\"sku\" 1},\n{\"sku\":\"B\"}]"[..], 2),
        (b"[{\"sku\":\"A\"},\n{\"sku\":\"B\"", 2),
        (b"[{\"sku\":\"A\"},\n{\"sku\":\"\xff\"}]", 2),
        (b"[{\"sku\":\"A\"}]\n\n{\"sku\":\"B\"}", 3),
        (b"[{\"sku\":\"A\"}\n{\"sku\":\"B\"}]", 2),
    ] {
        let found = skus(Json, array);
        let [(1, first), (bad, reason)] = found.as_slice() else { panic!("{found:?}") };
        assert!(first == "A" && *bad == line && reason.contains(after), "{found:?}");
    }
    let quoted = skus(Csv, b"sku,name\nA,x\n\"B,x\nC,x\n");
    assert_eq!(quoted, expected(&[(2, "A"), (3, "a quote is not closed")]));
}

#[test]
fn a_row_without_an_end_is_not_held_in_memory() {
    let huge = "x".repeat(usize::try_from(3 * MAX_ROW).unwrap());
    let expected_reason = "it is longer than 1 MiB";
    let lines = format!("{{\"sku\":\"A\"}}\n{{\"sku\":\"{huge}\"}}\n{{\"sku\":\"B\"}}\n");
    assert_eq!(skus(Jsonl, lines.as_bytes()), expected(&[(1, "A"), (2, expected_reason), (3, "B")]));
    for (format, text) in [
        (Json, format!("[{{\"sku\":\"A\"}},\n{{\"sku\":\"{huge}\"}}]")),
        (Json, format!("[{{\"sku\":\"A\"}},\n{}", " ".repeat(huge.len()))),
        (Csv, format!("sku\nA\n{huge}\n")),
        (Csv, format!("sku\nA\n\"B\n{}", "C\n".repeat(huge.len()))),
    ] {
        let found = skus(format, text.as_bytes());
        let [(_, first), (_, reason)] = found.as_slice() else { panic!("{format:?}: {} rows", found.len()) };
        assert!(
            first == "A" && reason.starts_with(expected_reason) && reason.contains("not read"),
            "{format:?}: {reason}"
        );
    }
    // Just within the limit.
    let most = " ".repeat(usize::try_from(MAX_ROW - 20).unwrap());
    assert_eq!(skus(Jsonl, format!("{{\"sku\":\"A\"{most}}}\n").as_bytes()), expected(&[(1, "A")]));
}

#[test]
fn a_file_of_another_kind_is_refused_with_a_reason() {
    for format in [Json, Jsonl, Csv] {
        for empty in [&b""[..], b"\n", b"\xef\xbb\xbf", b" \r\n\n"] {
            let blank_cell = format == Csv && empty.starts_with(b" ");
            let refused = refusal(format, empty);
            assert!(blank_cell || refused.contains("the file is empty"), "{format:?} {empty:?}: {refused}");
        }
        for utf16 in [&b"\xff\xfe[\0"[..], b"\xfe\xff\0["] {
            assert!(refusal(format, utf16).contains("save it as UTF-8"));
        }
    }
    for other in [&b"{\"sku\":\"A\"}"[..], b"7", b"sku,name", b"\"[]\""] {
        assert!(refusal(Json, other).contains("it must begin with ["), "{other:?}");
    }
    for (table, expected_reason) in [
        ("sku,colour,weight\nA,1,2", "unknown columns \"colour\", \"weight\""),
        ("sku;name\nA;x", "unknown columns \"sku;name\""),
        ("SKU\nA", "\"SKU\""),
        ("name,price\nx,1", "the column sku is missing"),
        ("sku,name,sku\nA,x,B", "the column sku appears twice"),
        ("sku,\u{1b}[2J\n", "\\u{1b}"),
    ] {
        let refused = refusal(Csv, table.as_bytes());
        assert!(refused.contains(expected_reason), "{table:?}: {refused}");
    }
    // A file without products is valid.
    assert!(rows(Json, b" [ ] ").unwrap().is_empty() && rows(Csv, b"name,sku").unwrap().is_empty());
}

#[test]
fn reading_stops_as_soon_as_the_callback_returns_false() {
    for (format, text) in
        [(Json, "[{\"sku\":\"A\"},\n{\"sku\":\"B\"},!"), (Jsonl, "{\"sku\":\"A\"}\n{}\n!"), (Csv, "sku\nA\nB\n\"")]
    {
        let mut taken = 0;
        let mut take = |_| {
            taken += 1;
            false
        };
        read(format, text.as_bytes(), &Position::default(), &mut take).unwrap();
        assert_eq!(taken, 1, "{format:?}");
    }
}

/// A reader and writer whose every operation fails.
struct Broken;

impl io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("broken"))
    }
}

impl io::Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_failed_write_to_the_temporary_file_is_not_reported_as_a_failed_read() {
    let path = Path::new("catalog.csv");
    let mut copied = Vec::new();
    copy(&b"sku\nA\n"[..], &mut copied, path).unwrap();
    assert_eq!(copied, b"sku\nA\n");
    let failed = copy(&b"sku\nA\n"[..], &mut Broken, path).unwrap_err().to_string();
    assert_eq!(failed, "cannot write the temporary file (TMPDIR)");
    assert_eq!(copy(Broken, &mut copied, path).unwrap_err().to_string(), "cannot read catalog.csv");
}
