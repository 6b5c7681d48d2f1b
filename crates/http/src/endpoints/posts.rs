//! `/api/posts`: posts and likes.
//!
//! Methods and paths are in [`routes`](crate::routes); those in `#[utoipa::path]` are placeholders (see the module above).

use actix_web::web::Data;
use agora_domain::accounts::{Account, Admin, Member};
use agora_domain::error::FieldName;
use agora_domain::id::{PostId, UserId};
use agora_domain::media::MediaIds;
use agora_domain::page::{Page, PageRequest};
use agora_domain::posts::{FeedRequest, Liker, PostFields, PostText, PostView, Visibility};
use garde::Validate;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::core::{ApiError, State, schema, schema_variants, spelling};
use crate::middleware::RequestAttempt;
use crate::request::{
    Auth, Body, FeedPaging, Field, FormBody, IfMatch, IfMatchHeader, IfNoneMatch, List, Paging, PathId, PathTag,
    RequestedBy, ShortPaging, Submission, optional,
};
use crate::response::{
    AdminAuthorBody, AdminPostsAnswer, Cache, Conditional, Done, Entry, HandlerResult, LikerBody, LikersAnswer,
    ListRequest, NotFound, PostAnswer, PostBody, PostsAnswer, PostsByPublicAuthorsAnswer, Rendered, SUCCESS, done,
    empty_list,
};

// This type is also the body of a request to create a post. In the OpenAPI document, `NewPost` and the forms below are its
// variants.
/// Changes to a post. Absent fields stay as they are.
#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PostChange)]
pub(crate) struct PostRequest {
    #[garde(custom(|field, context: &()| optional(Field::or_ref(field, &self.content), context)))]
    #[schema(schema_with = schema::form_text, required = false)]
    text: Field<PostText>,
    #[garde(skip)]
    #[schema(schema_with = schema::post_text_alias, required = false)]
    content: Field<PostText>,
    #[garde(custom(optional))]
    #[schema(schema_with = schema::visibility, required = false)]
    visibility: Field<Option<Visibility>>,
    /// True removes all images.
    #[garde(custom(optional))]
    #[schema(value_type = bool, required = false)]
    remove_image: Field<bool>,
    #[garde(custom(optional))]
    #[schema(schema_with = schema::media_ids, required = false)]
    media_ids: Field<MediaIds>,
}

impl FormBody for PostRequest {
    const TEXTS: &'static [FieldName] = &[FieldName::Text, FieldName::Visibility, FieldName::RemoveImage];
    const ALIASES: &'static [(&'static str, FieldName)] = &[("content", FieldName::Text)];
    const FLAGS: &'static [FieldName] = &[FieldName::RemoveImage];
    const IMAGE: FieldName = FieldName::Image;
}

schema_variants! {
    /// Changes to a post. Absent fields stay as they are.
    PostChangeForm of PostRequest: |form| {
        let remove = "`true` removes all images, unless the form has a new one.";
        schema::set(form, "removeImage", schema::boolean(remove));
        form.properties.remove(spelling(FieldName::Media));
        schema::set(form, spelling(PostRequest::IMAGE), schema::image_file());
    };
    /// A post with text, images that were uploaded before, or both.
    NewPost of PostRequest: |post| {
        post.properties.remove("removeImage");
        schema::set(post, "visibility", schema::new_visibility());
    };
    /// A post with text, an image, or both.
    NewPostForm of PostRequest: |form| {
        form.properties.remove("removeImage");
        form.properties.remove(spelling(FieldName::Media));
        schema::set(form, "visibility", schema::new_visibility());
        schema::set(form, spelling(PostRequest::IMAGE), schema::image_file());
    };
}

pub(crate) async fn post_fields(body: Body, max_image_bytes: usize) -> Result<PostFields, ApiError> {
    let Submission { body, image, errors } = body.form_or_json::<PostRequest>(max_image_bytes).await?;
    Ok(PostFields {
        text: body.text.or(body.content).value(),
        visibility: body.visibility.value().flatten(),
        image,
        media: body.media_ids.value(),
        remove_image: body.remove_image.value().unwrap_or_default(),
        errors,
    })
}

/// Responds with a page of posts, as in a user's list and the following feed.
async fn page_of_posts(
    request: &ListRequest,
    page: PageRequest,
    read: impl AsyncFnMut(PageRequest) -> agora_domain::Result<Page<PostView>>,
) -> HandlerResult {
    let render = |view: &PostView, entry: Entry<'_>| entry.write(&PostBody::with_author(view, &request.state));
    request.answer(List::Posts, page, |_| empty_list(SUCCESS), read, render).await
}

/// Responds with a page of posts, as in lists with posts of anybody: without the authors' email addresses.
pub(super) async fn page_by_public_authors(
    request: &ListRequest,
    list: List,
    page: PageRequest,
    read: impl AsyncFnMut(PageRequest) -> agora_domain::Result<Page<PostView>>,
) -> HandlerResult {
    let render = |view: &PostView, entry: Entry<'_>| entry.write(&PostBody::with_public_author(view, &request.state));
    request.answer(list, page, |_| empty_list(SUCCESS), read, render).await
}

/// Publish a post
///
/// A post has text, images, or both; without either it is not created (400). A form can contain one image. In JSON, `mediaIds`
/// names up to four images that were uploaded before (`POST /api/media`).
#[utoipa::path(get, path = "", operation_id = "createPost", tag = "Posts",
    request_body(content((NewPostForm = "multipart/form-data"), (NewPost = "application/json"))),
    responses((status = 201, description = "`Post created successfully`", body = PostAnswer), NotFound))]
pub(crate) async fn create(
    state: Data<State>,
    caller: Auth<Member>,
    RequestedBy(requester): RequestedBy,
    RequestAttempt(attempt): RequestAttempt,
    body: Body,
) -> HandlerResult {
    let fields = post_fields(body, state.max_image_bytes).await?;
    let view = state.services.posts.create(&caller, &requester, fields, attempt).await?;
    let rendered = Rendered::created("Post created successfully", PostBody::with_author(&view, &state))?;
    Ok(rendered.with_version(view.post.updated_at).into_response())
}

/// Get a post
///
/// For those who may view it: its author, every ADMIN, and those whom its visibility admits.
#[utoipa::path(get, path = "", operation_id = "getPost", tag = "Posts", params(IfNoneMatch),
    responses((status = 200, description = "The post.", body = PostAnswer), NotFound))]
pub(crate) async fn get(
    state: Data<State>,
    caller: Auth<Member>,
    id: PathId<PostId>,
    conditional: Conditional,
) -> HandlerResult {
    let view = state.services.posts.get(&caller, id.0).await?;
    let rendered = Rendered::ok(SUCCESS, PostBody::with_author(&view, &state))?;
    conditional.answer(Cache::Private, Some(view.post.updated_at), rendered)
}

/// List all posts
///
/// Newest first, with the roles and the status of their authors.
#[utoipa::path(get, path = "", operation_id = "listAllPosts", tag = "Posts", params(Paging),
    responses((status = 200, description = "A page of posts.", body = AdminPostsAnswer)))]
pub(crate) async fn list_all(request: ListRequest, admin: Auth<Admin>) -> HandlerResult {
    let (state, page) = (&request.state, request.query.page(List::Posts)?);
    let read = async |page| state.services.posts.list_all(&admin, page).await;
    let render =
        |view: &PostView<Account>, entry: Entry<'_>| entry.write(&PostBody::of(view, state, AdminAuthorBody::of));
    request.answer(List::Posts, page, |_| empty_list(SUCCESS), read, render).await
}

/// List the posts of a user
///
/// The posts that the caller may view, newest first.
#[utoipa::path(get, path = "", operation_id = "listUserPosts", tag = "Posts", params(Paging),
    responses((status = 200, description = "A page of posts.", body = PostsAnswer), NotFound))]
pub(crate) async fn list_by_author(request: ListRequest, caller: Auth<Member>, id: PathId<UserId>) -> HandlerResult {
    let (posts, page) = (&request.state.services.posts, request.query.page(List::Posts)?);
    page_of_posts(&request, page, async |page| posts.list_by_author(&caller, id.0, page).await).await
}

/// Get the public timeline
///
/// The PUBLIC posts of all accounts, newest first, except those of disabled accounts, of those that the caller mutes, and of
/// those that a block separates from the caller.
#[utoipa::path(get, path = "", operation_id = "listPublicPosts", tag = "Posts", params(ShortPaging),
    responses((status = 200, description = "A page of posts.", body = PostsByPublicAuthorsAnswer)))]
pub(crate) async fn list_public(request: ListRequest, caller: Auth<Member>) -> HandlerResult {
    let (posts, page) = (&request.state.services.posts, request.query.short_page(List::Posts)?);
    page_by_public_authors(&request, List::Posts, page, async |page| posts.list_public(&caller, page).await).await
}

/// Get the following feed
///
/// The posts of users whom the caller follows, as far as the caller may view them. Newest first.
#[utoipa::path(get, path = "", operation_id = "getFollowingFeed", tag = "Posts", params(FeedPaging),
    responses((status = 200, description = "A page of posts.", body = PostsAnswer)))]
pub(crate) async fn following_feed(request: ListRequest, caller: Auth<Member>) -> HandlerResult {
    let (posts, feed) = (&request.state.services.posts, request.query.feed_page()?);
    let read = async |page| posts.following_feed(&caller, FeedRequest { page, ..feed }).await;
    page_of_posts(&request, feed.page, read).await
}

/// List the posts with a hashtag
///
/// The posts that the caller may view, except those of disabled accounts. Newest first.
#[utoipa::path(get, path = "", operation_id = "listTaggedPosts", tag = "Posts", params(ShortPaging),
    responses((status = 200, description = "A page of posts.", body = PostsByPublicAuthorsAnswer)))]
pub(crate) async fn list_by_tag(request: ListRequest, caller: Auth<Member>, tag: PathTag) -> HandlerResult {
    let (posts, page) = (&request.state.services.posts, request.query.short_page(List::Posts)?);
    page_by_public_authors(&request, List::Posts, page, async |page| posts.list_by_tag(&caller, &tag.0, page).await)
        .await
}

/// Update a post
///
/// For its author. Given fields change; without any, or without a body, the post stays as it is. A blank text clears the text of
/// a post with an image. An image in a form replaces all images. `mediaIds` are all images of the post after the update, in this
/// order: images that it has already, and uploads.
#[utoipa::path(get, path = "", operation_id = "updatePost", tag = "Posts", params(IfMatchHeader),
    request_body(content((PostChangeForm = "multipart/form-data"), (PostRequest = "application/json"))),
    responses((status = 200, description = "`Post updated successfully`", body = PostAnswer), NotFound))]
pub(crate) async fn update(
    state: Data<State>,
    caller: Auth<Member>,
    RequestedBy(requester): RequestedBy,
    id: PathId<PostId>,
    IfMatch(versions): IfMatch,
    body: Body,
) -> HandlerResult {
    let own = state.services.posts.own(&caller, id.0).await?;
    let fields = post_fields(body, state.max_image_bytes).await?;
    let view = state.services.posts.update(own, &requester, fields, versions).await?;
    let rendered = Rendered::ok("Post updated successfully", PostBody::with_author(&view, &state))?;
    Ok(rendered.with_version(view.post.updated_at).into_response())
}

/// Delete a post
///
/// For its author. Its likes, comments and images are deleted too.
#[utoipa::path(get, path = "", operation_id = "deletePost", tag = "Posts",
    responses((status = 200, description = "`Post deleted successfully`", body = Done), NotFound))]
pub(crate) async fn delete(state: Data<State>, caller: Auth<Member>, id: PathId<PostId>) -> HandlerResult {
    state.services.posts.delete(&caller, id.0).await?;
    done("Post deleted successfully")
}

const LIKED: &str = "Post liked successfully";
const UNLIKED: &str = "Post unliked successfully";

/// Like or unlike a post
///
/// Toggles: a second request undoes the first. `PUT` and `DELETE` are safe to repeat. For those who may view the post.
#[utoipa::path(get, path = "", operation_id = "toggleLike", tag = "Posts",
    responses((status = 200, description = "`Post liked successfully` or `Post unliked successfully`", body = Done),
        NotFound))]
pub(crate) async fn toggle_like(
    state: Data<State>,
    caller: Auth<Member>,
    RequestAttempt(attempt): RequestAttempt,
    id: PathId<PostId>,
) -> HandlerResult {
    let likes = state.services.posts.toggle_like(&caller, id.0, attempt).await?;
    done(if likes { LIKED } else { UNLIKED })
}

/// Like a post
///
/// Safe to repeat. For those who may view the post.
#[utoipa::path(get, path = "", operation_id = "likePost", tag = "Posts",
    responses((status = 200, description = "`Post liked successfully`", body = Done), NotFound))]
pub(crate) async fn like(state: Data<State>, caller: Auth<Member>, id: PathId<PostId>) -> HandlerResult {
    state.services.posts.like(&caller, id.0).await?;
    done(LIKED)
}

/// Unlike a post
///
/// Safe to repeat. For those who may view the post.
#[utoipa::path(get, path = "", operation_id = "unlikePost", tag = "Posts",
    responses((status = 200, description = "`Post unliked successfully`", body = Done), NotFound))]
pub(crate) async fn unlike(state: Data<State>, caller: Auth<Member>, id: PathId<PostId>) -> HandlerResult {
    state.services.posts.unlike(&caller, id.0).await?;
    done(UNLIKED)
}

/// List the users who like a post
///
/// Newest like first. For those who may view the post.
#[utoipa::path(get, path = "", operation_id = "listLikers", tag = "Posts", params(Paging),
    responses((status = 200, description = "A page of users.", body = LikersAnswer), NotFound))]
pub(crate) async fn list_likers(request: ListRequest, caller: Auth<Member>, id: PathId<PostId>) -> HandlerResult {
    let (state, page) = (&request.state, request.query.page(List::Likes)?);
    let read = async |page| state.services.posts.list_likers(&caller, id.0, page).await;
    let render = |liker: &Liker, entry: Entry<'_>| entry.write(&LikerBody::of(liker, state));
    request.answer(List::Likes, page, |_| empty_list(SUCCESS), read, render).await
}
