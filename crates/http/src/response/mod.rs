//! What is answered: envelopes, lists, tags, and how the domain's values look as JSON, with their schemas. It uses `core`,
//! `transport` and `request`.

mod conditional;
pub(crate) mod envelope;
pub(crate) mod etag;
pub(crate) mod failures;
pub(crate) mod files;
pub(crate) mod headers;
mod list;
mod schemas;
mod views;

pub(crate) use self::{
    conditional::{Cache, Conditional},
    envelope::{HandlerResult, Rendered, SUCCESS, done, empty_follow_list, empty_list, json, ok, respond},
    etag::{tag_of, version_tag},
    failures::{NotFound, RangeNotSatisfiable, Unauthorized},
    files::{Document, Image, Page, PagePart, ToPage},
    headers::ResponseHeader,
    list::{Entry, JsonList, ListReads, ListRequest, MAX_BODY, head_only},
    schemas::{
        AdminPostsAnswer, CommentsAnswer, Done, FollowAnswer, FollowsAnswer, LikersAnswer, PostAnswer, PostsAnswer,
        UserAnswer, UsersAnswer,
    },
    views::{
        AdminAuthorBody, AdminPost, AuthorBody, CommentBody, Instant, LikerBody, Post, PostBody, UserBody,
        UserSummaryBody, views,
    },
};
