//! Files of products, as an import reads them.

use agora_operations::fuzzing::read_products;

/// Reads a file in each format that there is.
///
/// # Panics
/// When a row is told on a line that the file does not have, before the row that precedes it, or, of JSON lines and
/// tables, on the same line; or when a row that is read has a field that the domain parses to more than it was.
pub fn check(data: &[u8]) {
    let lines = u64::try_from(data.split(|byte| *byte == b'\n').count()).expect("a small number");
    for name in ["catalog.json", "catalog.jsonl", "catalog.csv"] {
        let Ok(rows) = read_products(name, data) else { continue };
        let mut last = 0;
        for (n, (at, fields)) in (1..).zip(rows) {
            assert_eq!(at.row, n, "{name}: rows are counted as they come");
            let line = at.line;
            let apart = u64::from(name != "catalog.json");
            assert!((last + apart..=lines).contains(&line) && line > 0, "{name}: line {line} after {last} of {lines}");
            last = line;
            let Some((fields, wrong)) = fields else { continue };
            let given = fields.name.clone();
            if let (true, Ok(new)) = (wrong.is_empty(), fields.into_new()) {
                assert!(given.is_some_and(|given| given.contains(new.name.as_str())), "{name}: another name");
                assert!(new.price.hundredths() >= 0 && new.stock.get() >= 0);
            }
        }
    }
}
