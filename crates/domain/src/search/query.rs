//! Parsed search queries.

use std::collections::{BTreeMap, BTreeSet};

use super::words;
use super::words::runs;
use crate::accounts::Username;
use crate::entities::{Candidates, Entity, Hashtag, Named};
use crate::error::ViolationKind::Required;
use crate::error::{Result, Violation};
use crate::text;

/// A term of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Term {
    /// Adjacent words within one field, in this order; possibly a single word.
    Phrase(Vec<String>),
    /// The beginning of a word, at least two characters long.
    Prefix(String),
    /// A hashtag.
    Hashtag(Hashtag),
}

/// A search query. It matches texts that have every term, in any order. There is at least one term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    text: String,
    terms: Vec<Term>,
}

impl Query {
    /// The most characters a query has.
    pub const MAX_CHARS: usize = 200;
    /// The fewest characters of a [`Term::Prefix`].
    pub const MIN_PREFIX_CHARS: usize = 2;

    /// Parses a query of a client (`contract`: Search).
    ///
    /// Text in quotes is a phrase; a quote without its counterpart, or between two letters, does not count. `#` followed by a tag
    /// is a hashtag. The last word, if it is not in quotes, is the beginning of a word. Everything else separates words.
    ///
    /// # Errors
    /// The violation, in words for the client, when the query has no word or is too long.
    pub fn parse(query: &str) -> Result<Self, Violation> {
        let text = text::required("Query", query, Self::MAX_CHARS)?;
        let mut terms = Vec::new();
        let mut is_last_open = false;
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (plain, phrase, after) = next_phrase(rest);
            let before = terms.len();
            plain_terms(plain, &mut terms);
            is_last_open = is_last_open || terms.len() > before;
            let phrase = words(phrase);
            if !phrase.is_empty() {
                terms.push(Term::Phrase(phrase));
                is_last_open = false;
            }
            rest = after;
        }
        let last = terms.last_mut().ok_or_else(|| Violation::new(Required, "Query must have a word"))?;
        if let Term::Phrase(words) = last
            && let [word] = words.as_slice()
            && is_last_open
            && word.chars().nth(Self::MIN_PREFIX_CHARS - 1).is_some()
        {
            *last = Term::Prefix(word.clone());
        }
        Ok(Self { text, terms })
    }

    /// Returns the same query for things that have no hashtags, with each tag as an ordinary word.
    #[must_use]
    pub fn without_hashtags(self) -> Self {
        let terms = self.terms.into_iter().map(|term| match term {
            Term::Hashtag(tag) => Term::Phrase(words(tag.as_str())),
            other => other,
        });
        Self { terms: terms.collect(), text: self.text }
    }

    /// Returns the terms.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Returns the whole query as a username, if it is a valid one.
    pub fn username(&self) -> Option<Username> {
        Username::parse(&self.text).ok()
    }

    /// Returns whether the fields and hashtags of a thing have every term. A phrase must be within a single field.
    pub fn finds(&self, fields: &[&str], hashtags: &BTreeSet<Hashtag>) -> bool {
        let fields: Vec<_> = fields.iter().map(|field| words(field)).collect();
        self.terms.iter().all(|term| match term {
            Term::Phrase(phrase) => fields.iter().any(|words| words.windows(phrase.len()).any(|part| part == phrase)),
            Term::Prefix(prefix) => fields.iter().flatten().any(|word| word.starts_with(prefix)),
            Term::Hashtag(tag) => hashtags.contains(tag),
        })
    }
}

/// Splits a query at its first phrase: returns the text before it, the phrase without its quotes, and the text after it.
fn next_phrase(query: &str) -> (&str, &str, &str) {
    let (before, quoted) = split_at_quote(query);
    let (phrase, after) = split_at_quote(quoted.unwrap_or_default());
    after.map_or((query, "", ""), |after| (before, phrase, after))
}

/// Splits a text at its first quote. A quote between two letters is part of a word, as in Hebrew.
fn split_at_quote(text: &str) -> (&str, Option<&str>) {
    let quote = text.match_indices('"').find(|(at, quote)| {
        let is_behind = text[..*at].ends_with(char::is_alphanumeric);
        !(is_behind && text[at + quote.len()..].starts_with(char::is_alphanumeric))
    });
    quote.map_or((text, None), |(at, quote)| (&text[..at], Some(&text[at + quote.len()..])))
}

/// Adds the words and hashtags of text outside of quotes.
fn plain_terms(text: &str, terms: &mut Vec<Term>) {
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut begin = 0;
    let add_words = |terms: &mut Vec<Term>, from: usize, to: usize| {
        let part = String::from_utf16_lossy(units.get(from..to).unwrap_or_default());
        terms.extend(runs(&part).into_iter().map(Term::Phrase));
    };
    for Entity { start, end, named } in Candidates::find(text).resolve(&BTreeMap::new()) {
        if let Named::Hashtag(tag) = named {
            add_words(terms, begin, start);
            terms.push(Term::Hashtag(tag));
            begin = end;
        }
    }
    add_words(terms, begin, units.len());
}
