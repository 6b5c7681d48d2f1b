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
    /// The page of a list that has short pages by default.
    ShortPaging = [size("", Some(PageSize::SHORT_DEFAULT.get())), cursor()];
    /// The page of a post's comments.
    CommentPaging = [
        query(
            "order",
            "Which comments are listed first.",
            text()
                .enum_values(Some(CommentOrder::ALL.map(CommentOrder::as_str)))
                .default(Some(json!(CommentOrder::default().as_str()))),
        ),
        size("", Some(PageSize::SHORT_DEFAULT.get())),
        cursor(),
    ];
    /// Which notifications are listed.
    NotificationFilter = [optional(
        "type", ParameterIn::Query, "Only notifications of this type; repeat it for several types. Without it, all.",
        ArrayBuilder::new().items(text().enum_values(Some(NotificationKind::ALL.map(NotificationKind::as_str)))),
    )];
    /// The username to look up.
    UsernameQuery = [required(query("username", "The username, in any letter case.", username()))];
    /// The ids of the users whose profiles are requested.
    UserIdsQuery = [required(optional(
        "id", ParameterIn::Query, "The id of a user; repeat it for each user.",
        ArrayBuilder::new().items(text().format(format("uuid"))).min_items(Some(1)).max_items(Some(UserIds::MAX)),
    ))];
    /// The kind and the words to search for.
    SearchQuery = [
        required(query("type", "What to search for.", text().enum_values(Some(["posts", "users", "products"])))),
        required(query(
            "q",
            "The search query: words in any order, each a whole word, except that the last may be a prefix; `\"words\"` for \
             words side by side; `#tag` for a hashtag.",
            text().min_length(Some(1)).max_length(Some(SearchTerms::MAX_CHARS)).examples([json!("good morning")]),
        )),
        query("from", "Only posts by the user with this id. Ignored for users and products.", text().format(format("uuid"))),
    ];
    /// Whose comments are deleted.
    CommentAuthorQuery = [required(query("author", "The id of the author of the comments.", text().format(format("uuid"))))];
    /// Which reports are listed.
    ReportFilter = [query(
        "status", "Only reports with this status. Without it, all.",
        text().enum_values(Some(ReportStatus::ALL.map(ReportStatus::as_str))),
    )];
    /// Which mails are listed.
    MailFilter = [required(query(
        "status", "Only mails with this status.", text().enum_values(Some(MailStatus::ALL.map(MailStatus::as_str))),
    ))];
    /// Which entries of the audit log are listed: those that match all given parameters.
    AuditLogFilter = [
        query("actor", "Only actions by the administrator with this id; `cli` selects those from the command line.", text()),
        query("target", "Only actions on the target with this id.", text().format(format("uuid"))),
        query("action", "Only actions of this type.", text().enum_values(Some(Action::ALL.map(Action::as_str)))),
    ];
    /// The page of the following feed.
    FeedPaging = [
        size("", Some(PageSize::SHORT_DEFAULT.get())),
        cursor(),
        query(
            "createAt", "Only posts created before this: an RFC 3339 time, or a date, which means its midnight in UTC.",
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
        header("Range", "A single range of bytes. Anything else is ignored.", "bytes=0-1023"),
        header("If-Range", "The `ETag` of the image to which `Range` applies; for another, `Range` is ignored.", IMAGE_TAG),
        header(IF_NONE_MATCH, "The `ETag` of the client's copy of the image: if it matches, the answer is 304.", IMAGE_TAG),
    ];
    /// Which response the client has already.
    IfNoneMatch = [header(
        IF_NONE_MATCH, "The `ETag` of the client's copy: if that is still valid, the answer is 304.", TAG,
    )];
    /// The topics of an event stream, and the event after which it resumes.
    StreamParameters = [
        required(query(
            "topics",
            "The topics to subscribe to, 1 to 50, separated by commas: `notifications`, `feed`, `public`, `post:{id}`.",
            text().min_length(Some(1)).examples([json!("notifications,feed")]),
        )),
        query(TICKET, "A ticket from `POST /api/events/ticket`, for clients that cannot send `Authorization`.", text()),
        query("lastEventId", "Like `Last-Event-ID`, for clients that cannot send it. The header takes precedence.", text()),
        header(LAST_EVENT_ID, "The id that was received last: the stream resumes after it.", "1a2b3c-4d"),
    ];
    /// The version to which an edit applies.
    IfMatchHeader = [header(
        IF_MATCH,
        "The `ETag` of the version to be changed: if it was changed since, the answer is 412. Without it, or with `*`, the \
         last edit wins.",
        TAG,
    )];
}

/// Examples of entity tags: of something that can be edited, and of an image.
const TAG: &str = "W/\"1980b7a5f6c-8f3a1c5b7d9e0246\"";
const IMAGE_TAG: &str = "\"0f1e2d3c4b5a69788796a5b4c3d2e1f0.png\"";

/// Returns the header `Idempotency-Key`.
pub(crate) fn idempotency_key() -> Parameter {
    let description = "A word of your own that is new for each request, such as a UUID. For 24 hours the same request under \
                       the same key has no further effect, and returns what it created in its present state; see the section \
                       on retries.";
    let schema = text().min_length(Some(1)).max_length(Some(IdempotencyKey::MAX)).pattern(Some("^[!-~]+$"));
    optional("Idempotency-Key", ParameterIn::Header, description, schema)
}

/// Returns the parameter of this name in a path.
pub(crate) fn in_path(name: &str) -> Parameter {
    let id = || text().format(format("uuid"));
    let (description, schema) = match name {
        "category" => ("The category, in any letter case.", category().min_length(Some(1))),
        "key" => {
            ("The key of the image, from its URL.", text().examples([json!("0f1e2d3c4b5a69788796a5b4c3d2e1f0.png")]))
        }
        "tag" => (
            "The hashtag in any letter case, with or without `#`, which is `%23` in a path.",
            text().min_length(Some(1)).max_length(Some(Hashtag::MAX_FOLDED_CHARS + 1)).examples([json!("rust")]),
        ),
        "file" => ("The name of the file.", text().examples([json!("swagger-ui.css")])),
        "commentId" => ("The id of the comment.", id()),
        "mailId" => ("The id of the mail.", id()),
        "followedId" => ("The id of the user to follow or unfollow.", id()),
        "notificationId" => ("The id of the notification.", id()),
        "postId" => ("The id of the post.", id()),
        "reportId" => ("The id of the report.", id()),
        "sessionId" => ("The id of the session.", id()),
        "userId" => ("The id of the user.", id()),
        _ => ("The id.", id()),
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
    let description = format!("The maximum number of entries. {default_text}");
    optional("size", ParameterIn::Query, description.trim_end(), schema)
}

fn cursor() -> Parameter {
    let description = "The position of the page, from a URL in the `Link` header of a neighbouring page. It is valid for the \
                       list that it was made for.";
    query("cursor", description, text())
}
