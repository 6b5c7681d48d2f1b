//! The fields of a JSON body, read so that every invalid one can be named at once.

use agora_domain::{Error, FieldErrors, Result};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::request::extract::parse_uuid;

/// A field as it was given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Given<T> {
    /// Not at all, or null.
    #[default]
    Missing,
    /// As a value of its type.
    Value(T),
    /// As something else.
    WrongType,
}

impl Given<String> {
    /// This one, or the other spelling of the field when this one is missing or blank; missing when both are.
    pub(crate) fn or(self, other: Self) -> Self {
        match (self.filled(), other.filled()) {
            (Self::Missing, other) => other,
            (given, _) => given,
        }
    }

    fn filled(self) -> Self {
        match self {
            Self::Value(text) if text.trim().is_empty() => Self::Missing,
            given => given,
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Given<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(match raw.get() {
            "null" => Self::Missing,
            text => serde_json::from_str(text).map_or(Self::WrongType, Self::Value),
        })
    }
}

/// Takes the fields of a body one by one and keeps what is wrong with them.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    errors: FieldErrors,
}

impl Fields {
    /// The value of a field; `expected` says what it must be, as in "a string".
    pub(crate) fn take<T>(&mut self, field: &'static str, given: Given<T>, expected: &str) -> Option<T> {
        match given {
            Given::Missing => None,
            Given::Value(value) => Some(value),
            Given::WrongType => {
                self.errors.add(field, format!("{field} must be {expected}"));
                None
            }
        }
    }

    /// The value of a text field.
    pub(crate) fn text(&mut self, field: &'static str, given: Given<String>) -> Option<String> {
        self.take(field, given, "a string").filter(|text| {
            let clean = !text.contains('\0');
            if !clean {
                self.errors.add(field, format!("{field} must not contain a NUL character"));
            }
            clean
        })
    }

    /// The value of a text field that goes by several names, the preferred one first: the first that is not blank.
    pub(crate) fn any_text<const N: usize>(
        &mut self,
        field: &'static str,
        given: [Given<String>; N],
    ) -> Option<String> {
        first_filled(given.into_iter().filter_map(|given| self.text(field, given)))
    }

    /// The value of a field that holds a UUID.
    pub(crate) fn uuid(&mut self, field: &'static str, given: Given<String>) -> Option<Uuid> {
        let text = self.text(field, given)?;
        self.errors.check(field, parse_uuid(text.trim()).ok_or_else(|| format!("{field} must be a UUID").into()))
    }

    /// Takes over what was found wrong elsewhere.
    pub(crate) fn merge(&mut self, errors: FieldErrors) {
        self.errors.merge(errors);
    }

    /// Records that a required field is missing, unless something else is wrong with it.
    pub(crate) fn require(&mut self, field: &'static str, present: bool, message: &str) {
        if !present {
            let mut missing = FieldErrors::default();
            missing.add(field, message);
            self.errors.merge(missing);
        }
    }

    /// What the domain made of the fields, unless any of them was wrong.
    pub(crate) fn finish<T>(mut self, parsed: Result<T, impl Into<Error>>) -> Result<T> {
        match self.errors.absorb(parsed.map_err(Into::into))? {
            Some(value) if self.errors.is_empty() => Ok(value),
            _ => Err(self.errors.into()),
        }
    }

    /// What was wrong.
    pub(crate) fn into_errors(self) -> FieldErrors {
        self.errors
    }

    /// Fails when any field was wrong.
    pub(crate) fn check(self) -> Result<()> {
        self.errors.into_result()
    }
}

/// The first text that is not blank, or else the first.
pub(crate) fn first_filled(texts: impl Iterator<Item = String>) -> Option<String> {
    let mut first = None;
    for text in texts {
        if !text.trim().is_empty() {
            return Some(text);
        }
        first.get_or_insert(text);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Sample {
        #[serde(default)]
        name: Given<String>,
        #[serde(default)]
        count: Given<i64>,
    }

    fn parse(json: &str) -> (Given<String>, Given<i64>) {
        let sample: Sample = serde_json::from_str(json).unwrap();
        (sample.name, sample.count)
    }

    #[test]
    fn a_field_is_missing_given_or_of_the_wrong_type() {
        assert_eq!(parse("{}"), (Given::Missing, Given::Missing));
        assert_eq!(parse(r#"{"name":null,"count":1.5}"#), (Given::Missing, Given::WrongType));
        assert_eq!(parse(r#"{"name":"\u0041","count":2}"#), (Given::Value("A".to_owned()), Given::Value(2)));
        assert_eq!(parse(r#"{"name":["x"],"count":"2"}"#), (Given::WrongType, Given::WrongType));
    }

    #[test]
    fn every_wrong_field_is_named_and_the_domains_messages_join() {
        let mut fields = Fields::default();
        assert_eq!(fields.text("name", Given::WrongType), None);
        assert_eq!(fields.text("text", Given::Value("a\0".to_owned())), None);
        let mut other = FieldErrors::default();
        other.add("name", "Name is required");
        other.add("email", "Email is required");
        let Err(Error::Invalid(errors)) = fields.finish::<()>(Err(other)) else { panic!("expected invalid fields") };
        let names: Vec<_> = errors.iter().map(|(field, messages)| (field, messages.join("; "))).collect();
        assert_eq!(
            names,
            [
                ("email", "Email is required".to_owned()),
                ("name", "name must be a string".to_owned()),
                ("text", "text must not contain a NUL character".to_owned()),
            ]
        );
    }

    #[test]
    fn the_preferred_spelling_that_is_not_blank_wins() {
        let pick = |texts: &[&str]| first_filled(texts.iter().map(|text| (*text).to_owned()));
        assert_eq!(pick(&["a", "b"]).as_deref(), Some("a"));
        assert_eq!(pick(&[" ", "b"]).as_deref(), Some("b"));
        assert_eq!(pick(&[" ", ""]).as_deref(), Some(" "));
        assert_eq!(pick(&[]), None);
    }
}
