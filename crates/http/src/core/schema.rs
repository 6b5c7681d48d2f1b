//! The values of the interface as schemas, each described once for requests and responses alike. Bounds are the
//! domain's own.

use agora_domain::{
    accounts::{Biography, Email, Password, Role, Username},
    comments::CommentText,
    posts::{PostText, Visibility},
    products::{Category, Color, Description, ImageUrl, ProductName, Size, Sku},
};
use serde_json::json;
use utoipa::{
    ToSchema,
    openapi::{
        Array, ArrayBuilder, ObjectBuilder, Ref, Type,
        schema::{AdditionalProperties, SchemaFormat, SchemaType},
    },
};

/// The first price that is too high.
const PRICE_LIMIT: f64 = 1e12;

/// A reference to the schema of a type.
pub(crate) fn reference<T: ToSchema>() -> Ref {
    Ref::from_schema_name(T::name())
}

/// Any text.
pub(crate) fn text(description: &str, example: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description)).examples([json!(example)])
}

fn bounded(description: &str, example: &str, min: usize, max: usize) -> ObjectBuilder {
    text(description, example).min_length((min > 0).then_some(min)).max_length(Some(max))
}

/// One of several words.
fn word(description: &str, words: impl IntoIterator<Item = &'static str>) -> ObjectBuilder {
    let text = ObjectBuilder::new().schema_type(Type::String).description(Some(description));
    text.enum_values(Some(words))
}

/// A format by its name.
pub(crate) fn format(name: &str) -> Option<SchemaFormat> {
    Some(SchemaFormat::Custom(name.to_owned()))
}

fn formatted(description: &str, example: &str, name: &str) -> ObjectBuilder {
    text(description, example).format(format(name))
}

fn nullable(text: ObjectBuilder) -> ObjectBuilder {
    text.schema_type(SchemaType::from_iter([Type::String, Type::Null]))
}

pub(crate) fn null() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Null).description(Some("Nothing: the operation returns no data."))
}

/// `true` or `false`, and never the other.
fn always(value: bool, description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Boolean).description(Some(description)).enum_values(Some([value]))
}

pub(crate) fn succeeded() -> ObjectBuilder {
    always(true, "Always true.")
}

pub(crate) fn failed() -> ObjectBuilder {
    always(false, "Always false.")
}

pub(crate) fn message() -> ObjectBuilder {
    text("What was done, for people to read.", "success")
}

pub(crate) fn error_status() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .description(Some("The HTTP status of the response."))
        .minimum(Some(400))
        .maximum(Some(599))
}

/// The status of what cannot be done now.
pub(crate) fn unavailable_status() -> ObjectBuilder {
    error_status().examples([json!(503)])
}

/// Whether something that the service depends on answers.
pub(crate) fn check_status() -> ObjectBuilder {
    word("`ok`, or `failed`: it answered with a failure, or not in time.", ["ok", "failed"])
}

/// How long something took.
pub(crate) fn milliseconds() -> ObjectBuilder {
    let number = ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0.0));
    number.description(Some("How long it took, in milliseconds.")).examples([json!(0.21)])
}

pub(crate) fn field_errors() -> ObjectBuilder {
    let messages = ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::String)).min_items(Some(1));
    ObjectBuilder::new()
        .description(Some(
            "Present when fields of the request are invalid: each invalid field under its preferred name, with every \
             message about it.",
        ))
        .additional_properties(Some(AdditionalProperties::RefOr(messages.into())))
}

pub(crate) fn username() -> ObjectBuilder {
    let description = "A name without `@` and control characters, trimmed, unique in any letter case.";
    bounded(description, "ada", 1, Username::MAX_CHARS).pattern(Some(r"^[^@\u0000-\u001F\u007F-\u009F]+$"))
}

pub(crate) fn username_alias() -> ObjectBuilder {
    username().description(Some("Another name of `username`, which wins unless it is blank."))
}

pub(crate) fn email() -> ObjectBuilder {
    let description = "An email address, trimmed, unique in any letter case.";
    formatted(description, "ada@example.org", "email").max_length(Some(Email::MAX_CHARS))
}

pub(crate) fn password() -> ObjectBuilder {
    let description = "8 to 72 bytes of UTF-8, not trimmed. It is never returned.";
    bounded(description, "correct horse", Password::MIN_BYTES, Password::MAX_BYTES).format(format("password"))
}

/// A password that need not be one which could be chosen.
pub(crate) fn attempted_password() -> ObjectBuilder {
    formatted("The password of the account.", "correct horse", "password").min_length(Some(1))
}

pub(crate) fn identifier() -> ObjectBuilder {
    text("The username or the email address of the account, in any letter case.", "ada").min_length(Some(1))
}

pub(crate) fn identifier_as_email() -> ObjectBuilder {
    text("Another name of `identifier`, which wins unless it is blank.", "ada@example.org")
}

pub(crate) fn identifier_as_username() -> ObjectBuilder {
    text("Another name of `identifier`, which wins unless it is blank.", "ada")
}

pub(crate) fn token() -> ObjectBuilder {
    text("A JWT, to be sent as `Authorization: Bearer TOKEN`.", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIwMTk4In0.c2lnbmF0dXJl")
        .pattern(Some(r"^[\w-]+\.[\w-]+\.[\w-]+$"))
}

pub(crate) fn biography() -> ObjectBuilder {
    bounded("What the user says of themselves.", "Counts by machine.", 1, Biography::MAX_CHARS)
}

pub(crate) fn biography_or_null() -> ObjectBuilder {
    nullable(biography())
}

pub(crate) fn new_biography() -> ObjectBuilder {
    let description = "What the user says of themselves; a blank text is none.";
    bounded(description, "Counts by machine.", 0, Biography::MAX_CHARS)
}

pub(crate) fn role() -> ObjectBuilder {
    word("A role: ADMIN may do everything, USER has what is their own.", Role::ALL.map(Role::as_str))
}

pub(crate) fn role_action() -> ObjectBuilder {
    word("Whether the account gets the role or loses it.", ["ADD", "REMOVE"])
}

const WHO_MAY_VIEW: &str = "Who may view the post besides its author and every ADMIN: everybody, the author's followers, or \
                            nobody.";

pub(crate) fn visibility() -> ObjectBuilder {
    word(WHO_MAY_VIEW, Visibility::ALL.map(Visibility::as_str))
}

/// Its default is told in words: what has one is required in clients that are made from the document.
pub(crate) fn new_visibility() -> ObjectBuilder {
    visibility().description(Some(format!("{WHO_MAY_VIEW} Without it, {}.", Visibility::default().as_str())))
}

fn instant(description: &str) -> ObjectBuilder {
    formatted(description, "2025-07-15T00:24:54.124+00:00", "date-time")
}

pub(crate) fn created_at() -> ObjectBuilder {
    instant("When it was made, with milliseconds and offset.")
}

pub(crate) fn updated_at() -> ObjectBuilder {
    instant("When it was last changed; at first, when it was made.")
}

pub(crate) fn image_or_null() -> ObjectBuilder {
    let example = "https://agora.example.org/media/0f1e2d3c4b5a69788796a5b4c3d2e1f0.png";
    nullable(formatted("The absolute address of the image; null without one.", example, "uri"))
}

/// An image in a form.
pub(crate) fn image_file() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(format("binary"))
        .description(Some("A JPEG, PNG, GIF or WebP image, judged by its content; 5 MiB unless configured otherwise."))
}

pub(crate) fn post_content() -> ObjectBuilder {
    bounded("The text; empty only beside an image.", "Hello, Agora!", 0, PostText::MAX_CHARS)
}

pub(crate) fn post_text() -> ObjectBuilder {
    bounded("The text of the post, trimmed.", "Hello, Agora!", 1, PostText::MAX_CHARS)
}

pub(crate) fn form_text() -> ObjectBuilder {
    let description = "The text of the post, trimmed. It may be blank beside an image.";
    bounded(description, "Hello, Agora!", 0, PostText::MAX_CHARS)
}

pub(crate) fn post_text_alias() -> ObjectBuilder {
    form_text().description(Some("Another name of `text`, which wins unless it is blank."))
}

pub(crate) fn comment_text() -> ObjectBuilder {
    bounded("The text of the comment, trimmed.", "Welcome", 1, CommentText::MAX_CHARS)
}

pub(crate) fn sku() -> ObjectBuilder {
    bounded("The stock keeping unit, unique in any letter case.", "MUG-1", 1, Sku::MAX_CHARS)
}

pub(crate) fn product_name() -> ObjectBuilder {
    bounded("The name.", "Mug", 1, ProductName::MAX_CHARS)
}

pub(crate) fn product_description() -> ObjectBuilder {
    bounded("What the product is.", "Holds coffee.", 0, Description::MAX_CHARS)
}

pub(crate) fn category() -> ObjectBuilder {
    bounded("The category, compared in any letter case.", "Kitchen", 1, Category::MAX_CHARS)
}

pub(crate) fn price() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Number)
        .description(Some(
            "A plain decimal with at most two decimals, exact from end to end; returned with two. Read it as a \
             decimal, not as floating point.",
        ))
        .minimum(Some(0))
        .exclusive_maximum(Some(PRICE_LIMIT))
        .examples([json!(19.9)])
}

pub(crate) fn stock() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(format("int32"))
        .description(Some("How many pieces are there; with variants, the sum of theirs."))
        .minimum(Some(0))
        .maximum(Some(f64::from(i32::MAX)))
        .examples([json!(3)])
}

pub(crate) fn color() -> ObjectBuilder {
    bounded("The color; may be empty.", "red", 0, Color::MAX_CHARS)
}

pub(crate) fn size() -> ObjectBuilder {
    bounded("The size; may be empty.", "L", 0, Size::MAX_CHARS)
}

pub(crate) fn product_images() -> Array {
    let example = "https://cdn.example.org/mug.png";
    let address = formatted("An absolute `http` or `https` address.", example, "uri");
    let images = ArrayBuilder::new().items(address.max_length(Some(ImageUrl::MAX_CHARS)));
    images.description(Some("The addresses of the images.")).build()
}
