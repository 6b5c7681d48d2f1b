//! The fields of a request body. Each is parsed into the domain's type when it is deserialized, and keeps its violation
//! otherwise, so that all invalid fields are reported at once.
//!
//! A body is one struct of [`Field`]s, from which serde's parser, garde's validator and the OpenAPI schema are derived. Its
//! `#[garde(custom(…))]` attributes declare which fields are [`required`] and which are [`optional`].

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

/// A placeholder for the name of the field at the beginning of a message.
const NAME: &str = "{field}";

/// A type of values that a field can have.
pub(crate) trait FieldValue: Sized {
    /// The type of the value in the body.
    type Input: de::DeserializeOwned;
    /// The name of that type for clients, to follow "must be" in messages.
    const EXPECTED: &'static str;

    /// Returns a violation that makes the field [`Field::Malformed`], before the rule of the value is checked.
    fn malformed(_: &Self::Input) -> Option<Violation> {
        None
    }

    /// Parses the value.
    fn from_input(input: Self::Input) -> Result<Self, Violation>;

    /// Returns whether the value is blank, so that another spelling of the field is preferred.
    fn is_blank(_: &Self::Input) -> bool {
        false
    }

    /// Returns the violation of a required field that is missing.
    fn missing() -> Violation {
        Violation::new(ViolationKind::Required, format!("{NAME} is required"))
    }
}

/// A field of a request body.
#[derive(Debug)]
pub(crate) enum Field<T> {
    /// The field is missing or null.
    Missing,
    /// The field has the wrong type, or contains a NUL character.
    Malformed(Violation),
    /// The field has a value.
    Present {
        /// The value, or the rule that it breaks.
        value: Result<T, Violation>,
        /// Whether the value is blank.
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
        Self::Present { value: T::from_input(input), is_blank }
    }

    /// Returns this spelling of the field, or the other one if this is missing or blank, or if the other contains a NUL
    /// character, which is refused even in a spelling that does not count.
    pub(crate) fn or(self, other: Self) -> Self {
        if self.yields_to(&other) { other } else { self }
    }

    /// Like [`or`](Self::or), for references.
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

    /// Returns whether the field is missing or blank.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Missing | Self::Present { is_blank: true, .. })
    }

    /// Returns the value, if there is a valid one.
    pub(crate) fn value(self) -> Option<T> {
        match self {
            Self::Present { value, .. } => value.ok(),
            Self::Malformed(_) | Self::Missing => None,
        }
    }

    /// Returns the value of a field that was validated as [`required`].
    ///
    /// # Errors
    /// [`Error::Internal`] if it was not validated.
    pub(crate) fn validated(self) -> agora_domain::Result<T> {
        self.value().ok_or_else(|| Error::internal("a field of a request was not validated"))
    }
}

impl<'de, T: FieldValue> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // An option also covers a missing field: serde derives need no `default` for it.
        let raw = Option::<&RawValue>::deserialize(deserializer)?;
        Ok(raw.map_or(Self::Missing, Self::of))
    }
}

/// Validates a field that is required.
pub(crate) fn required<T: FieldValue>(field: &Field<T>, context: &()) -> garde::Result {
    match field {
        Field::Missing => Err(encode(&T::missing())),
        Field::Present { value: Err(violation), is_blank: true } => {
            Err(encode(&Violation::new(ViolationKind::Required, violation.to_string())))
        }
        Field::Malformed(_) | Field::Present { .. } => optional(field, context),
    }
}

/// Validates a field that may be left out.
pub(crate) fn optional<T: FieldValue>(field: &Field<T>, _: &()) -> garde::Result {
    match field {
        Field::Malformed(violation) | Field::Present { value: Err(violation), .. } => Err(encode(violation)),
        Field::Present { .. } | Field::Missing => Ok(()),
    }
}

/// Validates a body, and returns the violations of its fields.
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

/// Encodes a violation as a garde error, which has only a message: the code of its kind is put before it.
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

/// Converts the name of a field from snake case to camel case, as it is in JSON.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (initial, rest) = word.split_at_checked(1).unwrap_or_default();
        name + &initial.to_ascii_uppercase() + rest
    })
}

/// Returns the violation of a text that contains a NUL character. It is refused before the rule of the value is checked, in a
/// message with the name of the field.
fn nul_violation(text: &str) -> Option<Violation> {
    let message = || format!("{NAME} must not contain a NUL character");
    text.contains('\0').then(|| Violation::new(ViolationKind::InvalidFormat, message()))
}

/// Implements [`FieldValue`] for types that are strings in the body, with their parsers.
macro_rules! texts {
    ($($value:ty: $parse:expr;)+) => {$(
        impl FieldValue for $value {
            type Input = String;
            const EXPECTED: &'static str = "a string";

            fn from_input(text: String) -> Result<Self, Violation> {
                let parse: fn(&str) -> Result<Self, Violation> = $parse;
                parse(&text)
            }

            fn malformed(text: &String) -> Option<Violation> {
                nul_violation(text)
            }

            fn is_blank(text: &String) -> bool {
                text.trim().is_empty()
            }

            fn missing() -> Violation {
                // The same message as for a blank value.
                let violation = Self::from_input(String::new()).err();
                let message = format!("{NAME} is required");
                let message = violation.map_or(message, |violation| violation.to_string());
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
    // A blank field of a form was not filled in.
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

    fn from_input(input: Self) -> Result<Self, Violation> {
        Ok(input)
    }
}

/// The name of the type of whole numbers in messages.
const WHOLE_NUMBER: &str = "a whole number";

/// Converts a JSON number to an integer. A number beyond 64 bits is out of range; a smaller one that is no integer is of the
/// wrong type.
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

    fn from_input(input: Number) -> Result<Self, Violation> {
        whole_number(&input).and_then(Self::parse)
    }
}

impl FieldValue for MuteHours {
    type Input = Number;
    const EXPECTED: &'static str = WHOLE_NUMBER;

    fn from_input(input: Number) -> Result<Self, Violation> {
        whole_number(&input).and_then(Self::parse)
    }
}

impl FieldValue for Price {
    /// The literal as it was sent: a price is never a floating point number.
    type Input = Box<RawValue>;
    const EXPECTED: &'static str = "a number";

    fn from_input(input: Box<RawValue>) -> Result<Self, Violation> {
        let is_number = input.get().starts_with(|c: char| c == '-' || c.is_ascii_digit());
        Self::parse(input.get()).map_err(|violation| {
            let kind = if is_number { violation.kind() } else { ViolationKind::WrongType };
            Violation::new(kind, violation.to_string())
        })
    }
}

/// A variant of a product.
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

    fn from_input(input: Vec<VariantInput>) -> Result<Self, Violation> {
        let fields = |VariantInput { color, size, stock }| VariantFields { color, size, stock };
        Variant::parse_all(input.into_iter().map(fields).collect())
    }
}

impl FieldValue for MediaIds {
    type Input = Vec<String>;
    const EXPECTED: &'static str = "an array of strings";

    fn from_input(input: Vec<String>) -> Result<Self, Violation> {
        let ids = input.iter().map(|id| parse_uuid(id.trim()).map(MediaId::from)).collect::<Option<_>>();
        let malformed = || Violation::new(ViolationKind::InvalidFormat, format!("{NAME} must be UUIDs"));
        Self::parse(ids.ok_or_else(malformed)?)
    }
}

impl FieldValue for Vec<ImageUrl> {
    type Input = Vec<String>;
    const EXPECTED: &'static str = "an array of strings";

    fn from_input(input: Vec<String>) -> Result<Self, Violation> {
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
    fn every_invalid_field_is_reported_with_its_kind() {
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
    fn the_preferred_spelling_wins_unless_it_is_missing_or_blank() {
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
