//! A text in the form in which it is looked for.

use std::collections::{BTreeMap, BTreeSet};

use super::words::each_word;
use super::{Query, Term};
use crate::accounts::{DisplayName, Username};
use crate::entities::{Candidates, Hashtag, Named};
use crate::id::UserId;
use crate::posts::PostText;
use crate::products::Product;

/// What stands before and after each word: Unicode never takes it into a word, and it is in no text of ours.
const WORD: char = '\n';

/// What stands before and after a mark: a hashtag, with its `#`, or the author, behind `@`. Neither contains one.
const MARK: char = '\r';

/// The words of the fields of a thing, field by field, and its marks: `\nhello\nworld\n\rtag` and so on. It contains the
/// [`Needles`] of a query exactly if the query finds the thing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexedText(String);

impl IndexedText {
    /// The most characters of a word by which an index finds it: the key of an index has a bounded length.
    pub const MAX_KEY_CHARS: usize = 32;

    /// Returns the words of fields, none of which goes on in another.
    pub fn of_fields<'a>(fields: impl IntoIterator<Item = &'a str>) -> Self {
        let mut text = String::new();
        for field in fields {
            let before = text.len();
            each_word(field, |word| {
                if text.len() == before {
                    text.push(WORD);
                }
                text.push_str(word);
                text.push(WORD);
            });
        }
        Self(text)
    }

    /// Returns that of a post, without its author.
    pub fn of_post(text: &PostText) -> Self {
        let entities = Candidates::find(text.as_str()).resolve(&BTreeMap::new());
        let tags = entities.into_iter().filter_map(|entity| match entity.named {
            Named::Hashtag(tag) => Some(tag),
            _ => None,
        });
        let tags: BTreeSet<Hashtag> = tags.collect();
        tags.iter().fold(Self::of_fields([text.as_str()]), |text, tag| text.with(&mark_of_hashtag(tag)))
    }

    /// Returns that of an account.
    pub fn of_account(username: &Username, display_name: Option<&DisplayName>) -> Self {
        Self::of_fields([username.as_str(), display_name.map_or("", DisplayName::as_str)])
    }

    /// Returns that of a product.
    pub fn of_product(product: &Product) -> Self {
        let Product { name, description, sku, category, .. } = product;
        Self::of_fields([name.as_str(), description.as_str(), sku.as_str(), category.as_str()])
    }

    /// Returns the text as one that this user wrote.
    #[must_use]
    pub fn by(self, author: UserId) -> Self {
        self.with(&mark_of_author(author))
    }

    fn with(mut self, mark: &str) -> Self {
        if !self.0.ends_with(MARK) {
            self.0.push(MARK);
        }
        self.0.push_str(mark);
        self.0.push(MARK);
        self
    }

    /// A value read back from where it was stored.
    pub fn restore(stored: String) -> Self {
        Self(stored)
    }

    /// Returns it as a text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns by what an index finds it: its words and marks, of each the beginning, as often as it has them.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.split([WORD, MARK]).filter(|word| !word.is_empty()).map(key)
    }
}

fn mark_of_hashtag(tag: &Hashtag) -> String {
    format!("#{}", tag.as_str())
}

fn mark_of_author(author: UserId) -> String {
    format!("@{}", author.uuid().simple())
}

/// Returns the beginning of a word or mark, by which an index finds it.
fn key(word: &str) -> &str {
    word.char_indices().nth(IndexedText::MAX_KEY_CHARS).map_or(word, |(end, _)| &word[..end])
}

/// What an [`IndexedText`] contains exactly if a query finds it, and by what an index finds such texts, and others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needles {
    /// What it contains, each literally.
    pub contained: Vec<String>,
    /// The keys that it has.
    pub keys: Vec<String>,
    /// What one of its keys begins with.
    pub prefix: Option<String>,
}

impl Needles {
    /// Returns those of a query, for the texts of an author if one is given.
    pub fn of(query: &Query, author: Option<UserId>) -> Self {
        let (mut contained, mut keys, mut prefix) = (BTreeSet::new(), BTreeSet::new(), None);
        let mark = |mark: String, contained: &mut BTreeSet<String>| {
            contained.insert(format!("{MARK}{mark}{MARK}"));
            key(&mark).to_owned()
        };
        for term in query.terms() {
            match term {
                Term::Phrase(words) => {
                    contained.insert(format!("{WORD}{}{WORD}", words.join(WORD.encode_utf8(&mut [0; 4]))));
                    keys.extend(words.iter().map(|word| key(word).to_owned()));
                }
                Term::Prefix(start) => {
                    contained.insert(format!("{WORD}{start}"));
                    match start.chars().count() < IndexedText::MAX_KEY_CHARS {
                        true => prefix = Some(start.clone()),
                        // Whatever begins with it has this key.
                        false => drop(keys.insert(key(start).to_owned())),
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

    /// Returns whether a text contains all of them.
    pub fn are_in(&self, text: &IndexedText) -> bool {
        self.contained.iter().all(|needle| text.as_str().contains(needle.as_str()))
    }
}
