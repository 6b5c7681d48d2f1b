//! The OpenAPI schemas of the values of the interface, each described once for requests and responses alike. Bounds are the
//! domain's constants.

use agora_domain::accounts::{Biography, DisplayName, Email, Password, Role, UserAgent, Username};
use agora_domain::audit::{Action, Reason, TargetKind};
use agora_domain::blocks::MuteHours;
use agora_domain::comments::CommentText;
use agora_domain::mail::MailKind;
use agora_domain::media::{AltText, Attachment};
use agora_domain::notices::NotificationKind;
use agora_domain::notifications::{Excerpt, NotificationPolicy};
use agora_domain::posts::{PostText, Visibility};
use agora_domain::products::{Category, Color, Description, ImageUrl, ProductName, Size, Sku};
use agora_domain::reports::{ReportCategory, ReportComment, ReportNote, ReportStatus, ReportTargetKind};
use serde_json::json;
use utoipa::openapi::schema::{AdditionalProperties, SchemaFormat, SchemaType};
use utoipa::openapi::{Array, ArrayBuilder, Object, ObjectBuilder, Ref, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::core::field_code_schema;

/// The exclusive upper bound of prices.
const PRICE_LIMIT: f64 = 1e12;

/// Returns a reference to the schema of a type.
pub(crate) fn reference<T: ToSchema>() -> Ref {
    Ref::from_schema_name(T::name())
}

/// Returns the schema of a string.
pub(crate) fn text(description: &str, example: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description)).examples([json!(example)])
}

fn bounded(description: &str, example: &str, min: usize, max: usize) -> ObjectBuilder {
    text(description, example).min_length((min > 0).then_some(min)).max_length(Some(max))
}

/// Returns the schema of an enumeration of strings.
fn enumeration(description: &str, words: impl IntoIterator<Item = &'static str>) -> ObjectBuilder {
    let text = ObjectBuilder::new().schema_type(Type::String).description(Some(description));
    text.enum_values(Some(words))
}

/// Returns the format with this name.
pub(crate) fn format(name: &str) -> Option<SchemaFormat> {
    Some(SchemaFormat::Custom(name.to_owned()))
}

fn formatted(description: &str, example: &str, name: &str) -> ObjectBuilder {
    text(description, example).format(format(name))
}

fn nullable(text: ObjectBuilder) -> ObjectBuilder {
    text.schema_type(SchemaType::from_iter([Type::String, Type::Null]))
}

/// Returns the schema of a boolean.
pub(crate) fn boolean(description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Boolean).description(Some(description))
}

/// Returns the schema of a boolean that always has this value.
fn constant(value: bool, description: &str) -> ObjectBuilder {
    boolean(description).enum_values(Some([value]))
}

/// Returns the schema of a duration in milliseconds.
pub(crate) fn milliseconds() -> ObjectBuilder {
    let number = ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0.0));
    number.description(Some("The duration of the check in milliseconds.")).examples([json!(0.21)])
}

fn by_field(description: &str, each: ObjectBuilder) -> ObjectBuilder {
    let all = ArrayBuilder::new().items(each).min_items(Some(1));
    let fields = ObjectBuilder::new().description(Some(description));
    fields.additional_properties(Some(AdditionalProperties::RefOr(all.into())))
}

const WHO_MAY_VIEW: &str = "Who may view the post besides its author and every ADMIN: everybody, the author's followers, or \
                            nobody.";

fn instant(description: &str) -> ObjectBuilder {
    formatted(description, "2025-07-15T00:24:54.124+00:00", "date-time")
}

pub(crate) fn image_or_null() -> ObjectBuilder {
    let example = "https://agora.example.org/media/0f1e2d3c4b5a69788796a5b4c3d2e1f0.png";
    nullable(formatted("The absolute URL of the image; null if there is none.", example, "uri"))
}

/// Returns the schema of the ids of the images that a new or edited post gets.
pub(crate) fn media_ids() -> Array {
    let id =
        formatted("The `id` of an upload, or of an image of the post.", "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", "uuid");
    let ids = ArrayBuilder::new().items(id).max_items(Some(Attachment::MAX)).unique_items(true);
    // Empty, so that a request generated from the examples is not refused for images that do not exist.
    let ids = ids.examples([json!([])]);
    ids.description(Some("The images of the post, in the order in which they are shown.")).build()
}

fn pixels_or_null(description: &str) -> ObjectBuilder {
    let pixels = ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::Integer, Type::Null]));
    pixels.minimum(Some(1)).description(Some(description)).examples([json!(1200)])
}

pub(crate) fn product_images() -> Array {
    let example = "https://cdn.example.org/mug.png";
    let address = formatted("An absolute `http` or `https` URL.", example, "uri");
    let images = ArrayBuilder::new().items(address.max_length(Some(ImageUrl::MAX_CHARS)));
    images.description(Some("The URLs of the images.")).build()
}

/// Declares the schemas of values, each described once for requests and responses alike.
macro_rules! schemas {
    ($($(#[$doc:meta])* $name:ident = $schema:expr;)+) => {$(
        $(#[$doc])*
        pub(crate) fn $name() -> ObjectBuilder {
            $schema
        }
    )+};
}

schemas! {
    null = ObjectBuilder::new().schema_type(Type::Null).description(Some("Always null: the operation returns no data."));
    succeeded = constant(true, "Always true.");
    failed = constant(false, "Always false.");
    message = text("A message for people that says what was done.", "success");
    error_status = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .description(Some("The HTTP status of the response."))
        .minimum(Some(400))
        .maximum(Some(599));
    /// The status of a failure that is temporary.
    unavailable_status = error_status().examples([json!(503)]);
    /// The result of the health check of a dependency.
    check_status = enumeration("`ok`, or `failed` if the check returned an error or timed out.", ["ok", "failed"]);
    field_errors = by_field(
        "Present if fields of the request are invalid: each invalid field under its preferred name, with all messages about it.",
        ObjectBuilder::new().schema_type(Type::String),
    );
    field_codes = by_field(
        "Present together with `data`: a code for each message there, in the same order.",
        field_code_schema(),
    );
    username = bounded(
        "The username, trimmed: no `@`, no control characters, no blanks at either end. Unique regardless of letter case.",
        "ada", 1, Username::MAX_CHARS,
    )
    .pattern(Some(r"^[^@\u0000-\u001F\u007F-\u009F]+$"));
    username_alias = username().description(Some("An alias of `username`, used if that is absent or blank."));
    email = formatted("The email address, trimmed. Unique regardless of letter case.", "ada@example.org", "email")
        .max_length(Some(Email::MAX_CHARS));
    password = bounded(
        "The password: 8 to 72 bytes of UTF-8, not trimmed. It is never returned.", "correct horse",
        // A character has at most four bytes.
        Password::MIN_BYTES / 4, Password::MAX_BYTES,
    )
    .format(format("password"));
    /// A password at login, to which the rules for new passwords do not apply.
    attempted_password = formatted("The password of the account.", "correct horse", "password").min_length(Some(1));
    identifier = text("The username or the email address of the account, in any letter case.", "ada").min_length(Some(1));
    identifier_as_email = text("An alias of `identifier`, used if that is absent or blank.", "ada@example.org");
    identifier_as_username = text("An alias of `identifier`, used if that and `email` are absent or blank.", "ada");
    token = text(
        "A JWT. Send it as `Authorization: Bearer TOKEN`.",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIwMTk4In0.c2lnbmF0dXJl",
    )
    .pattern(Some(r"^[\w-]+\.[\w-]+\.[\w-]+$"));
    mail_token = text("The token exactly as in the mail.", "qL8R4QIcQ_ZsRqOAbeRfcZhilN_MksRtDaErMA7hQdY").min_length(Some(1));
    email_verified = boolean("Whether the email address was verified with a token from a mail.");
    display_name = bounded(
        "The name shown beside the username: no control or invisible characters, except those that join letters and emoji. Not \
         unique.",
        "Ada Lovelace", 1, DisplayName::MAX_CHARS,
    );
    display_name_or_null = nullable(display_name());
    new_display_name = display_name().min_length(None).description(Some(
        "The name shown beside the username, trimmed: no control or invisible characters, except those that join letters and \
         emoji. A blank one removes the name.",
    ));
    discoverable = boolean("Whether the directory lists the account, and a search for users finds it.");
    searchable = boolean("Whether a search for posts finds the account's posts.");
    hide_counts = boolean(
        "Whether the numbers of followers and of followed users are hidden from everybody but the user and every ADMIN.",
    );
    remove_profile_picture = boolean("`true` removes the picture, unless the request has a new one.");
    count_or_null = ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Integer, Type::Null]))
        .minimum(Some(0))
        .examples([json!(42)]);
    biography = bounded("The user's description of themselves.", "Counts by machine.", 1, Biography::MAX_CHARS);
    biography_or_null = nullable(biography());
    new_biography =
        bounded("The user's description of themselves; blank for none.", "Counts by machine.", 0, Biography::MAX_CHARS);
    role = enumeration("A role: USER may use the service, ADMIN may also administer it.", Role::ALL.map(Role::as_str));
    role_action = enumeration("Whether to add the role to the account or to remove it.", ["ADD", "REMOVE"]);
    visibility = enumeration(WHO_MAY_VIEW, Visibility::ALL.map(Visibility::as_str));
    /// The default is in the description only: generated clients treat a property with a `default` as required.
    new_visibility =
        visibility().description(Some(format!("{WHO_MAY_VIEW} Without it, {}.", Visibility::default().as_str())));
    created_at = instant("When it was created, with milliseconds and offset.");
    updated_at = instant("When it was last changed; initially, when it was created.");
    expires_at = instant("When it expires.");
    /// An image in a form.
    image_file = ObjectBuilder::new()
        .schema_type(Type::String)
        .format(format("binary"))
        .description(Some("A JPEG, PNG, GIF or WebP image, judged by its content. At most 5 MiB unless configured otherwise."));
    image_url = formatted(
        "The absolute URL of the image.", "https://agora.example.org/media/0f1e2d3c4b5a69788796a5b4c3d2e1f0.png", "uri",
    );
    thumbnail_or_null = nullable(formatted(
        "The absolute URL of the thumbnail, a JPEG of at most 400 pixels in width and height; null while there is none.",
        "https://agora.example.org/media/0f1e2d3c4b5a69788796a5b4c3d2e1f0.png.thumb.jpg", "uri",
    ));
    picture_thumbnail = nullable(formatted(
        "The absolute URL of the picture's thumbnail, a JPEG of at most 400 pixels in width and height, or of the picture \
         itself while there is no thumbnail; null without a picture.",
        "https://agora.example.org/media/0f1e2d3c4b5a69788796a5b4c3d2e1f0.png.thumb.jpg", "uri",
    ));
    width_or_null = pixels_or_null("The width of the image in pixels; null if it is not known.");
    height_or_null = pixels_or_null("The height of the image in pixels; null if it is not known.");
    blurhash_or_null = nullable(text(
        "A BlurHash (https://blurha.sh) to show until the image has loaded; null while there is none.",
        "LEHV6nWB2yk8pyo0adR*.7kCMdnj",
    ));
    alt = bounded(
        "The alternative text: what the image shows; blank for none.", "A grey cat on a red sofa", 0, AltText::MAX_CHARS,
    );
    alt_or_null = nullable(bounded(
        "The alternative text: what the image shows; null if there is none.", "A grey cat on a red sofa", 1, AltText::MAX_CHARS,
    ));
    post_content = bounded("The text of the post; empty only if the post has an image.", "Hello, Agora!", 0, PostText::MAX_CHARS);
    form_text = bounded(
        "The text of the post, trimmed. It may be blank if the post has an image.", "Hello, Agora!", 0, PostText::MAX_CHARS,
    );
    post_text_alias = form_text().description(Some("An alias of `text`, used if that is absent or blank."));
    excerpt = bounded("The beginning of the text.", "Hello, Agora!", 0, Excerpt::MAX_CHARS);
    notification_type =
        enumeration("The type of action that it is about.", NotificationKind::ALL.map(NotificationKind::as_str));
    notification_policy = enumeration(
        "Whose actions notify the caller: everybody's, those of users whom the caller follows, or nobody's.",
        NotificationPolicy::ALL.map(NotificationPolicy::as_str),
    );
    updated_notification_at =
        instant("When an actor was last added to it; initially, when it was created. Notifications are ordered by this.");
    read_updated_at = instant(
        "The `updatedAt` of the notification `upTo`, as the client showed it. Notifications that changed since then stay unread, also `upTo` itself.",
    );
    muted_until = nullable(instant("When the mute ends; null if it has no end."));
    hidden = boolean("Whether it is hidden: then only administrators and its author can see it.");
    reason = bounded("The reason, trimmed, for the audit log.", "Against the rules of the house", 1, Reason::MAX_CHARS);
    report_target_type = enumeration("The type of what is reported.", ReportTargetKind::ALL.map(ReportTargetKind::as_str));
    report_category = enumeration("The category of the problem.", ReportCategory::ALL.map(ReportCategory::as_str));
    report_status = enumeration("The status of the report.", ReportStatus::ALL.map(ReportStatus::as_str));
    report_verdict = enumeration("The decision: the report is upheld or rejected.", ["RESOLVED", "REJECTED"]);
    new_report_comment = bounded(
        "A comment for the administrators, trimmed; blank for none.", "The same in every thread", 0, ReportComment::MAX_CHARS,
    );
    report_comment =
        nullable(bounded("The reporter's comment, or null.", "The same in every thread", 1, ReportComment::MAX_CHARS));
    new_report_note =
        bounded("A note on the decision, trimmed; blank for none.", "Deleted", 0, ReportNote::MAX_CHARS);
    report_note = nullable(bounded("The administrator's note on the decision, or null.", "Deleted", 1, ReportNote::MAX_CHARS));
    audit_action = enumeration("The type of the action.", Action::ALL.map(Action::as_str));
    audit_target_type = enumeration("The type of the target of the action.", TargetKind::ALL.map(TargetKind::as_str));
    opened_at = instant("When the user logged in.");
    last_seen_at = instant("When the session was last used, rounded down to the hour.");
    user_agent =
        nullable(bounded("The `User-Agent` of the client at login, or null.", "Agora for Android 1.0", 1, UserAgent::MAX_CHARS));
    counted_at = instant("When the totals were counted: up to a minute ago.");
    database_bytes = count_or_null().description(Some("The size of the database in bytes; null if the database cannot tell."));
    started_at = instant("When the node started.");
    minute_at = instant("When the minute began.");
    mail_kind = enumeration("The kind of mail.", MailKind::ALL.map(MailKind::as_str));
    mail_address = text(
        "The recipient; for a password reset that was not tried yet, the username or address that the request named.",
        "ada@example.org",
    );
    mail_due_at = instant("When the service next tries to send it; for a mail that was sent or given up, when it is deleted.");
    mail_failure = nullable(text("Why the last attempt failed, or null.", "550 5.1.1 no such mailbox"));
    acted_at = instant("When the action took place, with milliseconds and offset.");
    /// A duration that a client may leave out or give as null.
    mute_hours = ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Integer, Type::Null]))
        .minimum(Some(1))
        .maximum(Some(MuteHours::MAX as f64))
        .description(Some("The duration of the mute in hours. Without it, the mute has no end."))
        .examples([json!(24)]);
    comment_text = bounded("The text of the comment, trimmed.", "Welcome", 1, CommentText::MAX_CHARS);
    sku = bounded("The stock keeping unit, unique regardless of letter case.", "MUG-1", 1, Sku::MAX_CHARS);
    product_name = bounded("The name of the product.", "Mug", 1, ProductName::MAX_CHARS);
    product_description = bounded("The description of the product.", "Holds coffee.", 0, Description::MAX_CHARS);
    category = bounded("The category, compared regardless of letter case.", "Kitchen", 1, Category::MAX_CHARS);
    price = ObjectBuilder::new()
        .schema_type(Type::Number)
        .description(Some(
            "The price: a plain decimal number with at most two decimals, returned with two. It is exact: parse it as a \
             decimal, not as a floating-point number.",
        ))
        .minimum(Some(0))
        .exclusive_maximum(Some(PRICE_LIMIT))
        .examples([json!(19.9)]);
    stock = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(format("int32"))
        .description(Some("The number of items in stock; with variants, the sum of theirs."))
        .minimum(Some(0))
        .maximum(Some(f64::from(i32::MAX)))
        .examples([json!(3)]);
    color = bounded("The color; may be empty.", "red", 0, Color::MAX_CHARS);
    size = bounded("The size; may be empty.", "L", 0, Size::MAX_CHARS);
}

/// Returns the schema of `T` with another description, changed by `edit`.
pub(crate) fn variant<T: PartialSchema>(description: &str, edit: impl FnOnce(&mut Object)) -> RefOr<Schema> {
    let mut schema = T::schema();
    if let RefOr::T(Schema::Object(object)) = &mut schema {
        object.description = Some(description.trim().to_owned());
        edit(object);
    }
    schema
}

/// Sets the schema of a field.
pub(crate) fn set(object: &mut Object, field: &str, schema: impl Into<Schema>) {
    object.properties.insert(field.to_owned(), RefOr::T(schema.into()));
}

/// Names variants of the schema of a type: where a body may be a form as well, or creates and changes the same thing.
macro_rules! schema_variants {
    ($($(#[doc = $doc:literal])+ $name:ident of $base:ty: $edit:expr;)+) => {$(
        $(#[doc = $doc])+
        pub(crate) enum $name {}

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                crate::core::schema::variant::<$base>(concat!($($doc),+), $edit)
            }
        }

        impl utoipa::ToSchema for $name {
            fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
                <$base as utoipa::ToSchema>::schemas(schemas);
            }
        }
    )+};
}
pub(crate) use schema_variants;
