//! `/api/admin/posts/{postId}/hidden`, `/api/admin/comments/{commentId}/hidden`: posts and comments that administrators hide.

use actix_web::web::Data;
use agora_domain::accounts::Admin;
use agora_domain::audit::{Hiding, Reason};
use agora_domain::id::{CommentId, PostId};
use garde::Validate;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::core::{State, schema};
use crate::request::{Auth, Body, Field, PathId, required};
use crate::response::{Done, HandlerResult, NotFound, SUCCESS, done};

/// Whether a post or comment is hidden, and why.
#[derive(Deserialize, Validate, ToSchema)]
pub(crate) struct HiddenChange {
    #[garde(custom(required))]
    #[schema(schema_with = schema::hidden)]
    hidden: Field<bool>,
    #[garde(custom(required))]
    #[schema(schema_with = schema::reason)]
    reason: Field<Reason>,
}

impl HiddenChange {
    fn hiding(self) -> agora_domain::Result<Hiding> {
        Ok(Hiding { hidden: self.hidden.validated()?, reason: self.reason.validated()? })
    }
}

/// Hide or show a post
///
/// A hidden post is 404 for everybody but administrators and its author, who may delete it but not change it. The URLs of its
/// images stop working; if the post is shown again, its images have new URLs. Safe to repeat.
#[utoipa::path(get, path = "", operation_id = "setPostHidden", tag = "Administration", request_body = HiddenChange,
    responses((status = 200, description = "`success`", body = Done), NotFound))]
pub(crate) async fn set_post_hidden(
    state: Data<State>,
    admin: Auth<Admin>,
    id: PathId<PostId>,
    body: Body,
) -> HandlerResult {
    let post = state.services.posts.managed(&admin, id.0).await?;
    let hiding = body.valid_json::<HiddenChange>().await?.hiding()?;
    let kept = state.services.posts.set_hidden(post, &hiding).await?;
    if kept > 0 {
        tracing::warn!(post = %id.0.uuid(), images = kept, "hid a post, but could not change the addresses of its images");
    }
    done(SUCCESS)
}

/// Hide or show a comment
///
/// A comment at the top of a thread is hidden with the thread. A hidden comment is 404 for everybody but administrators and its
/// author, who may delete it but not change it; nobody can reply to it. Safe to repeat.
#[utoipa::path(get, path = "", operation_id = "setCommentHidden", tag = "Administration", request_body = HiddenChange,
    responses((status = 200, description = "`success`", body = Done), NotFound))]
pub(crate) async fn set_comment_hidden(
    state: Data<State>,
    admin: Auth<Admin>,
    id: PathId<CommentId>,
    body: Body,
) -> HandlerResult {
    let comment = state.services.comments.managed(&admin, id.0).await?;
    let hiding = body.valid_json::<HiddenChange>().await?.hiding()?;
    state.services.comments.set_hidden(comment, &hiding).await?;
    done(SUCCESS)
}
