//! The entities of a text: mentions of accounts, hashtags and URLs.

use std::collections::{BTreeMap, BTreeSet};

use icu_casemap::CaseMapper;
use icu_properties::props::GeneralCategory;
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};
use uuid::Uuid;

use crate::accounts::{AccountRepository, Username};
use crate::error::ViolationKind::InvalidFormat;
use crate::error::{Result, Violation};
use crate::id::UserId;
use crate::text;

/// A hashtag without its `#`, case-folded: letters, marks, digits and `_`, at least one letter, at most 100 characters. Tags
/// that differ only in letter case are equal (Unicode's full case folding, and nothing more).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hashtag(String);

impl Hashtag {
    /// The maximum length of a hashtag as it is written, in characters.
    pub const MAX_CHARS: usize = 100;

    /// The maximum length of a case-folded hashtag, in characters: folding turns one character into three at most.
    pub const MAX_FOLDED_CHARS: usize = 3 * Self::MAX_CHARS;

    /// Parses a tag that a client sent, with or without `#`.
    ///
    /// # Errors
    /// The violation, in words for the client, if no text can contain this hashtag.
    pub fn parse(tag: &str) -> Result<Self, Violation> {
        let name = tag.strip_prefix('#').unwrap_or(tag);
        let classes = Classes::new();
        let is_whole = classes.prefix_len(name, Classes::is_in_hashtag) == name.len();
        // A tag that is folded already may be longer than it was as written.
        let is_folded = || {
            name.chars().count() <= Self::MAX_FOLDED_CHARS
                && name.chars().any(|c| classes.is_letter(c))
                && CaseMapper::new().fold_string(name) == name
        };
        Self::from_run(name)
            .or_else(|| is_folded().then(|| Self(name.to_owned())))
            .filter(|_| is_whole)
            .ok_or_else(|| Violation::new(InvalidFormat, "Tag must be letters, digits and _, with at least one letter"))
    }

    /// Restores a stored value without checking it: it was valid when stored, but rules may have become stricter since.
    pub fn restore(stored: String) -> Self {
        Self(stored)
    }

    /// Returns the folded tag.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the tag that a run of hashtag characters makes; `None` without a letter, or if it is too long.
    fn from_run(run: &str) -> Option<Self> {
        let classes = Classes::new();
        let is_tag = run.chars().any(|c| classes.is_letter(c)) && run.chars().count() <= Self::MAX_CHARS;
        is_tag.then(|| Self(CaseMapper::new().fold_string(run).into_owned()))
    }
}

/// A part of a text that refers to something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// The index of its first UTF-16 code unit in the text.
    pub start: usize,
    /// The index after its last UTF-16 code unit.
    pub end: usize,
    /// What it refers to.
    pub named: Named,
}

/// What a part of a text refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// An account.
    Account(UserId),
    /// A hashtag.
    Hashtag(Hashtag),
    /// A URL, as it is written.
    Url(String),
}

/// The entities of a text, in the text's order, in a compact notation that is parsed only when they are shown.
///
/// Each is a line with its start, its end and what it refers to: `0 4 @018f0000-0000-7000-8000-000000000000`,
/// `5 10 #rust`, `11 30 https://a.example/x`. Neither tags nor URLs contain white space.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entities(Box<str>);

impl Entities {
    /// Writes the entities of a text, given in its order, in the notation.
    pub fn of(entities: &[Entity]) -> Self {
        let line = |Entity { start, end, named }: &Entity| match named {
            Named::Account(id) => format!("{start} {end} @{}", id.uuid()),
            Named::Hashtag(tag) => format!("{start} {end} #{}", tag.as_str()),
            Named::Url(url) => format!("{start} {end} {url}"),
        };
        Self(entities.iter().map(line).collect::<Vec<_>>().join("\n").into())
    }

    /// Restores a stored value without checking it: it was valid when stored, but rules may have become stricter since.
    pub fn restore(stored: String) -> Self {
        Self(stored.into())
    }

    /// Returns the notation.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns an iterator over the entities.
    pub fn iter(&self) -> impl Iterator<Item = Entity> {
        self.0.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ' ');
            let (start, end, named) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?);
            let named = match (named.strip_prefix('@'), named.strip_prefix('#')) {
                (Some(id), _) => Named::Account(UserId::new(Uuid::try_parse(id).ok()?)),
                (_, Some(tag)) => Named::Hashtag(Hashtag::restore(tag.to_owned())),
                _ => Named::Url(named.to_owned()),
            };
            Some(Entity { start, end, named })
        })
    }

    /// Returns the mentioned accounts, each once, in the order of their first mentions.
    pub fn mentions(&self) -> Vec<UserId> {
        let mut seen = BTreeSet::new();
        let account = |entity: Entity| match entity.named {
            Named::Account(id) => seen.insert(id).then_some(id),
            Named::Hashtag(_) | Named::Url(_) => None,
        };
        self.iter().filter_map(account).collect()
    }

    /// Returns the hashtags, each once.
    pub fn hashtags(&self) -> BTreeSet<Hashtag> {
        let tag = |entity: Entity| match entity.named {
            Named::Hashtag(tag) => Some(tag),
            Named::Account(_) | Named::Url(_) => None,
        };
        self.iter().filter_map(tag).collect()
    }
}

/// The entities that a text may have, before the usernames in it are looked up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Candidates(Vec<Candidate>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Candidate {
    Certain(Entity),
    /// The start of a possible mention, and the keys of the usernames that it may be, the longest first, each with the
    /// end that the mention then has.
    Mention(usize, Vec<(String, usize)>),
}

impl Candidates {
    /// Finds the entities that a text may have, in the order of the text, no two overlapping once they are
    /// [resolved](Self::resolve) (`contract`: Posts, Entities):
    ///
    /// - a URL is `http://` or `https://` up to white space, without closing punctuation at its end; a closing bracket that
    ///   the URL itself opens belongs to it. A URL takes precedence over entities inside it;
    /// - a hashtag is `#` and the characters of a [`Hashtag`]; a run of more characters is no hashtag;
    /// - a mention is `@` and letters, digits, `_`, `.` and `-`, or `@{` and any username before `}`. It refers to the longest
    ///   username that these begin with and that no letter, digit or mark follows: `@ada.` mentions `ada`, `@adam` does not.
    ///
    /// A hashtag or mention begins the text or follows a character other than a letter, digit, `_`, `@`, `#` or `/`.
    pub fn find(text: &str) -> Self {
        if !text.contains(['#', '@']) && !text.contains("://") {
            return Self::default();
        }
        let classes = Classes::new();
        let mut found = Vec::new();
        let (mut byte, mut unit, mut before) = (0, 0, None);
        while let Some(next) = text[byte..].chars().next() {
            let rest = &text[byte..];
            let may_begin = before.is_none_or(|before| !classes.is_joining(before));
            let candidate = match next {
                'h' | 'H' => url_at(rest).map(|url| (url.len(), Named::Url(url.to_owned()))),
                '#' if may_begin => {
                    let length = classes.prefix_len(&rest[1..], Classes::is_in_hashtag);
                    Hashtag::from_run(&rest[1..=length]).map(|tag| (1 + length, Named::Hashtag(tag)))
                }
                '@' if may_begin => {
                    let names = mention_candidates(&classes, rest);
                    if !names.is_empty() {
                        let ends = names.into_iter().map(|(name, length)| (name, unit + utf16_len(&rest[..length])));
                        found.push(Candidate::Mention(unit, ends.collect()));
                    }
                    None
                }
                _ => None,
            };
            let length = candidate.as_ref().map_or(next.len_utf8(), |(length, _)| *length);
            let end = unit + utf16_len(&rest[..length]);
            found.extend(candidate.map(|(_, named)| Candidate::Certain(Entity { start: unit, end, named })));
            before = rest[..length].chars().next_back();
            (byte, unit) = (byte + length, end);
        }
        Self(found)
    }

    /// Returns the keys ([`Username::key`]) of all usernames that the text may mention.
    pub fn username_keys(&self) -> BTreeSet<&str> {
        let names = self.0.iter().filter_map(|candidate| match candidate {
            Candidate::Mention(_, names) => Some(names),
            Candidate::Certain(_) => None,
        });
        names.flatten().map(|(key, _)| key.as_str()).collect()
    }

    /// Returns the entities of the text. `accounts` has those that its author may mention, by the keys of their usernames.
    pub fn resolve(self, accounts: &BTreeMap<String, UserId>) -> Vec<Entity> {
        let mut entities: Vec<Entity> = Vec::new();
        for candidate in self.0 {
            let entity = match candidate {
                Candidate::Certain(entity) => Some(entity),
                Candidate::Mention(start, names) => names
                    .iter()
                    .find_map(|(key, end)| accounts.get(key).map(|id| (*id, *end)))
                    .map(|(id, end)| Entity { start, end, named: Named::Account(id) }),
            };
            // Anything inside the braces of a mention is not an entity of its own.
            let last = entities.last().map_or(0, |last| last.end);
            entities.extend(entity.filter(|entity| entity.start >= last));
        }
        entities
    }
}

/// The maximum number of usernames in one query.
const LOOKUP_BATCH_SIZE: usize = 1_000;

/// Returns the entities of a text. The accounts that it may mention are looked up together, and only if there are any.
/// A user separated from the author by a block cannot be mentioned (`contract`: Safety).
///
/// # Errors
/// Those of the repository.
pub async fn entities_of_text(accounts: &dyn AccountRepository, text: &str, author: UserId) -> Result<Entities> {
    let candidates = Candidates::find(text);
    let keys: Vec<String> = candidates.username_keys().into_iter().map(str::to_owned).collect();
    let mut ids = BTreeMap::new();
    for batch in keys.chunks(LOOKUP_BATCH_SIZE) {
        ids.extend(accounts.find_ids(batch, author).await?);
    }
    Ok(Entities::of(&candidates.resolve(&ids)))
}

fn utf16_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Returns the URL that a text begins with, if it begins with one.
fn url_at(text: &str) -> Option<&str> {
    let scheme = ["http://", "https://"]
        .into_iter()
        .find(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))?;
    let mut url = &text[..text.find(char::is_whitespace).unwrap_or(text.len())];
    // For each kind of bracket, how many more are closed than opened.
    let mut unopened =
        BRACKETS.map(|[open, close]| url.matches(close).count().saturating_sub(url.matches(open).count()));
    while let Some(last) = url.chars().next_back() {
        let bracket = BRACKETS.iter().zip(&mut unopened).find(|([_, close], _)| *close == last);
        let is_closing = match (bracket, last) {
            (Some((_, unopened)), _) if *unopened > 0 => {
                *unopened -= 1;
                true
            }
            (Some(_), _) => false,
            (None, '.' | ',' | ':' | ';' | '!' | '?' | '\'' | '"' | '…' | '。' | '、' | '，' | '！' | '？') => {
                true
            }
            (None, '’' | '”' | '»' | '）' | '」' | '』' | '】' | '》' | '〉') => true,
            (None, _) => false,
        };
        if !is_closing {
            break;
        }
        url = &url[..url.len() - last.len_utf8()];
    }
    (url.len() > scheme.len()).then_some(url)
}

/// The brackets that belong to a URL if it both opens and closes them.
const BRACKETS: [[char; 2]; 4] = [['(', ')'], ['[', ']'], ['{', '}'], ['<', '>']];

/// Returns the keys of the usernames that a text, which begins with `@`, may mention there, the longest first, each with
/// the length in bytes that the mention would have.
fn mention_candidates(classes: &Classes, text: &str) -> Vec<(String, usize)> {
    let rest = &text[1..];
    if let Some(rest) = rest.strip_prefix('{') {
        // No username is longer, and none has a control character.
        let name =
            rest.char_indices().take(Username::MAX_CHARS + 1).find(|(_, c)| *c == '}').map(|(end, _)| &rest[..end]);
        let name = name.filter(|name| Username::parse(name).is_ok_and(|username| username.as_str() == *name));
        return name.map(|name| (text::fold(name), name.len() + "@{}".len())).into_iter().collect();
    }
    let length = classes.prefix_len(rest, Classes::is_in_mention);
    let whole = Some(length).filter(|length| !rest[*length..].starts_with(|c| classes.is_mark(c)));
    let parts = rest[..length].char_indices().rev().filter(|(_, c)| matches!(c, '.' | '-' | '_')).map(|(at, _)| at);
    let names = whole.into_iter().chain(parts).filter(|end| *end > 0).map(|end| &rest[..end]);
    let short = names.filter(|name| name.chars().count() <= Username::MAX_CHARS);
    short.map(|name| (text::fold(name), name.len() + 1)).collect()
}

/// The general categories of characters in Unicode.
struct Classes(CodePointMapDataBorrowed<'static, GeneralCategory>);

impl Classes {
    fn new() -> Self {
        Self(CodePointMapData::new())
    }

    fn is_letter(&self, c: char) -> bool {
        use GeneralCategory::{LowercaseLetter, ModifierLetter, OtherLetter, TitlecaseLetter, UppercaseLetter};
        matches!(self.0.get(c), LowercaseLetter | ModifierLetter | OtherLetter | TitlecaseLetter | UppercaseLetter)
    }

    fn is_mark(&self, c: char) -> bool {
        use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
        matches!(self.0.get(c), EnclosingMark | NonspacingMark | SpacingMark)
    }

    fn is_digit(&self, c: char) -> bool {
        self.0.get(c) == GeneralCategory::DecimalNumber
    }

    fn is_in_hashtag(&self, c: char) -> bool {
        c == '_' || self.is_letter(c) || self.is_mark(c) || self.is_digit(c)
    }

    fn is_in_mention(&self, c: char) -> bool {
        matches!(c, '_' | '.' | '-') || self.is_letter(c) || self.is_digit(c)
    }

    /// Returns whether a `#` or `@` right after the character belongs to something else, and begins no hashtag or mention.
    fn is_joining(&self, c: char) -> bool {
        matches!(c, '_' | '@' | '#' | '/') || self.is_letter(c) || self.is_digit(c)
    }

    /// Returns the length in bytes of the longest prefix of a text whose characters all satisfy `is_in`.
    fn prefix_len(&self, text: &str, is_in: fn(&Self, char) -> bool) -> usize {
        text.find(|c| !is_in(self, c)).unwrap_or(text.len())
    }
}

#[cfg(test)]
mod tests;
