//! Texts and queries in the forms in which they are matched.

use std::collections::{BTreeMap, BTreeSet};

use super::words::for_each_word;
use super::{Query, Term};
use crate::accounts::{DisplayName, Username};
use crate::entities::{Candidates, Hashtag, Named};
use crate::id::UserId;
use crate::posts::PostText;
use crate::products::Product;

/// The delimiter before and after each word. Unicode's segmentation never includes it in a word.
const WORD_DELIMITER: char = '\n';

/// The delimiter before and after each mark, which never contains it. A mark is a hashtag with its `#`, or `@` and the id of
/// the author.
const MARK_DELIMITER: char = '\r';

/// The words of a thing, field by field, followed by its marks, such as `\nhello\nworld\n\r#tag\r`. It contains the
/// [`Needles`] of a query exactly if the query finds the thing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexedText(String);

impl IndexedText {
    /// The length in characters to which words and marks are truncated as keys of an index, whose length is bounded.
    pub const MAX_KEY_CHARS: usize = 32;

    /// Creates the text of some fields. No phrase extends from one field into the next.
    pub fn of_fields<'a>(fields: impl IntoIterator<Item = &'a str>) -> Self {
        let mut text = String::new();
        for field in fields {
            let before = text.len();
            for_each_word(field, |word| {
                if text.len() == before {
                    text.push(WORD_DELIMITER);
                }
                text.push_str(word);
                text.push(WORD_DELIMITER);
            });
        }
        Self(text)
    }

    /// Creates the text of a post, without its author.
    pub fn of_post(text: &PostText) -> Self {
        let entities = Candidates::find(text.as_str()).resolve(&BTreeMap::new());
        let tags = entities.into_iter().filter_map(|entity| match entity.named {
            Named::Hashtag(tag) => Some(tag),
            _ => None,
        });
        let tags: BTreeSet<Hashtag> = tags.collect();
        tags.iter().fold(Self::of_fields([text.as_str()]), |text, tag| text.with_mark(&mark_of_hashtag(tag)))
    }

    /// Creates the text of an account.
    pub fn of_account(username: &Username, display_name: Option<&DisplayName>) -> Self {
        Self::of_fields([username.as_str(), display_name.map_or("", DisplayName::as_str)])
    }

    /// Creates the text of a product.
    pub fn of_product(product: &Product) -> Self {
        let Product { name, description, sku, category, .. } = product;
        Self::of_fields([name.as_str(), description.as_str(), sku.as_str(), category.as_str()])
    }

    /// Adds the mark of the author.
    #[must_use]
    pub fn by(self, author: UserId) -> Self {
        self.with_mark(&mark_of_author(author))
    }

    fn with_mark(mut self, mark: &str) -> Self {
        if !self.0.ends_with(MARK_DELIMITER) {
            self.0.push(MARK_DELIMITER);
        }
        self.0.push_str(mark);
        self.0.push(MARK_DELIMITER);
        self
    }

    /// Restores a text that was stored.
    pub fn restore(stored: String) -> Self {
        Self(stored)
    }

    /// Returns the text with its delimiters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the keys by which an index finds the text: its words and marks, truncated to
    /// [`MAX_KEY_CHARS`](Self::MAX_KEY_CHARS), with duplicates.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.split([WORD_DELIMITER, MARK_DELIMITER]).filter(|word| !word.is_empty()).map(index_key)
    }
}

fn mark_of_hashtag(tag: &Hashtag) -> String {
    format!("#{}", tag.as_str())
}

fn mark_of_author(author: UserId) -> String {
    format!("@{}", author.uuid().simple())
}

/// Truncates a word or mark to the key by which an index finds it.
fn index_key(word: &str) -> &str {
    word.char_indices().nth(IndexedText::MAX_KEY_CHARS).map_or(word, |(end, _)| &word[..end])
}

/// The conditions that a query sets for an [`IndexedText`].
///
/// The query finds a text exactly if the text contains all of [`contained`](Self::contained). The keys and the prefix are for
/// the lookup in an index: they find all of these texts, and possibly others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needles {
    /// The substrings that the text contains literally.
    pub contained: Vec<String>,
    /// Keys that the text has, all of them.
    pub keys: Vec<String>,
    /// The beginning of at least one key of the text.
    pub prefix: Option<String>,
}

impl Needles {
    /// Creates the needles of a query, restricted to texts by an author if one is given.
    pub fn of(query: &Query, author: Option<UserId>) -> Self {
        let (mut contained, mut keys, mut prefix) = (BTreeSet::new(), BTreeSet::new(), None);
        let mark = |mark: String, contained: &mut BTreeSet<String>| {
            contained.insert(format!("{MARK_DELIMITER}{mark}{MARK_DELIMITER}"));
            index_key(&mark).to_owned()
        };
        for term in query.terms() {
            match term {
                Term::Phrase(words) => {
                    let phrase = words.join(WORD_DELIMITER.encode_utf8(&mut [0; 4]));
                    contained.insert(format!("{WORD_DELIMITER}{phrase}{WORD_DELIMITER}"));
                    keys.extend(words.iter().map(|word| index_key(word).to_owned()));
                }
                Term::Prefix(start) => {
                    contained.insert(format!("{WORD_DELIMITER}{start}"));
                    match start.chars().count() < IndexedText::MAX_KEY_CHARS {
                        true => prefix = Some(start.clone()),
                        // Every word that begins with it has this key.
                        false => drop(keys.insert(index_key(start).to_owned())),
                    }
                }
                Term::Hashtag(tag) => drop(keys.insert(mark(mark_of_hashtag(tag), &mut contained))),
            }
        }
        if let Some(author) = author {
            keys.insert(mark(mark_of_author(author), &mut contained));
        }
        Self { contained: contained.into_iter().collect(), keys: keys.into_iter().collect(), prefix }
    }

    /// Returns whether a text contains all of [`contained`](Self::contained), and the query thus finds it.
    pub fn are_in(&self, text: &IndexedText) -> bool {
        self.contained.iter().all(|needle| text.as_str().contains(needle.as_str()))
    }
}
