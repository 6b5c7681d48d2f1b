//! Responses: envelopes, lists, entity tags, and the JSON of the domain's values with its schemas. This layer uses `core`,
//! `transport` and `request`.

mod conditional;
pub(crate) mod envelope;
pub(crate) mod etag;
pub(crate) mod failures;
pub(crate) mod files;
pub(crate) mod headers;
pub(crate) mod list;
mod schemas;
mod views;

pub(crate) use self::conditional::{Cache, Conditional};
pub(crate) use self::envelope::{
    HandlerResult, Rendered, SUCCESS, done, empty_follow_list, empty_list, json, ok, respond,
};
pub(crate) use self::etag::{derived_tag, version_tag};
pub(crate) use self::failures::{NotFound, Unauthorized};
pub(crate) use self::files::{Archive, BackupArchive, Document, Events, Image, Page, PagePart, ToPage};
pub(crate) use self::headers::{ResponseHeader, UNBUFFERED};
pub(crate) use self::list::{Entry, ListReads, ListRequest, head_only};
pub(crate) use self::schemas::{
    AdminPostsAnswer, CommentsAnswer, Done, FollowAnswer, FollowsAnswer, LikersAnswer, MinisAnswer, PostAnswer,
    PostsAnswer, PostsByPublicAuthorsAnswer, ProfileAnswer, ProfilesAnswer, ThreadedCommentAnswer,
    ThreadedCommentsAnswer, UserAnswer, UsersAnswer, answers,
};
pub(crate) use self::views::{
    AdminAuthorBody, AdminPost, AttachmentBody, AuthorBody, CommentBody, EntityBody, Instant, LikerBody, MiniBody,
    Post, PostBody, PostByPublicAuthor, ProfileBody, PublicAuthorBody, RelationshipBody, ThreadedCommentBody, UserBody,
    UserSummaryBody, image_url, views,
};
