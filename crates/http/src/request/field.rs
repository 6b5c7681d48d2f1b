//! The fields of a request body. Each is parsed into the domain's type when it is read and keeps what is wrong with it,
//! so that every invalid field can be reported at once.
//!
//! A body is one struct of [`Field`]s, from which serde's parser, garde's validator and the OpenAPI schema are derived. In
//! `#[garde(custom(…))]` it says which of its fields are [`required`] and which [`optional`].

use agora_domain::accounts::{
    Biography, DisplayName, Email, LoginIdentifier, Password, PasswordAttempt, Role, RoleAction, Username,
};
use agora_domain::audit::Reason;
use agora_domain::blocks::MuteHours;
use agora_domain::clock::Timestamp;
use agora_domain::comments::CommentText;
use agora_domain::error::{Violation, ViolationKind};
use agora_domain::id::{CommentId, MediaId, NotificationId, PostId};
use agora_domain::mail::MailToken;
use agora_domain::media::{AltText, MediaIds};
use agora_domain::notifications::NotificationPolicy;
use agora_domain::posts::{PostText, Visibility};
use agora_domain::products::{Category, Description, ImageUrl, Price, ProductName, Sku, Stock, Variant, VariantFields};
use agora_domain::reports::{ReportCategory, ReportComment, ReportNote, ReportTargetKind, Verdict};
use agora_domain::{Error, FieldErrors};
use garde::{Report, Validate};
use serde::{Deserialize, Deserializer, de};
use serde_json::Number;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::core::{field_code, field_spelled, schema};
use crate::request::{parse_instant, parse_uuid};

/// Stands for the name of the field at the beginning of a message.
const NAME: &str = "{field}";

/// A value that a field can hold.
pub(crate) trait FieldValue: Sized {
    /// What it is in the body.
    type Input: de::DeserializeOwned;
    /// What it must be, to follow "must be".
    const EXPECTED: &'static str;

    /// Returns what keeps it from being a value at all, whatever the rule of the value.
    fn malformed(_: &Self::Input) -> Option<Violation> {
        None
    }

    /// Parses it.
    fn read(input: Self::Input) -> Result<Self, Violation>;

    /// Returns whether there is nothing in it, so that another spelling of the field is preferred.
    fn is_blank(_: &Self::Input) -> bool {
        false
    }

    /// Returns what is wrong where it is required and not there.
    fn missing() -> Violation {
        Violation::new(ViolationKind::Required, format!("{NAME} is required"))
    }
}

/// A field as it was sent.
#[derive(Debug)]
pub(crate) enum Field<T> {
    /// Not at all, or as null.
    Missing,
    /// As something of the wrong type, or with a NUL in it.
    Malformed(Violation),
    /// With a value.
    Present {
        /// The value, or what is wrong with it.
        value: Result<T, Violation>,
        /// Whether there is nothing in it.
        is_blank: bool,
    },
}

impl<T: FieldValue> Field<T> {
    fn of(raw: &RawValue) -> Self {
        let Ok(input) = serde_json::from_str::<T::Input>(raw.get()) else {
            let message = format!("{NAME} must be {}", T::EXPECTED);
            return Self::Malformed(Violation::new(ViolationKind::WrongType, message));
        };
        if let Some(violation) = T::malformed(&input) {
            return Self::Malformed(violation);
        }
        let is_blank = T::is_blank(&input);
        Self::Present { value: T::read(input), is_blank }
    }

    /// Returns this spelling of the field, or the other one when there is nothing in this, or there is a NUL in the other: that
    /// is refused even of a spelling that does not count.
    pub(crate) fn or(self, other: Self) -> Self {
        if self.yields_to(&other) { other } else { self }
    }

    /// Returns which of the two [`or`](Self::or) returns.
    pub(crate) fn or_ref<'a>(&'a self, other: &'a Self) -> &'a Self {
        if self.yields_to(other) { other } else { self }
    }

    fn yields_to(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Malformed(_), _) => false,
            (Self::Missing, _) => true,
            (_, Self::Malformed(violation)) => self.is_empty() || violation.kind() != ViolationKind::WrongType,
            _ => self.is_empty() && !other.is_empty(),
        }
    }

    /// Returns whether it is missing, or there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Missing | Self::Present { is_blank: true, .. })
    }

    /// Returns the value, if it was given and is valid.
    pub(crate) fn value(self) -> Option<T> {
        match self {
            Self::Present { value, .. } => value.ok(),
            Self::Malformed(_) | Self::Missing => None,
        }
    }

    /// Returns the value of a field that was validated as [`required`].
    ///
    /// # Errors
    /// [`Error::Internal`] when it was not.
    pub(crate) fn validated(self) -> agora_domain::Result<T> {
        self.value().ok_or_else(|| Error::internal("a field of a request was not validated"))
    }
}

impl<'de, T: FieldValue> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Also of what is not there at all: an option needs no default.
        let raw = Option::<&RawValue>::deserialize(deserializer)?;
        Ok(raw.map_or(Self::Missing, Self::of))
    }
}

/// Reports what is wrong with a field that must be there.
pub(crate) fn required<T: FieldValue>(field: &Field<T>, context: &()) -> garde::Result {
    match field {
        Field::Missing => Err(encode(&T::missing())),
        Field::Present { value: Err(violation), is_blank: true } => {
            Err(encode(&Violation::new(ViolationKind::Required, violation.to_string())))
        }
        Field::Malformed(_) | Field::Present { .. } => optional(field, context),
    }
}

/// Reports what is wrong with a field that may be left out.
pub(crate) fn optional<T: FieldValue>(field: &Field<T>, _: &()) -> garde::Result {
    match field {
        Field::Malformed(violation) | Field::Present { value: Err(violation), .. } => Err(encode(violation)),
        Field::Present { .. } | Field::Missing => Ok(()),
    }
}

/// Returns the fields of a body that break a rule.
///
/// # Errors
/// [`Error::Internal`] for a field that the domain has no name for.
pub(crate) fn violations(body: &impl Validate<Context = ()>) -> agora_domain::Result<FieldErrors> {
    let mut errors = FieldErrors::default();
    for (path, error) in body.validate().err().into_iter().flat_map(Report::into_inner) {
        let spelling = camel_case(&path.to_string());
        let field =
            field_spelled(&spelling).ok_or_else(|| Error::internal(format!("no field is spelled {spelling}")))?;
        errors.add(field, decode(error.message(), &spelling));
    }
    Ok(errors)
}

/// Encodes a violation as an error of garde, which keeps its message alone: the word of its kind goes before it.
fn encode(violation: &Violation) -> garde::Error {
    garde::Error::new(format!("{} {violation}", field_code(violation.kind())))
}

fn decode(error: &str, field: &str) -> Violation {
    let (word, message) = error.split_once(' ').unwrap_or_default();
    let kind = ViolationKind::ALL.into_iter().find(|kind| field_code(*kind) == word);
    let kind = kind.unwrap_or(ViolationKind::InvalidFormat);
    match message.strip_prefix(NAME) {
        Some(rest) => Violation::new(kind, format!("{field}{rest}")),
        None => Violation::new(kind, message),
    }
}

/// Returns the name of a field as it is in JSON.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (initial, rest) = word.split_at_checked(1).unwrap_or_default();
        name + &initial.to_ascii_uppercase() + rest
    })
}

/// Returns what is wrong with a NUL, which is refused under the name of the field, before the rule of its value is asked.
fn nul(text: &str) -> Option<Violation> {
    let message = || format!("{NAME} must not contain a NUL character");
    text.contains('\0').then(|| Violation::new(ViolationKind::InvalidFormat, message()))
}

/// Values that are texts, with their parsers.
macro_rules! texts {
    ($($value:ty: $parse:expr;)+) => {$(
        impl FieldValue for $value {
            type Input = String;
            const EXPECTED: &'static str = "a string";

            fn read(text: String) -> Result<Self, Violation> {
                let parse: fn(&str) -> Result<Self, Violation> = $parse;
                parse(&text)
            }

            fn malformed(text: &String) -> Option<Violation> {
                nul(text)
            }

            fn is_blank(text: &String) -> bool {
                text.trim().is_empty()
            }

            fn missing() -> Violation {
                // As a blank one.
                let parsed = Self::read(String::new()).err();
                let message = format!("{NAME} is required");
                let message = parsed.map_or(message, |violation| violation.to_string());
                Violation::new(ViolationKind::Required, message)
            }
        }
    )+};
}

texts! {
    Username: Username::parse;
    Email: Email::parse;
    Password: Password::parse;
    PasswordAttempt: PasswordAttempt::parse;
    LoginIdentifier: LoginIdentifier::parse;
    MailToken: MailToken::parse;
    Option<DisplayName>: DisplayName::parse;
    Option<Biography>: Biography::parse;
    Role: str::parse;
    RoleAction: str::parse;
    Reason: Reason::parse;
    ReportTargetKind: str::parse;
    ReportCategory: str::parse;
    Verdict: str::parse;
    Option<ReportComment>: ReportComment::parse;
    Option<ReportNote>: ReportNote::parse;
    Uuid: parse_id;
    PostText: PostText::parse;
    Option<AltText>: AltText::parse;
    // A blank form field is one that was not filled in.
    Option<Visibility>: |name| Some(name.trim()).filter(|name| !name.is_empty()).map(str::parse).transpose();
    CommentText: CommentText::parse;
    PostId: parse_id;
    CommentId: parse_id;
    NotificationId: parse_id;
    NotificationPolicy: str::parse;
    Timestamp: |text| parse_instant(text).ok_or_else(|| {
        Violation::new(ViolationKind::InvalidFormat, format!("{NAME} must be an RFC 3339 time or a date"))
    });
    Sku: Sku::parse;
    ProductName: ProductName::parse;
    Description: Description::parse;
    Category: Category::parse;
}

fn parse_id<T: From<Uuid>>(text: &str) -> Result<T, Violation> {
    let is_blank = text.trim().is_empty();
    parse_uuid(text.trim()).map(T::from).ok_or_else(|| match is_blank {
        true => Violation::new(ViolationKind::Required, format!("{NAME} is required")),
        false => Violation::new(ViolationKind::InvalidFormat, format!("{NAME} must be a UUID")),
    })
}

impl FieldValue for bool {
    type Input = Self;
    const EXPECTED: &'static str = "true or false";

    fn read(input: Self) -> Result<Self, Violation> {
        Ok(input)
    }
}

/// How a field is said to be that holds a whole number.
const WHOLE_NUMBER: &str = "a whole number";

/// Reads a whole number, which it must be of what kind it may be.
fn whole_number(input: &Number) -> Result<i64, Violation> {
    input.as_i64().ok_or_else(|| {
        let is_large = input.as_f64().is_some_and(|number| number.abs() >= i64::MAX as f64);
        let kind = if is_large { ViolationKind::OutOfRange } else { ViolationKind::WrongType };
        Violation::new(kind, format!("{NAME} must be {WHOLE_NUMBER}"))
    })
}

impl FieldValue for Stock {
    type Input = Number;
    const EXPECTED: &'static str = WHOLE_NUMBER;

    fn read(input: Number) -> Result<Self, Violation> {
        whole_number(&input).and_then(Self::parse)
    }
}

impl FieldValue for MuteHours {
    type Input = Number;
    const EXPECTED: &'static str = WHOLE_NUMBER;

    fn read(input: Number) -> Result<Self, Violation> {
        whole_number(&input).and_then(Self::parse)
    }
}

impl FieldValue for Price {
    /// The literal as it was sent: a price is never a floating point number.
    type Input = Box<RawValue>;
    const EXPECTED: &'static str = "a number";

    fn read(input: Box<RawValue>) -> Result<Self, Violation> {
        let is_number = input.get().starts_with(|c: char| c == '-' || c.is_ascii_digit());
        Self::parse(input.get()).map_err(|violation| {
            let kind = if is_number { violation.kind() } else { ViolationKind::WrongType };
            Violation::new(kind, violation.to_string())
        })
    }
}

/// One form in which a product is sold.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewVariant)]
pub(crate) struct VariantInput {
    #[schema(schema_with = schema::color, required = false)]
    color: Option<String>,
    #[schema(schema_with = schema::size, required = false)]
    size: Option<String>,
    #[schema(schema_with = schema::stock, required = true)]
    stock: Option<i64>,
}

impl FieldValue for Vec<Variant> {
    type Input = Vec<VariantInput>;
    const EXPECTED: &'static str = "an array of objects with color, size and stock";

    fn read(input: Vec<VariantInput>) -> Result<Self, Violation> {
        let fields = |VariantInput { color, size, stock }| VariantFields { color, size, stock };
        Variant::parse_all(input.into_iter().map(fields).collect())
    }
}

impl FieldValue for MediaIds {
    type Input = Vec<String>;
    const EXPECTED: &'static str = "an array of strings";

    fn read(input: Vec<String>) -> Result<Self, Violation> {
        let ids = input.iter().map(|id| parse_uuid(id.trim()).map(MediaId::from)).collect::<Option<_>>();
        let malformed = || Violation::new(ViolationKind::InvalidFormat, format!("{NAME} must be UUIDs"));
        Self::parse(ids.ok_or_else(malformed)?)
    }
}

impl FieldValue for Vec<ImageUrl> {
    type Input = Vec<String>;
    const EXPECTED: &'static str = "an array of strings";

    fn read(input: Vec<String>) -> Result<Self, Violation> {
        ImageUrl::parse_all(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::spelling;

    #[derive(Deserialize, Validate)]
    #[serde(rename_all = "camelCase")]
    struct Sample {
        #[garde(custom(|field, context: &()| required(Field::or_ref(field, &self.other_name), context)))]
        username: Field<Username>,
        #[garde(skip)]
        other_name: Field<Username>,
        #[garde(custom(optional))]
        post_id: Field<PostId>,
        #[garde(custom(optional))]
        remove_image: Field<bool>,
    }

    fn read(json: &str) -> (Sample, Vec<String>) {
        let sample: Sample = serde_json::from_str(json).unwrap();
        let errors = violations(&sample).unwrap();
        let all = errors.iter().flat_map(|(field, all)| {
            all.iter().map(move |it| format!("{}: {it} ({})", spelling(field), field_code(it.kind())))
        });
        let all = all.collect();
        (sample, all)
    }

    #[test]
    fn every_invalid_field_is_named_with_its_kind() {
        let id = "0198a9d0-6d5c-7c3b-b1a3-9cfa2b8a61d4";
        for (json, expected) in [
            (r#"{"username":"ada"}"#.to_owned(), &[][..]),
            (format!(r#"{{"username":"ada","postId":"{id}","removeImage":true}}"#), &[]),
            (r#"{"username":"ada","postId":null,"removeImage":null,"unknown":1}"#.to_owned(), &[]),
            ("{}".to_owned(), &["username: Username is required (required)"]),
            (r#"{"username":" "}"#.to_owned(), &["username: Username is required (required)"]),
            (
                r#"{"username":7,"postId":"7","removeImage":"true"}"#.to_owned(),
                &[
                    "username: username must be a string (wrong_type)",
                    "removeImage: removeImage must be true or false (wrong_type)",
                    "postId: postId must be a UUID (invalid_format)",
                ],
            ),
            (
                r#"{"username":"a\u0000"}"#.to_owned(),
                &["username: username must not contain a NUL character (invalid_format)"],
            ),
        ] {
            assert_eq!(read(&json).1, expected, "{json}");
        }
    }

    #[test]
    fn the_preferred_spelling_wins_unless_there_is_nothing_in_it() {
        for (json, expected) in [
            (r#"{"username":"a","otherName":"b"}"#, Some("a")),
            (r#"{"username":" ","otherName":"b"}"#, Some("b")),
            (r#"{"otherName":"b"}"#, Some("b")),
            (r#"{"username":" ","otherName":" "}"#, None),
            (r#"{"username":7,"otherName":"b"}"#, None),
            (r#"{"username":"a","otherName":7}"#, Some("a")),
            (r#"{"username":" ","otherName":7}"#, None),
            (r#"{"username":"a","otherName":"b\u0000"}"#, None),
            (r#"{"username":"a","otherName":"b@"}"#, Some("a")),
        ] {
            let (sample, errors) = read(json);
            let name = sample.username.or(sample.other_name).value();
            assert_eq!(name.as_ref().map(Username::as_str), expected, "{json}");
            assert_eq!(errors.is_empty(), expected.is_some(), "{json}: {errors:?}");
        }
    }
}
