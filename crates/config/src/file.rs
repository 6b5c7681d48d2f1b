//! The configuration file.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::setting::{Form, Setting, find};
use crate::settings::ALL;
use crate::values::{ValueSource, Values};

impl Values {
    /// Adds the values of a file. Messages never repeat a value, which may be a secret.
    pub fn take_file(&mut self, path: &Path, text: &str) {
        self.file = Some(path.to_owned());
        let line = |at: usize| 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        let at_line = |at: usize, what: &str| format!("{}:{}: {what}", path.display(), line(at));
        let table = match DeTable::parse(text) {
            Ok(table) => table,
            Err(error) => {
                let what = error.message().lines().collect::<Vec<_>>().join(", ");
                let at = error.span().map_or(0, |span| span.start);
                self.add_problem(&[], at_line(at, &format!("invalid TOML: {what}")));
                self.is_file_unreadable = true;
                return;
            }
        };
        let mut entries = entries(table.get_ref(), &[]);
        entries.sort_by_key(|(at, ..)| *at);
        for (at, keys, value) in entries {
            let (setting, is_path) = match setting(&keys) {
                Ok(found) => found,
                Err((meant, what)) => {
                    self.add_problem(meant.as_slice(), at_line(at, &what));
                    continue;
                }
            };
            match in_form(if is_path { Form::Text } else { setting.form }, value) {
                Ok(text) => self.take(setting, is_path, &text, ValueSource::File(path.to_owned(), line(at))),
                Err(wanted) => {
                    let suffix = if is_path { "_file" } else { "" };
                    self.add_problem(&[setting], at_line(at, &format!("{}{suffix} must be {wanted}", setting.key)));
                }
            }
        }
    }
}

/// Returns the entries of a table and its subtables, each with its byte offset, its path of keys, and its value.
fn entries<'a>(table: &'a DeTable<'_>, above: &[&'a str]) -> Vec<(usize, Vec<&'a str>, &'a DeValue<'a>)> {
    let entries = table.iter().flat_map(|(key, value)| {
        let keys = [above, &[key.get_ref().as_ref()]].concat();
        match value.get_ref() {
            DeValue::Table(table) if !table.is_empty() => entries(table, &keys),
            value => vec![(key.span().start, keys, value)],
        }
    });
    entries.collect()
}

/// Returns the setting of a key, and whether the key is that of its separate file. If there is no such setting, returns the one
/// that was probably meant, and a message about the key.
fn setting(keys: &[&str]) -> Result<(&'static Setting, bool), (Option<&'static Setting>, String)> {
    let (name, joined) = (keys.join("."), keys.join("_"));
    if let Some(setting) = ALL.iter().find(|setting| !setting.in_file && setting.key == joined) {
        return Err((None, format!("{name} cannot be set in a file: set {}", setting.variable())));
    }
    let in_file: Vec<_> = ALL.iter().copied().filter(|setting| setting.in_file).collect();
    let (meant, known) = match find(&in_file, &joined, "_file", |setting| setting.key.to_owned()) {
        Ok(found) if keys.len() == 1 => return Ok(found),
        Ok((setting, _)) => (setting, joined),
        Err(Some(nearest)) => nearest,
        Err(None) => return Err((None, format!("there is no setting {name}"))),
    };
    let place = if keys.len() > 1 { ", outside of any table" } else { "" };
    Err((Some(meant), format!("there is no setting {name}: did you mean {known}{place}?")))
}

/// Returns the value as a variable would hold it, or what it must be if it has another form.
fn in_form(form: Form, value: &DeValue<'_>) -> Result<String, &'static str> {
    let (text, wanted) = match (form, value) {
        (_, DeValue::String(text)) => return Ok(text.clone().into_owned()),
        (Form::Number, value) => (integer(value), "a whole number"),
        (Form::Time, value) => {
            (integer(value), "a number of seconds, or a time in quotes such as \"90s\", \"15m\", \"1h\" or \"7d\"")
        }
        (Form::List, value) => {
            let items = value.as_array().map(|items| items.iter().map(|item| item.get_ref().as_str()));
            let items: Option<Vec<&str>> = items.and_then(Iterator::collect);
            (items.map(|items| items.join(", ")), "an array of strings")
        }
        (Form::Text | Form::Secret | Form::SecretUrl, _) => (None, "a string in quotes"),
    };
    text.ok_or(wanted)
}

fn integer(value: &DeValue<'_>) -> Option<String> {
    let number = value.as_integer()?;
    Some(i64::from_str_radix(number.as_str(), number.radix()).ok()?.to_string())
}
