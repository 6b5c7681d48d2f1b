//! How a comment looks as JSON.

use agora_domain::comments::CommentView;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    core::schema,
    response::{CommentedPost, Instant, UserSummaryBody},
};

/// A comment with the post it is on, which is the same in every entry of a list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Comment)]
pub(crate) struct CommentBody<'a> {
    /// Names the comment.
    id: Uuid,
    #[schema(schema_with = schema::comment_text)]
    content: &'a str,
    author: UserSummaryBody<'a>,
    #[schema(schema_with = schema::created_at)]
    created_at: Instant,
    #[schema(schema_with = schema::updated_at)]
    updated_at: Instant,
    /// Rendered once for all entries.
    #[schema(value_type = CommentedPost)]
    post: &'a RawValue,
}

impl<'a> CommentBody<'a> {
    pub(crate) fn of(view: &'a CommentView, post: &'a RawValue) -> Self {
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
