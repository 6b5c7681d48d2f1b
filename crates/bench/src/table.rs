//! Tables, rendered as Markdown or serialized as JSON.

use serde::Serialize;

/// A cell of a table.
#[derive(Debug, Clone, Serialize, PartialEq)]
#[serde(untagged)]
pub(crate) enum Cell {
    Text(String),
    Number(f64),
    /// No value.
    None,
}

impl Cell {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => format_number(*number),
            Self::None => "-".to_owned(),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<Option<f64>> for Cell {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::None, Self::Number)
    }
}

/// Formats a number with at least three significant digits, thousands separators and at most three decimals.
fn format_number(number: f64) -> String {
    let size = number.abs();
    if size >= 100.0 {
        let digits = format!("{size:.0}");
        let mut text = String::new();
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        return if number < 0.0 { format!("-{text}") } else { text };
    }
    match size {
        _ if size == 0.0 => "0".to_owned(),
        _ if size >= 10.0 => format!("{number:.1}"),
        _ if size >= 1.0 => format!("{number:.2}"),
        _ => format!("{number:.3}"),
    }
}

/// A table with a title.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
    notes: Vec<String>,
}

impl Table {
    pub(crate) fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Self { title: title.into(), columns, rows: Vec::new(), notes: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Adds a line below the table.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Returns the table as Markdown, in columns that line up.
    pub(crate) fn markdown(&self) -> String {
        let mut lines: Vec<Vec<String>> = vec![self.columns.clone()];
        lines.extend(self.rows.iter().map(|row| row.iter().map(Cell::text).collect()));
        let width = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = format!("## {}\n\n", self.title);
        for (number, line) in lines.iter().enumerate() {
            for (place, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let cell = if place == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
                text += &format!("| {cell} ");
            }
            text += "|\n";
            if number == 0 {
                for (place, width) in widths.iter().enumerate() {
                    let end = if place == 0 { '-' } else { ':' };
                    text += &format!("|{}{end}", "-".repeat(width + 1));
                }
                text += "|\n";
            }
        }
        if !self.notes.is_empty() {
            text += "\n";
        }
        for note in &self.notes {
            text += &format!("- {note}\n");
        }
        text
    }
}

/// Returns the median; the lower of the two middle values if their number is even.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// Returns the smallest value such that this part of all values does not exceed it.
pub(crate) fn quantile(values: impl IntoIterator<Item = f64>, part: f64) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let rank = (values.len() as f64 * part).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits_or_more() {
        for (number, text) in [
            (0.0, "0"),
            (0.01234, "0.012"),
            (9.876, "9.88"),
            (55.55, "55.5"),
            (999.6, "1,000"),
            (1_234_567.0, "1,234,567"),
            (-1234.0, "-1,234"),
        ] {
            assert_eq!(format_number(number), text);
        }
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::new("Paths", &["work", "req/s"]);
        table.row(["post by id".into(), 12345.0.into()]);
        table.row(["like".into(), None.into()]);
        table.note("nothing else");
        let text = "## Paths\n\n| work       |  req/s |\n|------------|-------:|\n| post by id | 12,345 |\n\
            | like       |      - |\n\n- nothing else\n";
        assert_eq!(table.markdown(), text);
    }

    #[test]
    fn the_median_is_a_value_that_occurred() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0]), Some(1.0));
        assert_eq!(median([]), None);
    }

    #[test]
    fn a_quantile_is_the_smallest_value_that_its_part_does_not_exceed() {
        let values = || (1..=200).rev().map(f64::from);
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|part| quantile(values(), part)), [1.0, 100.0, 198.0, 200.0].map(Some));
        assert_eq!(quantile([], 0.5), None);
    }
}
