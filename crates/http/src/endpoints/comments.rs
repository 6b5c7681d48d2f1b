//! `/api/comments`: comments on posts.

use std::cell::OnceCell;

use actix_web::web::Data;
use agora_domain::{
    Error, FieldErrors,
    accounts::Member,
    comments::{CommentTarget, CommentText, CommentView},
    error::Violation,
    id::{CommentId, PostId},
};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::{
    core::state::State,
    middleware::idempotency::Attempt,
    request::{
        body::Body,
        cursor::List,
        extract::{Auth, PathId},
        json::{Fields, Given},
        parameters::Paging,
        schemas,
    },
    response::{
        answers::{CommentsAnswer, Done},
        comment_view::CommentBody,
        envelope::{Answer, Rendered, SUCCESS, done, empty_list, respond},
        failures::NotFound,
        list::{Entry, ListRequest},
        views::{PostBody, UserSummaryBody},
    },
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommentJson {
    #[serde(default)]
    comment_id: Given<String>,
    #[serde(default)]
    id: Given<String>,
    #[serde(default)]
    post_id: Given<String>,
    #[serde(default)]
    content: Given<String>,
}

fn parse_content(content: Option<String>) -> Result<CommentText, FieldErrors> {
    let mut errors = FieldErrors::default();
    let parsed: Result<_, Violation> = CommentText::parse(content.as_deref().unwrap_or_default());
    errors.check("content", parsed).ok_or(errors)
}

impl CommentJson {
    pub(crate) fn for_create(self) -> agora_domain::Result<(PostId, CommentText)> {
        let mut fields = Fields::default();
        let post = fields.uuid("postId", self.post_id);
        fields.require("postId", post.is_some(), "postId is required");
        let content = fields.text("content", self.content);
        let content = fields.finish(parse_content(content))?;
        // With an invalid one, finishing has failed.
        let post = post.ok_or_else(|| Error::field("postId", "postId is required"))?;
        Ok((post.into(), content))
    }

    pub(crate) fn for_update(self) -> agora_domain::Result<(CommentTarget, CommentText)> {
        let mut fields = Fields::default();
        let target = match (self.comment_id.or(self.id), self.post_id) {
            (Given::Missing, post @ (Given::Value(_) | Given::WrongType)) => {
                fields.uuid("postId", post).map(|id| CommentTarget::NewestOn(id.into()))
            }
            (id, _) => {
                let id = fields.uuid("commentId", id);
                fields.require("commentId", id.is_some(), "commentId is required");
                id.map(|id| CommentTarget::Comment(id.into()))
            }
        };
        let content = fields.text("content", self.content);
        let content = fields.finish(parse_content(content))?;
        // With an invalid one, finishing has failed.
        let target = target.ok_or_else(|| Error::field("commentId", "commentId is required"))?;
        Ok((target, content))
    }
}

/// Comment on a post
///
/// For those who may view the post.
#[utoipa::path(
    post, path = "/api/comments/create", operation_id = "createComment", tag = "Comments",
    request_body = schemas::NewComment,
    responses((status = 201, description = "`Comment created successfully`", body = Done), NotFound),
)]
pub(crate) async fn create(state: Data<State>, Auth(caller): Auth<Member>, attempt: Attempt, body: Body) -> Answer {
    let (post, content) = body.json::<CommentJson>().await?.for_create()?;
    let answer = |&(): &()| Rendered::created("Comment created successfully", ());
    state.services.comments.create(&caller, post, content, attempt.once(answer)).await?;
    respond(answer(&()))
}

/// List the comments on a post
///
/// Oldest first, each with the post. For those who may view the post.
#[utoipa::path(
    get, path = "/api/comments/all/{postId}", operation_id = "listComments", tag = "Comments",
    params(Paging),
    responses((status = 200, description = "A page of comments.", body = CommentsAnswer), NotFound),
)]
pub(crate) async fn list(request: ListRequest, Auth(caller): Auth<Member>, id: PathId<PostId>) -> Answer {
    let (state, page) = (&request.state, request.query.page(List::Comments)?);
    let post = OnceCell::<Box<RawValue>>::new();
    let read = async |page| {
        let found = state.services.comments.list(&caller, id.get(), page).await?;
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

/// Change a comment
///
/// For its author. The comment is named by `commentId`, or by `postId` alone as the newest of the caller on that
/// post.
#[utoipa::path(
    put, path = "/api/comments/update", operation_id = "updateComment", tag = "Comments",
    request_body = schemas::CommentChange,
    responses((status = 200, description = "`Comment updated successfully`", body = Done), NotFound),
)]
pub(crate) async fn update(state: Data<State>, Auth(caller): Auth<Member>, body: Body) -> Answer {
    let (target, content) = body.json::<CommentJson>().await?.for_update()?;
    state.services.comments.update(&caller, target, &content).await?;
    done("Comment updated successfully")
}

/// Delete a comment
///
/// For its author and for the author of the post.
#[utoipa::path(
    delete, path = "/api/comments/delete/{commentId}", operation_id = "deleteComment", tag = "Comments",
    responses((status = 200, description = "`Comment deleted successfully`", body = Done), NotFound),
)]
pub(crate) async fn delete(state: Data<State>, Auth(caller): Auth<Member>, id: PathId<CommentId>) -> Answer {
    state.services.comments.delete(&caller, id.get()).await?;
    done("Comment deleted successfully")
}
