//! `/api/comments`: comments on posts.

use actix_web::web::Data;
use agora_domain::{
    Error, FieldErrors,
    accounts::Member,
    comments::{CommentTarget, CommentText, CommentView},
    error::Violation,
    id::{CommentId, PostId},
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    body::Body,
    cursor::List,
    envelope::{Answer, Rendered, SUCCESS, done, linked, ok, respond},
    extract::{Auth, PathId},
    idempotency::Attempt,
    json::{Fields, Given},
    paging::Query,
    render::{Instant, PostBody, UserSummaryBody},
    state::State,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommentJson {
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
    fn for_create(self) -> agora_domain::Result<(PostId, CommentText)> {
        let mut fields = Fields::default();
        let post = fields.uuid("postId", self.post_id);
        fields.require("postId", post.is_some(), "postId is required");
        let content = fields.text("content", self.content);
        let content = fields.finish(parse_content(content))?;
        // With an invalid one, finishing has failed.
        let post = post.ok_or_else(|| Error::field("postId", "postId is required"))?;
        Ok((post.into(), content))
    }

    fn for_update(self) -> agora_domain::Result<(CommentTarget, CommentText)> {
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

/// A comment with the post it is on, which is the same in every entry of a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CommentBody<'a> {
    id: Uuid,
    content: &'a str,
    author: UserSummaryBody<'a>,
    created_at: Instant,
    updated_at: Instant,
    post: &'a PostBody<'a, UserSummaryBody<'a>>,
}

impl<'a> CommentBody<'a> {
    fn of(view: &'a CommentView, post: &'a PostBody<'a, UserSummaryBody<'a>>) -> Self {
        Self {
            id: view.comment.id.uuid(),
            content: view.comment.content.as_str(),
            author: UserSummaryBody::of(&view.author),
            created_at: Instant(view.comment.created_at),
            updated_at: Instant(view.comment.updated_at),
            post,
        }
    }
}

/// `POST /api/comments/create`
pub(crate) async fn create(state: Data<State>, Auth(caller): Auth<Member>, attempt: Attempt, body: Body) -> Answer {
    let (post, content) = body.json::<CommentJson>().await?.for_create()?;
    let answer = |&(): &()| Rendered::created("Comment created successfully", ());
    state.services.comments.create(&caller, post, content, attempt.once(answer)).await?;
    respond(answer(&()))
}

/// `GET /api/comments/all/{postId}`
pub(crate) async fn list(state: Data<State>, Auth(caller): Auth<Member>, id: PathId<PostId>, query: Query) -> Answer {
    let found = state.services.comments.list(&caller, id.get(), query.page(List::Comments)?).await?;
    let post = PostBody::of(&found.post, &state, UserSummaryBody::of_author);
    let comments: Vec<_> = found.comments.items.iter().map(|view| CommentBody::of(view, &post)).collect();
    linked(ok(SUCCESS, comments), &query, &state.settings, List::Comments, &found.comments)
}

/// `PUT /api/comments/update`
pub(crate) async fn update(state: Data<State>, Auth(caller): Auth<Member>, body: Body) -> Answer {
    let (target, content) = body.json::<CommentJson>().await?.for_update()?;
    state.services.comments.update(&caller, target, &content).await?;
    done("Comment updated successfully")
}

/// `DELETE /api/comments/delete/{commentId}`
pub(crate) async fn delete(state: Data<State>, Auth(caller): Auth<Member>, id: PathId<CommentId>) -> Answer {
    state.services.comments.delete(&caller, id.get()).await?;
    done("Comment deleted successfully")
}
