//! Files of products, as an import reads them.

use agora_operations::fuzzing::read_products;

/// Reads a file in each format that there is.
///
/// # Panics
/// When a row is told on a line that the file does not have, before the row that precedes it, or, of JSON lines and
/// tables, on the same line; or when a new product has another name than its row.
pub fn check(data: &[u8]) {
    let lines = u64::try_from(data.split(|byte| *byte == b'\n').count()).expect("a small number");
    for name in ["catalog.json", "catalog.jsonl", "catalog.csv"] {
        let Ok(rows) = read_products(name, data) else { continue };
        let mut last = 0;
        for (n, (at, edit)) in (1..).zip(rows) {
            assert_eq!(at.row, n, "{name}: rows are counted as they come");
            let line = at.line;
            let step = u64::from(name != "catalog.json");
            assert!((last + step..=lines).contains(&line) && line > 0, "{name}: line {line} after {last} of {lines}");
            last = line;
            let Some((edit, errors)) = edit else { continue };
            let given = edit.name.clone();
            if let Ok(new) = edit.into_new(errors) {
                assert!(given.as_ref() == Some(&new.name), "{name}: another name");
                assert!(new.price.hundredths() >= 0 && new.stock.get() >= 0);
            }
        }
    }
}
