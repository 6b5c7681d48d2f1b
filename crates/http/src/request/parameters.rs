//! The OpenAPI descriptions of the parameters in path, query and headers, each described once.

use agora_domain::audit::Action;
use agora_domain::comments::CommentOrder;
use agora_domain::entities::Hashtag;
use agora_domain::idempotency::IdempotencyKey;
use agora_domain::mail::MailStatus;
use agora_domain::notices::NotificationKind;
use agora_domain::page::PageSize;
use agora_domain::people::UserIds;
use agora_domain::products::{Category, SearchText};
use agora_domain::reports::ReportStatus;
use agora_domain::search::Query as SearchTerms;
use serde_json::json;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::{ArrayBuilder, ObjectBuilder, RefOr, Required, Schema, Type};

use crate::core::schema::{format, username};

/// The names of the headers.
pub(crate) const IF_NONE_MATCH: &str = "If-None-Match";
pub(crate) const IF_MATCH: &str = "If-Match";
pub(crate) const LAST_EVENT_ID: &str = "Last-Event-ID";

/// The name of the parameter with a ticket.
pub(crate) const TICKET: &str = "ticket";

/// Names groups of parameters, by which operations refer to them.
macro_rules! groups {
    ($($(#[doc = $doc:literal])+ $name:ident = [$($parameter:expr),+ $(,)?];)+) => {$(
        $(#[doc = $doc])+
        pub(crate) enum $name {}

        impl IntoParams for $name {
            fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
                vec![$($parameter),+]
            }
        }
    )+};
}

groups! {
    /// The page of a list.
    Paging = [size(&format!("Without it, all entries up to {}.", PageSize::LIST_DEFAULT.get()), None), cursor()];
    /// The page of a list that is never returned as a whole.
    ShortPaging = [size("", Some(PageSize::SHORT_DEFAULT.get())), cursor()];
    /// The page of a post's comments.
    CommentPaging = [
        query("order", "Which are listed first.", text().enum_values(Some(CommentOrder::ALL.map(CommentOrder::as_str))).default(Some(json!(CommentOrder::default().as_str())))),
        size("", Some(PageSize::SHORT_DEFAULT.get())),
        cursor(),
    ];
    /// Which notifications are listed.
    NotificationFilter = [optional(
        "type", ParameterIn::Query, "Only those of this kind; once for each kind. Without it, all.",
        ArrayBuilder::new().items(text().enum_values(Some(NotificationKind::ALL.map(NotificationKind::as_str)))),
    )];
    /// The username to look up.
    UsernameQuery = [required(query("username", "The username, in any letter case.", username()))];
    /// The ids of the users whose profiles are requested.
    UserIdsQuery = [required(optional(
        "id", ParameterIn::Query, "Names a user; once for each of them.",
        ArrayBuilder::new().items(text().format(format("uuid"))).min_items(Some(1)).max_items(Some(UserIds::MAX)),
    ))];
    /// The kind and the words to search for.
    SearchQuery = [
        required(query("type", "What kind of things.", text().enum_values(Some(["posts", "users", "products"])))),
        required(query(
            "q",
            "What they have: words in any order, each a whole word but the last one, which may go on; `\"words\"` side by \
             side; `#tag`.",
            text().min_length(Some(1)).max_length(Some(SearchTerms::MAX_CHARS)).examples([json!("good morning")]),
        )),
        query("from", "Only posts of the user with this id. Of users and products nothing.", text().format(format("uuid"))),
    ];
    /// Whose comments are deleted.
    CommentAuthorQuery = [required(query("author", "Names the user who wrote them.", text().format(format("uuid"))))];
    /// Which reports are listed.
    ReportFilter = [query(
        "status", "Only those with this status. Without it, all.",
        text().enum_values(Some(ReportStatus::ALL.map(ReportStatus::as_str))),
    )];
    /// Which mails are listed.
    MailFilter = [required(query(
        "status", "What became of them.", text().enum_values(Some(MailStatus::ALL.map(MailStatus::as_str))),
    ))];
    /// Which entries of the audit log are listed: those that match all given parameters.
    AuditLogFilter = [
        query("actor", "The id of the administrator, or `cli` for the command line.", text()),
        query("target", "The id of what the act was done to.", text().format(format("uuid"))),
        query("action", "What was done.", text().enum_values(Some(Action::ALL.map(Action::as_str)))),
    ];
    /// The page of the following feed.
    FeedPaging = [
        size("", Some(PageSize::SHORT_DEFAULT.get())),
        cursor(),
        query(
            "createAt", "Only posts made before: an RFC 3339 time, or a date, which is its midnight in UTC.",
            text().examples([json!("2025-07-15T00:24:54.124+00:00"), json!("2025-07-15")]),
        ),
    ];
    /// Which products of all categories are listed.
    TextFilter = [query(
        "q", "Only products with this text in name, description or SKU, in any letter case.",
        text().max_length(Some(SearchText::MAX_CHARS)).examples([json!("mug")]),
    )];
    /// Which products are listed, by category.
    CategoryFilter = [query("category", "Only products of this category, in any letter case.", category())];
    /// Which part of an image is requested, and which image the client has already.
    ImageConditions = [
        header("Range", "One range of bytes. What is no such range is ignored.", "bytes=0-1023"),
        header("If-Range", "The `ETag` of the image to which `Range` applies; for another, it is ignored.", IMAGE_TAG),
        header(IF_NONE_MATCH, "The `ETag` of an image that is there already: then the answer is 304.", IMAGE_TAG),
    ];
    /// Which response the client has already.
    IfNoneMatch = [header(
        IF_NONE_MATCH, "The `ETag` of an answer that is there already: if it still holds, the answer is 304.", TAG,
    )];
    /// The topics of an event stream, and the event after which it resumes.
    StreamParameters = [
        required(query(
            "topics",
            "What to listen to, 1 to 50 separated by commas: `notifications`, `feed`, `public`, `post:{id}`.",
            text().min_length(Some(1)).examples([json!("notifications,feed")]),
        )),
        query(TICKET, "From `POST /api/events/ticket`, where no `Authorization` can be sent.", text()),
        query("lastEventId", "What `Last-Event-ID` says, where that cannot be sent. The header counts first.", text()),
        header(LAST_EVENT_ID, "The id that came last: the stream goes on behind it.", "1a2b3c-4d"),
    ];
    /// The version to which an edit applies.
    IfMatchHeader = [header(
        IF_MATCH,
        "The `ETag` of what is to be edited, as it was seen: when it was edited since, the answer is 412. Without it, or \
         with `*`, the last edit wins.",
        TAG,
    )];
}

/// Examples of entity tags: of something that can be edited, and of an image.
const TAG: &str = "W/\"1980b7a5f6c-8f3a1c5b7d9e0246\"";
const IMAGE_TAG: &str = "\"0f1e2d3c4b5a69788796a5b4c3d2e1f0.png\"";

/// Returns the header `Idempotency-Key`.
pub(crate) fn idempotency_key() -> Parameter {
    let description = "A word of your own, new for each request, such as a UUID. For 24 hours the same request under the \
                       same key does nothing more and shows what it created as it is now; see the section on retries.";
    let schema = text().min_length(Some(1)).max_length(Some(IdempotencyKey::MAX)).pattern(Some("^[!-~]+$"));
    optional("Idempotency-Key", ParameterIn::Header, description, schema)
}

/// Returns the parameter of this name in a path.
pub(crate) fn in_path(name: &str) -> Parameter {
    let id = || text().format(format("uuid"));
    let (description, schema) = match name {
        "category" => ("The category, in any letter case.", category().min_length(Some(1))),
        "key" => (
            "The key of the image, from its address.",
            text().examples([json!("0f1e2d3c4b5a69788796a5b4c3d2e1f0.png")]),
        ),
        "tag" => (
            "The hashtag in any letter case, with or without its sign, which is `%23` in a path.",
            text().min_length(Some(1)).max_length(Some(Hashtag::MAX_FOLDED_CHARS + 1)).examples([json!("rust")]),
        ),
        "file" => ("A part of the page.", text().examples([json!("swagger-ui.css")])),
        "commentId" => ("Names the comment.", id()),
        "mailId" => ("Names the mail.", id()),
        "followedId" => ("Names the user who is followed.", id()),
        "notificationId" => ("Names the notification.", id()),
        "postId" => ("Names the post.", id()),
        "reportId" => ("Names the report.", id()),
        "sessionId" => ("Names the session.", id()),
        "userId" => ("Names the user.", id()),
        _ => ("Names it.", id()),
    };
    let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Path).required(Required::True);
    parameter.description(Some(description)).schema(Some(schema)).build()
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn required(mut parameter: Parameter) -> Parameter {
    parameter.required = Required::True;
    parameter
}

fn category() -> ObjectBuilder {
    text().max_length(Some(Category::MAX_CHARS)).examples([json!("Kitchen")])
}

fn optional(name: &str, place: ParameterIn, description: &str, schema: impl Into<RefOr<Schema>>) -> Parameter {
    let parameter = ParameterBuilder::new().name(name).parameter_in(place).required(Required::False);
    parameter.description(Some(description)).schema(Some(schema)).build()
}

fn query(name: &str, description: &str, schema: ObjectBuilder) -> Parameter {
    optional(name, ParameterIn::Query, description, schema)
}

fn header(name: &str, description: &str, example: &str) -> Parameter {
    optional(name, ParameterIn::Header, description, text().examples([json!(example)]))
}

fn size(default_text: &str, default: Option<usize>) -> Parameter {
    let schema = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1))
        .maximum(Some(f64::from(PageSize::MAX)))
        .default(default.map(|default| json!(default)))
        .build();
    let description = format!("How many entries at most. {default_text}");
    optional("size", ParameterIn::Query, description.trim_end(), schema)
}

fn cursor() -> Parameter {
    let description = "Where the page is: from an address in the `Link` header of the page beside it. It holds for \
                       the list it was made for.";
    query("cursor", description, text())
}
