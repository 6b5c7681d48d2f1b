//! `/api/posts`: posts and likes.

use actix_web::web::Data;
use agora_domain::{
    accounts::{Account, Admin, Member},
    id::{PostId, UserId},
    page::{Page, PageRequest},
    posts::{FeedRequest, Liker, PostFields, PostView},
};
use serde::Deserialize;

use crate::{
    core::{error::ApiError, state::State},
    middleware::idempotency::Attempt,
    request::{
        body::Body,
        cursor::List,
        extract::{Auth, PathId, RequestedBy},
        json::{Fields, Given, first_filled},
        multipart::{Accepts, FormOrJson},
        parameters::{FeedPaging, Known, Paging, Seen},
        preconditions::IfMatch,
        schemas,
    },
    response::{
        answers::{AdminPostsAnswer, Done, LikersAnswer, PostAnswer, PostsAnswer},
        conditional::{Cache, Conditional},
        envelope::{Answer, Rendered, SUCCESS, done, empty_list, respond},
        failures::NotFound,
        list::{Entry, ListRequest},
        views::{AdminAuthorBody, LikerBody, PostBody},
    },
};

/// A post as JSON: the same fields as the form, but no image.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct PostJson {
    #[serde(default)]
    text: Given<String>,
    #[serde(default)]
    content: Given<String>,
    #[serde(default)]
    visibility: Given<String>,
    #[serde(default)]
    remove_image: Given<bool>,
}

impl PostJson {
    fn fields(self) -> PostFields {
        let mut fields = Fields::default();
        let text = fields.any_text("text", [self.text, self.content]);
        let visibility = fields.text("visibility", self.visibility);
        let remove_image = fields.take("removeImage", self.remove_image, "true or false");
        let remove_image = remove_image.unwrap_or_default();
        PostFields { text, visibility, image: None, remove_image, errors: fields.into_errors() }
    }
}

pub(crate) async fn post_fields(body: Body, max_image_bytes: usize) -> Result<PostFields, ApiError> {
    const TEXTS: &[(&str, &str)] =
        &[("text", "text"), ("content", "text"), ("visibility", "visibility"), ("removeImage", "removeImage")];
    let accepts = Accepts { texts: TEXTS, image: "image" };
    let mut form = match body.form_or_json::<PostJson>(accepts, max_image_bytes).await? {
        FormOrJson::Form(form) => form,
        FormOrJson::Json(json) => return Ok(json.fields()),
    };
    let remove_image = form.take("removeImage").unwrap_or_default().trim().to_ascii_lowercase();
    if !["true", "false", ""].contains(&remove_image.as_str()) {
        form.errors.add("removeImage", "removeImage must be true or false");
    }
    Ok(PostFields {
        text: first_filled(["text", "content"].into_iter().filter_map(|name| form.take(name))),
        visibility: form.take("visibility"),
        image: form.take_image(),
        remove_image: remove_image == "true",
        errors: form.errors,
    })
}

/// Answers with a page of posts, as every list but the administrators' shows them.
async fn page_of_posts(
    request: &ListRequest,
    page: PageRequest,
    read: impl AsyncFnMut(PageRequest) -> agora_domain::Result<Page<PostView>>,
) -> Answer {
    let render = |view: &PostView, entry: Entry<'_>| entry.write(&PostBody::with_author(view, &request.state));
    request.answer(List::Posts, page, |_| empty_list(SUCCESS), read, render).await
}

/// Publish a post
///
/// A post holds text, an image, or both; without either it is not created (400). An image can come in a form alone.
#[utoipa::path(
    post, path = "/api/posts/create", operation_id = "createPost", tag = "Posts",
    request_body(
        content((schemas::NewPostForm = "multipart/form-data"), (schemas::NewPost = "application/json")),
    ),
    responses((status = 201, description = "`Post created successfully`", body = PostAnswer)),
)]
pub(crate) async fn create(
    state: Data<State>,
    Auth(caller): Auth<Member>,
    RequestedBy(requester): RequestedBy,
    attempt: Attempt,
    body: Body,
) -> Answer {
    let fields = post_fields(body, state.max_image_bytes).await?;
    let context = state.clone();
    let answer = move |view: &PostView| {
        let rendered = Rendered::created("Post created successfully", PostBody::with_author(view, &context))?;
        Ok(rendered.of_version(view.post.updated_at))
    };
    let view = state.services.posts.create(&caller, &requester, fields, attempt.once(answer.clone())).await?;
    respond(answer(&view))
}

/// Read a post
///
/// For those who may view it: its author, every ADMIN, and whom its visibility names.
#[utoipa::path(
    get, path = "/api/posts/by-id/{postId}", operation_id = "getPost", tag = "Posts",
    params(Known),
    responses((status = 200, description = "The post.", body = PostAnswer), NotFound),
)]
pub(crate) async fn get(
    state: Data<State>,
    Auth(caller): Auth<Member>,
    id: PathId<PostId>,
    conditional: Conditional,
) -> Answer {
    let view = state.services.posts.get(&caller, id.get()).await?;
    let rendered = Rendered::ok(SUCCESS, PostBody::with_author(&view, &state))?;
    conditional.answer(Cache::Private, Some(view.post.updated_at), rendered)
}

/// List all posts
///
/// Newest first, with the roles and the standing of their authors.
#[utoipa::path(
    get, path = "/api/posts/all", operation_id = "listAllPosts", tag = "Posts",
    params(Paging),
    responses((status = 200, description = "A page of posts.", body = AdminPostsAnswer)),
)]
pub(crate) async fn list_all(request: ListRequest, Auth(admin): Auth<Admin>) -> Answer {
    let (state, page) = (&request.state, request.query.page(List::Posts)?);
    let read = async |page| state.services.posts.list_all(&admin, page).await;
    let render =
        |view: &PostView<Account>, entry: Entry<'_>| entry.write(&PostBody::of(view, state, AdminAuthorBody::of));
    request.answer(List::Posts, page, |_| empty_list(SUCCESS), read, render).await
}

/// List the posts of a user
///
/// Newest first: those that the caller may view.
#[utoipa::path(
    get, path = "/api/posts/{userId}/all", operation_id = "listUserPosts", tag = "Posts",
    params(Paging),
    responses((status = 200, description = "A page of posts.", body = PostsAnswer), NotFound),
)]
pub(crate) async fn list_by_author(request: ListRequest, Auth(caller): Auth<Member>, author: PathId<UserId>) -> Answer {
    let (posts, page) = (&request.state.services.posts, request.query.page(List::Posts)?);
    page_of_posts(&request, page, async |page| posts.list_by_author(&caller, author.get(), page).await).await
}

/// Read the following feed
///
/// The posts of those whom the caller follows, newest first: those that the caller may view.
#[utoipa::path(
    get, path = "/api/posts/following/all", operation_id = "getFollowingFeed", tag = "Posts",
    params(FeedPaging),
    responses((status = 200, description = "A page of posts.", body = PostsAnswer)),
)]
pub(crate) async fn following_feed(request: ListRequest, Auth(caller): Auth<Member>) -> Answer {
    let (posts, feed) = (&request.state.services.posts, request.query.feed_page()?);
    let read = async |page| posts.following_feed(&caller, FeedRequest { page, ..feed }).await;
    page_of_posts(&request, feed.page, read).await
}

/// Change a post
///
/// For its author. What is given changes; with nothing given, or without a body, the post stays as it is. A blank
/// text clears the text of a post with an image.
#[utoipa::path(
    put, path = "/api/posts/update/{postId}", operation_id = "updatePost", tag = "Posts",
    params(Seen),
    request_body(
        content((schemas::PostChangeForm = "multipart/form-data"), (schemas::PostChange = "application/json")),
    ),
    responses((status = 200, description = "`Post updated successfully`", body = PostAnswer), NotFound),
)]
pub(crate) async fn update(
    state: Data<State>,
    Auth(caller): Auth<Member>,
    RequestedBy(requester): RequestedBy,
    id: PathId<PostId>,
    IfMatch(versions): IfMatch,
    body: Body,
) -> Answer {
    let own = state.services.posts.own(&caller, id.get()).await?;
    let fields = post_fields(body, state.max_image_bytes).await?;
    let view = state.services.posts.update(own, &requester, fields, versions).await?;
    let rendered = Rendered::ok("Post updated successfully", PostBody::with_author(&view, &state))?;
    Ok(rendered.of_version(view.post.updated_at).into_response())
}

/// Delete a post
///
/// For its author. Its likes, its comments and its image go with it.
#[utoipa::path(
    delete, path = "/api/posts/delete/{postId}", operation_id = "deletePost", tag = "Posts",
    responses((status = 200, description = "`Post deleted successfully`", body = Done), NotFound),
)]
pub(crate) async fn delete(state: Data<State>, Auth(caller): Auth<Member>, id: PathId<PostId>) -> Answer {
    state.services.posts.delete(&caller, id.get()).await?;
    done("Post deleted successfully")
}

const LIKED: &str = "Post liked successfully";
const UNLIKED: &str = "Post unliked successfully";

/// Like a post, or take the like back
///
/// Toggles: to repeat it undoes it. `PUT` and `DELETE` are safe to repeat. For those who may view the post.
#[utoipa::path(
    post, path = "/api/posts/like/{postId}", operation_id = "toggleLike", tag = "Posts",
    responses(
        (status = 200, description = "`Post liked successfully` or `Post unliked successfully`", body = Done),
        NotFound,
    ),
)]
pub(crate) async fn toggle_like(
    state: Data<State>,
    Auth(caller): Auth<Member>,
    attempt: Attempt,
    id: PathId<PostId>,
) -> Answer {
    let answer = |likes: &bool| Rendered::done(if *likes { LIKED } else { UNLIKED });
    let likes = state.services.posts.toggle_like(&caller, id.get(), attempt.once(answer)).await?;
    respond(answer(&likes))
}

/// Like a post
///
/// Safe to repeat. For those who may view the post.
#[utoipa::path(
    put, path = "/api/posts/like/{postId}", operation_id = "likePost", tag = "Posts",
    responses((status = 200, description = "`Post liked successfully`", body = Done), NotFound),
)]
pub(crate) async fn like(state: Data<State>, Auth(caller): Auth<Member>, id: PathId<PostId>) -> Answer {
    state.services.posts.like(&caller, id.get()).await?;
    done(LIKED)
}

/// Take a like back
///
/// Safe to repeat. For those who may view the post.
#[utoipa::path(
    delete, path = "/api/posts/like/{postId}", operation_id = "unlikePost", tag = "Posts",
    responses((status = 200, description = "`Post unliked successfully`", body = Done), NotFound),
)]
pub(crate) async fn unlike(state: Data<State>, Auth(caller): Auth<Member>, id: PathId<PostId>) -> Answer {
    state.services.posts.unlike(&caller, id.get()).await?;
    done(UNLIKED)
}

/// List those who like a post
///
/// Newest like first. For those who may view the post.
#[utoipa::path(
    get, path = "/api/posts/{postId}/likes", operation_id = "listLikers", tag = "Posts",
    params(Paging),
    responses((status = 200, description = "A page of users.", body = LikersAnswer), NotFound),
)]
pub(crate) async fn list_likers(request: ListRequest, Auth(caller): Auth<Member>, id: PathId<PostId>) -> Answer {
    let (state, page) = (&request.state, request.query.page(List::Likes)?);
    let read = async |page| state.services.posts.list_likers(&caller, id.get(), page).await;
    let render = |liker: &Liker, entry: Entry<'_>| entry.write(&LikerBody::of(liker, state));
    request.answer(List::Likes, page, |_| empty_list(SUCCESS), read, render).await
}
