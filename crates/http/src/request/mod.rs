//! Reads requests: the body as JSON or as a form, the path, the query and the conditional headers. It uses `core` and
//! `transport`.

mod body;
pub(crate) mod body_deadline;
pub(crate) mod cursor;
mod extract;
mod field;
pub(crate) mod multipart;
pub(crate) mod paging;
pub(crate) mod parameters;
pub(crate) mod preconditions;

pub(crate) use self::body::{Body, ContentType, parse_object};
pub(crate) use self::body_deadline::{BodyDeadline, await_body, is_too_slow, with_deadline};
pub(crate) use self::cursor::List;
pub(crate) use self::extract::{
    Auth, AuthenticatedUntil, ClientUserAgent, PathId, PathTag, PathText, RequestedBy, parse_uuid,
};
pub(crate) use self::field::{Field, VariantInput, optional, required, violations};
pub(crate) use self::multipart::{FormBody, Submission};
pub(crate) use self::paging::Query;
pub(crate) use self::paging::parse_instant;
pub(crate) use self::parameters::{
    AuditLogFilter, CategoryFilter, CommentAuthorQuery, CommentPaging, FeedPaging, IfMatchHeader, IfNoneMatch,
    ImageConditions, MailFilter, NotificationFilter, Paging, ReportFilter, SearchQuery, ShortPaging, StreamParameters,
    TICKET, TextFilter, UserIdsQuery, UsernameQuery,
};
pub(crate) use self::preconditions::IfMatch;
