//! `/api/comments`: comments on posts.

use std::cell::OnceCell;

use actix_web::web::Data;
use agora_domain::Error;
use agora_domain::accounts::Member;
use agora_domain::comments::{CommentTarget, CommentText, CommentView};
use agora_domain::id::{CommentId, PostId};
use garde::Validate;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use utoipa::ToSchema;

use crate::core::{State, schema};
use crate::middleware::RequestAttempt;
use crate::request::{Auth, Body, Field, List, Paging, PathId, optional, required};
use crate::response::{
    CommentBody, CommentsAnswer, Done, Entry, HandlerResult, ListRequest, NotFound, PostBody, Rendered, SUCCESS,
    UserSummaryBody, done, empty_list, respond,
};

pub(super) const COMMENT_CREATED: &str = "Comment created successfully";

/// A comment on a post.
#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewComment {
    /// The id of the post.
    #[garde(custom(required))]
    #[schema(value_type = Uuid)]
    post_id: Field<PostId>,
    #[garde(custom(required))]
    #[schema(schema_with = schema::comment_text)]
    content: Field<CommentText>,
}

/// A new text of a comment: the one with the id `commentId`, or with `postId` alone, the caller's newest on that post.
#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommentChange {
    /// The id of the comment. With it, `postId` is ignored.
    #[garde(custom(|field, context: &()| self.validate_target(field, context)))]
    #[schema(value_type = Uuid, required = false)]
    comment_id: Field<CommentId>,
    /// An alias of `commentId`, used if that is absent.
    #[garde(skip)]
    #[schema(value_type = Uuid, required = false)]
    id: Field<CommentId>,
    /// The id of the post whose newest comment by the caller is changed.
    #[garde(custom(|field, context: &()| if self.names_post() { optional(field, context) } else { Ok(()) }))]
    #[schema(value_type = Uuid, required = false)]
    post_id: Field<PostId>,
    #[garde(custom(required))]
    #[schema(schema_with = schema::comment_text)]
    content: Field<CommentText>,
}

impl CommentChange {
    /// Returns whether the comment is named by its post alone.
    fn names_post(&self) -> bool {
        self.comment_id.is_empty() && self.id.is_empty() && !matches!(self.post_id, Field::Missing)
    }

    fn validate_target(&self, comment: &Field<CommentId>, context: &()) -> garde::Result {
        if self.names_post() {
            return Ok(());
        }
        match comment.or_ref(&self.id) {
            empty if empty.is_empty() => required(&Field::<CommentId>::Missing, context),
            given => optional(given, context),
        }
    }

    fn into_parts(self) -> agora_domain::Result<(CommentTarget, CommentText)> {
        let target = if self.names_post() {
            CommentTarget::NewestOn(self.post_id.validated()?)
        } else {
            CommentTarget::Comment(self.comment_id.or(self.id).validated()?)
        };
        Ok((target, self.content.validated()?))
    }
}

/// Comment on a post
///
/// For those who may view the post.
#[utoipa::path(get, path = "", operation_id = "createComment", tag = "Comments", request_body = NewComment,
    responses((status = 201, description = "`Comment created successfully`", body = Done), NotFound))]
pub(crate) async fn create(
    state: Data<State>,
    caller: Auth<Member>,
    RequestAttempt(attempt): RequestAttempt,
    body: Body,
) -> HandlerResult {
    let NewComment { post_id, content } = body.valid_json().await?;
    let (post, content) = (post_id.validated()?, content.validated()?);
    let comments = &state.services.comments;
    let commenting = comments.begin(&caller, post, attempt).await?;
    comments.create(&caller, commenting, content, None).await?;
    respond(Rendered::created(COMMENT_CREATED, ()))
}

/// List the comments on a post
///
/// All comments and replies in one list, oldest first, each with the post. For those who may view the post.
#[utoipa::path(get, path = "", operation_id = "listComments", tag = "Comments", params(Paging),
    responses((status = 200, description = "A page of comments.", body = CommentsAnswer), NotFound))]
pub(crate) async fn list(request: ListRequest, caller: Auth<Member>, id: PathId<PostId>) -> HandlerResult {
    let (state, page) = (&request.state, request.query.page(List::Comments)?);
    let post = OnceCell::<Box<RawValue>>::new();
    let read = async |page| {
        let found = state.services.comments.list(&caller, id.0, page).await?;
        if post.get().is_none() {
            let rendered = to_raw_value(&PostBody::of(&found.post, state, UserSummaryBody::of_author));
            post.set(rendered.map_err(Error::internal)?).ok();
        }
        Ok(found.comments)
    };
    let render = |view: &CommentView, entry: Entry<'_>| {
        entry.write(&CommentBody::of(view, post.get().map_or(RawValue::NULL, |post| post)))
    };
    request.answer(List::Comments, page, |_| empty_list(SUCCESS), read, render).await
}

/// Update a comment
///
/// For its author. The comment is the one with the id `commentId`, or with `postId` alone, the caller's newest on that post.
#[utoipa::path(get, path = "", operation_id = "updateComment", tag = "Comments", request_body = CommentChange,
    responses((status = 200, description = "`Comment updated successfully`", body = Done), NotFound))]
pub(crate) async fn update(state: Data<State>, caller: Auth<Member>, body: Body) -> HandlerResult {
    let (target, content) = body.valid_json::<CommentChange>().await?.into_parts()?;
    state.services.comments.update(&caller, target, &content).await?;
    done("Comment updated successfully")
}

/// Delete a comment
///
/// For its author and the author of the post. A comment at the top of a thread is deleted with the replies in it.
#[utoipa::path(get, path = "", operation_id = "deleteComment", tag = "Comments",
    responses((status = 200, description = "`Comment deleted successfully`", body = Done), NotFound))]
pub(crate) async fn delete(state: Data<State>, caller: Auth<Member>, id: PathId<CommentId>) -> HandlerResult {
    state.services.comments.delete(&caller, id.0).await?;
    done("Comment deleted successfully")
}
