//! The schemas of successful responses, used by the OpenAPI document alone. The data is described where it is rendered; the types
//! here describe the envelopes around it. Their names become type names in generated clients.

use crate::core::schema;
use crate::response::{
    AdminPost, CommentBody, LikerBody, MiniBody, Post, PostByPublicAuthor, ProfileBody, ThreadedCommentBody, UserBody,
    UserSummaryBody,
};

/// Declares envelopes: the name, the type of `data`, and optionally its schema. With `(success)`, they have a field `success`.
macro_rules! answers {
    ($($(#[doc = $doc:literal])+ $name:ident $(($success:ident))? { $data:ty $([$($schema:tt)+])? })+) => {$(
        $(#[doc = $doc])+
        #[derive(utoipa::ToSchema)]
        #[expect(dead_code, reason = "describes what `envelope` writes")]
        pub(crate) struct $name {
            $(
                #[schema(schema_with = crate::core::schema::succeeded)]
                $success: bool,
            )?
            #[schema(schema_with = crate::core::schema::message)]
            message: String,
            $(#[schema(schema_with = $($schema)+)])?
            data: $data,
        }
    )+};
}

pub(crate) use answers;

answers! {
    /// An account.
    UserAnswer { UserBody<'static> }
    /// Accounts.
    UsersAnswer { Vec<UserBody<'static>> }
    /// The profile of a user, as the caller sees it.
    ProfileAnswer { ProfileBody<'static> }
    /// Profiles of users, as the caller sees them.
    ProfilesAnswer { Vec<ProfileBody<'static>> }
    /// A post.
    PostAnswer { Post }
    /// Posts.
    PostsAnswer { Vec<Post> }
    /// Posts, without the email addresses of their authors.
    PostsByPublicAuthorsAnswer { Vec<PostByPublicAuthor> }
    /// Posts, with the roles and the status of their authors.
    AdminPostsAnswer { Vec<AdminPost> }
    /// Users who like a post.
    LikersAnswer { Vec<LikerBody<'static>> }
    /// Comments.
    CommentsAnswer { Vec<CommentBody<'static>> }
    /// A comment in its thread.
    ThreadedCommentAnswer { ThreadedCommentBody<'static> }
    /// Comments in their threads.
    ThreadedCommentsAnswer { Vec<ThreadedCommentBody<'static>> }
    /// Users.
    MinisAnswer { Vec<MiniBody<'static>> }
    /// The operation was carried out and returns no data.
    Done { () [schema::null] }
    /// The caller now follows the user or not, as the message says.
    FollowAnswer(success) { () [schema::null] }
    /// Users who follow or are followed.
    FollowsAnswer(success) { Vec<UserSummaryBody<'static>> }
}
