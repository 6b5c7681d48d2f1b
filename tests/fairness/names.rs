//! The placeholders in braces, in the table of worst cases and in the SQL statements that store what it refers to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The kinds of numbered rows.
const KINDS: [&str; 16] = [
    "user",
    "hidden",
    "large",
    "small",
    "crowded",
    "doomed",
    "tagged",
    "like",
    "follow",
    "comment",
    "session",
    "notification",
    "report",
    "entry",
    "device",
    "mail",
];

/// Returns the prefix of the identifiers of a kind.
pub(crate) fn id_beginning(kind: &str) -> String {
    let position = KINDS.iter().position(|it| *it == kind);
    format!("018f{:04x}-0000-7000-8000-", position.unwrap_or_else(|| panic!("no kind: {kind}")))
}

/// Returns a number as the end of an identifier.
pub(crate) fn digits(number: u64) -> String {
    format!("{number:012x}")
}

/// Returns the identifier of the row of a kind with this number.
pub(crate) fn id(kind: &str, number: u64) -> String {
    format!("{}{}", id_beginning(kind), digits(number))
}

/// A placeholder whose value changes with each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changing {
    /// The request's number, as the end of an identifier.
    Number,
    /// The identifier of a product, in rotation.
    Product,
    /// A token of another session.
    Token,
}

impl Changing {
    const ALL: [(Self, &str); 3] = [(Self::Number, "n"), (Self::Product, "product n"), (Self::Token, "token n")];

    fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, it)| *it == word).map(|(changing, _)| changing)
    }
}

/// The values of the placeholders that are constant once the network is created.
#[derive(Serialize, Deserialize)]
pub(crate) struct Names(pub(crate) BTreeMap<String, String>);

impl Names {
    /// Creates the names from these and the predefined ones.
    pub(crate) fn new<const N: usize>(known: [(&str, String); N]) -> Self {
        let always = [("hermit", id("user", 0)), ("giant", id("user", 1)), ("busy", id("user", 2))];
        let always = always.into_iter().chain([
            ("friend", id("user", 7)),
            ("crowded", id("crowded", 0)),
            ("answered", id("comment", 99_000)),
            ("notification", id("notification", 0)),
            ("reported", id("report", 0)),
        ]);
        Self(known.into_iter().chain(always).map(|(name, text)| (name.to_owned(), text)).collect())
    }

    /// Replaces all placeholders in a text except those that change with each request.
    pub(crate) fn fill_in(&self, text: &str) -> String {
        replace_words(text, |word| match word.split_once(' ') {
            _ if Changing::of(word).is_some() => None,
            Some(("long", count)) => Some("\\u0001".repeat(number(count))),
            Some(("wide", count)) => Some("\u{1f600}".repeat(number(count))),
            Some(("tags", count)) => Some(tags(number(count))),
            Some(("ids", kind)) => Some((0..100).map(|n| format!("id={}", id(kind, n))).collect::<Vec<_>>().join("&")),
            Some(("variants", count)) => Some(vec![r#"{"color":"red","size":"M","stock":1}"#; number(count)].join(",")),
            Some((kind, "n")) => Some(id_beginning(kind) + "{n}"),
            _ => Some(self.0.get(word).unwrap_or_else(|| panic!("no word: {word}")).clone()),
        })
    }
}

/// Returns a text of this many hashtags of one character each.
pub(crate) fn tags(count: usize) -> String {
    ('\u{4e00}'..).take(count).map(|tag| format!("#{tag}")).collect::<Vec<_>>().join(" ")
}

/// Returns the stored form of the entities in [`tags`].
pub(crate) fn entities(count: usize) -> String {
    let line = |(n, tag): (usize, &str)| format!("{} {} {tag}", 3 * n, 3 * n + 2);
    tags(count).split(' ').enumerate().map(line).collect::<Vec<_>>().join("\n")
}

fn number(digits: &str) -> usize {
    digits.parse().unwrap_or_else(|_| panic!("no number: {digits}"))
}

/// Splits a text at the placeholders that change with each request. Each part is followed by its placeholder, except the last.
pub(crate) fn split_at_changing(text: &str) -> Vec<(String, Option<Changing>)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((end, after, changing)) = words(rest).find_map(|(begin, word)| {
        let end = begin + word.len() + 2;
        Changing::of(word).map(|changing| (begin, end, changing))
    }) {
        parts.push((rest[..end].to_owned(), Some(changing)));
        rest = &rest[after..];
    }
    parts.push((rest.to_owned(), None));
    parts
}

/// Replaces the placeholders in a text for which `replacement` returns a value.
pub(crate) fn replace_words(text: &str, replacement: impl Fn(&str) -> Option<String>) -> String {
    let (mut replaced, mut done) = (String::new(), 0);
    for (begin, word) in words(text) {
        if let Some(new) = replacement(word) {
            replaced.push_str(&text[done..begin]);
            replaced.push_str(&new);
            done = begin + word.len() + 2;
        }
    }
    replaced + &text[done..]
}

/// Returns the placeholders in a text, each with the position of its opening brace. Unlike a brace of JSON, that is directly
/// followed by a lowercase letter.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('{').filter_map(|(begin, _)| {
        let inner = &text[begin + 1..];
        let word = &inner[..inner.find('}')?];
        word.starts_with(|c: char| c.is_ascii_lowercase()).then_some((begin, word))
    })
}
