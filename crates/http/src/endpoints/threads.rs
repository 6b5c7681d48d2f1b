//! `/api/posts/{postId}/comments`, `/api/comments/{commentId}/…`: comments in threads, and their likes.

use actix_web::web::Data;
use agora_domain::accounts::{Member, UserPreview};
use agora_domain::comments::{CommentOrder, CommentText, ThreadedComment};
use agora_domain::error::{FieldName, Violation, ViolationKind};
use agora_domain::id::{CommentId, PostId, UserId};
use agora_domain::page::{Page, PageRequest};
use agora_domain::{Error, FieldErrors};
use garde::Validate;
use serde::Deserialize;
use utoipa::ToSchema;

use super::comments::COMMENT_CREATED;
use crate::core::{ApiError, State, schema};
use crate::middleware::RequestAttempt;
use crate::request::{
    Auth, Body, CommentAuthorQuery, CommentPaging, Field, List, PathId, Query, ShortPaging, optional, parse_uuid,
    required,
};
use crate::response::{
    Done, Entry, HandlerResult, ListRequest, MiniBody, MinisAnswer, NotFound, Rendered, SUCCESS, ThreadedCommentAnswer,
    ThreadedCommentBody, ThreadedCommentsAnswer, done, empty_list, respond,
};

/// A comment on a post, or a reply to one.
#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewThreadedComment {
    #[garde(custom(required))]
    #[schema(schema_with = schema::comment_text)]
    content: Field<CommentText>,
    /// The id of the comment on the same post to reply to.
    #[garde(custom(optional))]
    #[schema(value_type = Uuid, required = false)]
    reply_to_id: Field<CommentId>,
}

/// Comment on a post, or reply to a comment
///
/// Threads have one level: a reply to a reply joins the same thread. For those who may view the post.
#[utoipa::path(get, path = "", operation_id = "createThreadedComment", tag = "Comments",
    request_body = NewThreadedComment,
    responses((status = 201, description = "`Comment created successfully`", body = ThreadedCommentAnswer), NotFound))]
pub(crate) async fn create(
    state: Data<State>,
    caller: Auth<Member>,
    RequestAttempt(attempt): RequestAttempt,
    id: PathId<PostId>,
    body: Body,
) -> HandlerResult {
    let comments = &state.services.comments;
    let commenting = comments.begin(&caller, id.0, attempt).await?;
    let NewThreadedComment { content, reply_to_id } = body.valid_json().await?;
    let created = comments.create(&caller, commenting, content.validated()?, reply_to_id.value()).await?;
    let comment = comments.get(&caller, created).await?;
    respond(Rendered::created(COMMENT_CREATED, ThreadedCommentBody::of(&comment, &state)))
}

/// List the top-level comments on a post
///
/// Without the replies to them. For those who may view the post.
#[utoipa::path(get, path = "", operation_id = "listThreads", tag = "Comments", params(CommentPaging),
    responses((status = 200, description = "A page of comments.", body = ThreadedCommentsAnswer), NotFound))]
pub(crate) async fn list(request: ListRequest, caller: Auth<Member>, id: PathId<PostId>) -> HandlerResult {
    let (comments, (order, page)) = (&request.state.services.comments, comment_page(&request.query)?);
    page_of_comments(&request, page, async |page| comments.list_top_level(&caller, id.0, order, page).await).await
}

fn comment_page(query: &Query) -> Result<(CommentOrder, PageRequest), ApiError> {
    let mut errors = FieldErrors::default();
    let order = errors.check_optional(FieldName::Order, query.get(FieldName::Order), str::parse);
    Ok((order.unwrap_or_default(), query.short_page_with(List::Comments, errors)?))
}

/// List the replies in a thread
///
/// Oldest first. For a reply, the replies in its thread. For those who may view the post.
#[utoipa::path(get, path = "", operation_id = "listReplies", tag = "Comments", params(ShortPaging),
    responses((status = 200, description = "A page of comments.", body = ThreadedCommentsAnswer), NotFound))]
pub(crate) async fn list_replies(request: ListRequest, caller: Auth<Member>, id: PathId<CommentId>) -> HandlerResult {
    let (comments, page) = (&request.state.services.comments, request.query.short_page(List::Comments)?);
    page_of_comments(&request, page, async |page| comments.list_replies(&caller, id.0, page).await).await
}

async fn page_of_comments(
    request: &ListRequest,
    page: PageRequest,
    read: impl AsyncFnMut(PageRequest) -> agora_domain::Result<Page<ThreadedComment>>,
) -> HandlerResult {
    let render =
        |comment: &ThreadedComment, entry: Entry<'_>| entry.write(&ThreadedCommentBody::of(comment, &request.state));
    request.answer(List::Comments, page, |_| empty_list(SUCCESS), read, render).await
}

/// Delete all comments of a user on a post
///
/// For the author of the post. The replies in their threads are deleted too. This also deletes comments that the author cannot
/// see because the user blocks the author, or the author the user.
#[utoipa::path(get, path = "", operation_id = "deleteCommentsOfUser", tag = "Comments", params(CommentAuthorQuery),
    responses((status = 200, description = "`Comments deleted successfully`", body = Done), NotFound))]
pub(crate) async fn delete_by(request: ListRequest, caller: Auth<Member>, id: PathId<PostId>) -> HandlerResult {
    let given = request.query.get(FieldName::CommentAuthor).unwrap_or_default();
    let kind = if given.trim().is_empty() { ViolationKind::Required } else { ViolationKind::InvalidFormat };
    let violation = || Violation::new(kind, "author must be a UUID");
    let author = parse_uuid(given).map(UserId::new);
    let author = author.ok_or_else(|| Error::field(FieldName::CommentAuthor, violation()))?;
    request.state.services.comments.delete_by(&caller, id.0, author).await?;
    done("Comments deleted successfully")
}

/// Like a comment
///
/// Safe to repeat. For those who may view the post.
#[utoipa::path(get, path = "", operation_id = "likeComment", tag = "Comments",
    responses((status = 200, description = "`Comment liked successfully`", body = Done), NotFound))]
pub(crate) async fn like(state: Data<State>, caller: Auth<Member>, id: PathId<CommentId>) -> HandlerResult {
    state.services.comments.like(&caller, id.0).await?;
    done("Comment liked successfully")
}

/// Unlike a comment
///
/// Safe to repeat. For those who may view the post.
#[utoipa::path(get, path = "", operation_id = "unlikeComment", tag = "Comments",
    responses((status = 200, description = "`Comment unliked successfully`", body = Done), NotFound))]
pub(crate) async fn unlike(state: Data<State>, caller: Auth<Member>, id: PathId<CommentId>) -> HandlerResult {
    state.services.comments.unlike(&caller, id.0).await?;
    done("Comment unliked successfully")
}

/// List the users who like a comment
///
/// Newest like first. For those who may view the post.
#[utoipa::path(get, path = "", operation_id = "listCommentLikers", tag = "Comments", params(ShortPaging),
    responses((status = 200, description = "A page of users.", body = MinisAnswer), NotFound))]
pub(crate) async fn list_likers(request: ListRequest, caller: Auth<Member>, id: PathId<CommentId>) -> HandlerResult {
    let (state, page) = (&request.state, request.query.short_page(List::Likes)?);
    let read = async |page| state.services.comments.list_likers(&caller, id.0, page).await;
    let render = |user: &UserPreview, entry: Entry<'_>| entry.write(&MiniBody::of(user, state));
    request.answer(List::Likes, page, |_| empty_list(SUCCESS), read, render).await
}
