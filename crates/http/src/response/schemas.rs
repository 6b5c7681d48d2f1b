//! The schemas of successful responses, for the OpenAPI document alone. What they hold is described where it is rendered; here is what it is wrapped
//! in, under the names that clients made from the document get to see.

#![expect(dead_code, reason = "these describe what `envelope` writes")]

use utoipa::ToSchema;

use crate::core::schema;
use crate::response::{AdminPost, CommentBody, LikerBody, Post, UserBody, UserSummaryBody};

macro_rules! answers {
    ($($(#[doc = $doc:literal])+ $name:ident $(($success:ident))? { $data:ty $([$($schema:tt)+])? })+) => {$(
        $(#[doc = $doc])+
        #[derive(ToSchema)]
        pub(crate) struct $name {
            $(
                #[schema(schema_with = schema::succeeded)]
                $success: bool,
            )?
            #[schema(schema_with = schema::message)]
            message: String,
            $(#[schema(schema_with = $($schema)+)])?
            data: $data,
        }
    )+};
}

answers! {
    /// An account.
    UserAnswer { UserBody<'static> }
    /// Accounts.
    UsersAnswer { Vec<UserBody<'static>> }
    /// A post.
    PostAnswer { Post }
    /// Posts.
    PostsAnswer { Vec<Post> }
    /// Posts as administrators see them.
    AdminPostsAnswer { Vec<AdminPost> }
    /// Users who like a post.
    LikersAnswer { Vec<LikerBody<'static>> }
    /// Comments.
    CommentsAnswer { Vec<CommentBody<'static>> }
    /// The operation was carried out and returns no data.
    Done { () [schema::null] }
    /// The relation is now as the message says.
    FollowAnswer(success) { () [schema::null] }
    /// Users who follow or are followed.
    FollowsAnswer(success) { Vec<UserSummaryBody<'static>> }
}
