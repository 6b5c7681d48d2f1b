//! Rules that all texts share.

use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::CodePointSetData;
use icu_properties::props::DefaultIgnorableCodePoint;

use crate::error::Violation;
use crate::error::ViolationKind::{InvalidFormat, Required, TooLong};

/// Returns the form in which two texts are compared "without regard to letter case": Unicode case folding and
/// compatibility composition without what is invisible (Unicode's `NFKC_Casefold`), so that neither letter case nor the
/// spelling of an accent nor a zero-width character tells two names apart, in any alphabet.
pub fn fold(text: &str) -> String {
    let nfkd = DecomposingNormalizerBorrowed::new_nfkd();
    let invisible = CodePointSetData::new::<DefaultIgnorableCodePoint>();
    let visible: String = nfkd.normalize(text).chars().filter(|c| !invisible.contains(*c)).collect();
    // Normalized again before folding: a removed character may have kept two accents out of their canonical order, and
    // folding turns one accent (U+0345) into a letter, which is no longer reordered.
    let folded = CaseMapper::new().fold_string(&nfkd.normalize(&visible)).into_owned();
    ComposingNormalizerBorrowed::new_nfkc().normalize(&folded).into_owned()
}

/// Trims a text and checks that it holds no NUL (which PostgreSQL cannot store) and at most `max` characters, counted
/// as Unicode scalar values. `name` begins the message, as in "Username must be at most 50 characters".
///
/// # Errors
/// The violation, in words for the client.
pub fn trimmed(name: &str, text: &str, max: usize) -> Result<String, Violation> {
    let text = text.trim();
    if text.contains('\0') {
        return Err(Violation::new(InvalidFormat, format!("{name} must not contain a NUL character")));
    }
    // A scalar value takes at most four bytes: a text of more than four times `max` need not be counted.
    if text.len() > max * 4 || text.chars().count() > max {
        return Err(Violation::new(TooLong, format!("{name} must be at most {max} characters")));
    }
    Ok(text.to_owned())
}

/// U+2800 BRAILLE PATTERN BLANK, which looks like a space but is not white space to Unicode.
const BRAILLE_BLANK: char = '\u{2800}';

/// Returns whether a character shows as empty space.
pub(crate) const fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == BRAILLE_BLANK
}

/// Returns whether a character has nothing to show of its own: it changes at most how other characters look.
pub(crate) fn is_invisible(c: char) -> bool {
    c == BRAILLE_BLANK || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

/// Returns whether a character shows as empty space or not at all.
pub(crate) fn is_blank_or_invisible(c: char) -> bool {
    is_blank(c) || is_invisible(c)
}

/// Like [`trimmed`], for a text that must not be blank.
///
/// # Errors
/// "`name` is required" for a blank text, or the violation of [`trimmed`].
pub fn required(name: &str, text: &str, max: usize) -> Result<String, Violation> {
    let text = trimmed(name, text, max)?;
    if text.is_empty() { Err(Violation::new(Required, format!("{name} is required"))) } else { Ok(text) }
}

/// Declares newtypes of text, each with its maximum length in characters. A type with one of the rules `required`, `trimmed`
/// (possibly empty) or `optional` (`None` when blank) gets its `parse` from the rule, whose messages begin with the name given.
/// A type without a rule has a `parse` of its own.
macro_rules! text_types {
    ($($(#[$attribute:meta])+ $name:ident($max:literal $(, $rule:ident $label:literal)?);)+) => {$(
        $(#[$attribute])+
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name(String);

        impl $name {
            /// The maximum length, in characters.
            pub const MAX_CHARS: usize = $max;

            $($crate::text::text_types! { @parse $rule $label })?

            /// Restores a stored value without checking it: it was valid when stored, but rules may have become stricter since.
            pub fn restore(stored: String) -> Self {
                Self(stored)
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
    )+};
    (@parse optional $label:literal) => {
        /// Parses what a client sent; `None` for a blank text.
        ///
        /// # Errors
        /// The violation, in words for the client.
        pub fn parse(given: &str) -> Result<Option<Self>, $crate::error::Violation> {
            let given = $crate::text::trimmed($label, given, Self::MAX_CHARS)?;
            Ok((!given.is_empty()).then_some(Self(given)))
        }
    };
    (@parse $rule:ident $label:literal) => {
        /// Parses what a client sent.
        ///
        /// # Errors
        /// The violation, in words for the client.
        pub fn parse(given: &str) -> Result<Self, $crate::error::Violation> {
            $crate::text::$rule($label, given, Self::MAX_CHARS).map(Self)
        }
    };
}

pub(crate) use text_types;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_ignores_letter_case_in_any_alphabet() {
        for (one, other) in [
            ("Alice", "aLICE"),
            ("ÉMILE", "émile"),
            ("ОЛЬГА", "ольга"),
            ("ΟΔΥΣΣΕΥΣ", "οδυσσευς"),
            ("STRASSE", "straße"),
            ("e\u{301}", "\u{c9}"),
            ("ﬁn", "FIN"),
            ("ro\u{200b}ot\u{ad}", "Root"),
            ("\u{345}\u{2060}\u{300}", "\u{345}\u{300}"),
        ] {
            assert_eq!(fold(one), fold(other), "{one} and {other}");
        }
        assert_ne!(fold("e"), fold("é"));
    }

    #[test]
    fn length_is_counted_in_characters_after_trimming() {
        assert_eq!(required("Name", "  äöü  ", 3).unwrap(), "äöü");
        assert_eq!(required("Name", "äöüß", 3).unwrap_err().to_string(), "Name must be at most 3 characters");
        assert_eq!(required("Name", " \t\n", 3).unwrap_err().to_string(), "Name is required");
        assert_eq!(trimmed("Name", " ", 3).unwrap(), "");
        assert_eq!(trimmed("Name", "a\0", 3).unwrap_err().to_string(), "Name must not contain a NUL character");
    }
}
