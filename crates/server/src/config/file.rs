//! The configuration file.

use std::borrow::Cow;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::entry::{Entry, Problem, ValueSource};
use super::table;
use super::table::{Kind, Setting};

/// Returns what the file says, and what is wrong with it. No message repeats a value, which may be a secret.
pub(super) fn parse(path: &Path, text: &str) -> (Vec<Entry>, Vec<Problem>) {
    let mut reader = Reader { path, text, entries: Vec::new(), problems: Vec::new() };
    match DeTable::parse(text) {
        Ok(table) => reader.take(table.get_ref(), &[]),
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            let what = error.message().lines().collect::<Vec<_>>().join(", ");
            reader.refuse(at, None, format!("this is no TOML: {what}"));
            reader.problems.iter_mut().for_each(|(_, problem)| problem.is_of_whole_file = true);
        }
    }
    let Reader { mut entries, mut problems, .. } = reader;
    // The parser orders by key.
    entries.sort_by_key(|entry| match entry.place {
        ValueSource::File(_, line) => line,
        ValueSource::Variable | ValueSource::Flag => 0,
    });
    problems.sort_by_key(|(line, _)| *line);
    (entries, problems.into_iter().map(|(_, problem)| problem).collect())
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    entries: Vec<Entry>,
    /// Each with its line.
    problems: Vec<(usize, Problem)>,
}

impl Reader<'_> {
    /// Takes the entries of a table with this path of keys.
    fn take(&mut self, table: &DeTable<'_>, above: &[&str]) {
        for (key, value) in table {
            let at = key.span().start;
            let keys: Vec<&str> = above.iter().copied().chain([key.get_ref().as_ref()]).collect();
            match value.get_ref() {
                DeValue::Table(table) if !table.is_empty() => self.take(table, &keys),
                _ => match setting(&keys) {
                    Some((setting, is_path)) => self.entry(setting, is_path, at, value),
                    None => {
                        let (meant, what) = unknown(&keys);
                        self.refuse(at, meant, what);
                    }
                },
            }
        }
    }

    fn entry(&mut self, setting: &'static Setting, is_path: bool, at: usize, value: &Spanned<DeValue<'_>>) {
        let kind = if is_path { Kind::Path } else { setting.kind };
        match of_kind(kind, value.get_ref()) {
            Some(text) => {
                let place = ValueSource::File(self.path.to_owned(), self.line(at));
                self.entries.push(Entry { setting, is_path, text, place });
            }
            None => {
                let key = setting.key() + if is_path { "_file" } else { "" };
                self.refuse(at, Some(setting), format!("{key} must be {}", in_words(kind)));
            }
        }
    }

    fn line(&self, at: usize) -> usize {
        1 + self.text.bytes().take(at).filter(|byte| *byte == b'\n').count()
    }

    fn refuse(&mut self, at: usize, of: Option<&Setting>, what: String) {
        let line = self.line(at);
        let text = format!("{}:{line}: {what}", self.path.display());
        let of = of.map(|setting| setting.variable).into_iter().collect();
        self.problems.push((line, Problem { of, is_of_whole_file: false, text }));
    }
}

/// Returns the setting of a key, and whether the key is the one of its own file.
fn setting(keys: &[&str]) -> Option<(&'static Setting, bool)> {
    let [key] = keys else { return None };
    table::ALL.iter().filter(|setting| setting.group.in_file).find_map(|setting| {
        match key.strip_prefix(setting.key().as_str())? {
            "" => Some((setting, false)),
            "_file" if setting.may_be_in_own_file() => Some((setting, true)),
            _ => None,
        }
    })
}

/// Returns the setting that was probably meant by a key that is none, and what to say of the key.
fn unknown(keys: &[&str]) -> (Option<&'static Setting>, String) {
    let (name, joined) = (keys.join("."), keys.join("_"));
    if let Some(setting) = table::ALL.iter().find(|setting| !setting.group.in_file && setting.key() == joined) {
        return (None, format!("{name} cannot be set in a file: set {}", setting.variable));
    }
    match table::nearest(&joined, |setting| setting.group.in_file.then(|| setting.key())) {
        Some((setting, known)) => {
            let place = if keys.len() > 1 { ", outside of any table," } else { "" };
            (Some(setting), format!("there is no setting {name}: is {known}{place} meant?"))
        }
        None => (None, format!("there is no setting {name}")),
    }
}

/// Returns the value as a variable would hold it; nothing when it is of another kind.
fn of_kind(kind: Kind, value: &DeValue<'_>) -> Option<String> {
    match (kind, value) {
        (_, DeValue::String(text)) => Some(text.clone().into_owned()),
        (Kind::Number(..) | Kind::Bytes(..) | Kind::Time, DeValue::Integer(number)) => {
            let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
            Some(number.to_string())
        }
        (Kind::List, DeValue::Array(items)) => {
            let items: Option<Vec<Cow<'_, str>>> = items
                .iter()
                .map(|item| match item.get_ref() {
                    DeValue::String(text) => Some(text.clone()),
                    _ => None,
                })
                .collect();
            Some(items?.join(", "))
        }
        _ => None,
    }
}

fn in_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Text | Kind::Path | Kind::Choice(_) | Kind::Secret | Kind::SecretUrl => "a text in quotes",
        Kind::List => "a list of texts in quotes, in brackets",
        Kind::Number(..) | Kind::Bytes(..) => "a whole number",
        Kind::Time => "a number of seconds, or a time in quotes such as \"90s\", \"15m\", \"1h\" or \"7d\"",
    }
}
