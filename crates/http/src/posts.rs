//! `/api/posts`: posts and likes.

use actix_web::web::Data;
use agora_domain::{
    accounts::{Admin, Member},
    id::{PostId, UserId},
    page::Page,
    posts::{PostFields, PostView},
};
use serde::Deserialize;

use crate::{
    body::Body,
    conditional::{Cache, Conditional, IfMatch},
    cursor::List,
    envelope::{Answer, Rendered, SUCCESS, done, linked, ok, respond},
    error::ApiError,
    extract::{Auth, PathId},
    form::{Accepts, FormOrJson},
    idempotency::Attempt,
    json::{Fields, Given, first_filled},
    paging::Query,
    render::{AdminAuthorBody, LikerBody, PostBody},
    state::State,
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

async fn post_fields(body: Body, max_image_bytes: usize) -> Result<PostFields, ApiError> {
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

fn page_of_posts(state: &State, query: &Query, page: &Page<PostView>) -> Answer {
    let posts: Vec<_> = page.items.iter().map(|view| PostBody::with_author(view, state)).collect();
    linked(ok(SUCCESS, posts), query, &state.settings, List::Posts, page)
}

/// `POST /api/posts/create`
pub(crate) async fn create(state: Data<State>, Auth(caller): Auth<Member>, attempt: Attempt, body: Body) -> Answer {
    let fields = post_fields(body, state.settings.max_image_bytes).await?;
    let context = state.clone();
    let answer = move |view: &PostView| {
        let rendered = Rendered::created("Post created successfully", PostBody::with_author(view, &context))?;
        Ok(rendered.of_version(view.post.updated_at))
    };
    let view = state.services.posts.create(&caller, fields, attempt.once(answer.clone())).await?;
    respond(answer(&view))
}

/// `GET /api/posts/by-id/{postId}`
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

/// `GET /api/posts/all`
pub(crate) async fn list_all(state: Data<State>, Auth(admin): Auth<Admin>, query: Query) -> Answer {
    let page = state.services.posts.list_all(&admin, query.page(List::Posts)?).await?;
    let post = |view| PostBody::of(view, &state, AdminAuthorBody::of);
    let posts: Vec<_> = page.items.iter().map(post).collect();
    linked(ok(SUCCESS, posts), &query, &state.settings, List::Posts, &page)
}

/// `GET /api/posts/{userId}/all` and `GET /api/posts/user/{userId}`
pub(crate) async fn list_by_author(
    state: Data<State>,
    Auth(caller): Auth<Member>,
    author: PathId<UserId>,
    query: Query,
) -> Answer {
    let page = state.services.posts.list_by_author(&caller, author.get(), query.page(List::Posts)?).await?;
    page_of_posts(&state, &query, &page)
}

/// `GET /api/posts/following/all`
pub(crate) async fn following_feed(state: Data<State>, Auth(caller): Auth<Member>, query: Query) -> Answer {
    let page = state.services.posts.following_feed(&caller, query.feed_page()?).await?;
    page_of_posts(&state, &query, &page)
}

/// `PUT /api/posts/update/{postId}`
pub(crate) async fn update(
    state: Data<State>,
    Auth(caller): Auth<Member>,
    id: PathId<PostId>,
    IfMatch(versions): IfMatch,
    body: Body,
) -> Answer {
    let own = state.services.posts.own(&caller, id.get()).await?;
    let fields = post_fields(body, state.settings.max_image_bytes).await?;
    let view = state.services.posts.update(own, fields, versions).await?;
    let rendered = Rendered::ok("Post updated successfully", PostBody::with_author(&view, &state))?;
    Ok(rendered.of_version(view.post.updated_at).into_response())
}

/// `DELETE /api/posts/delete/{postId}`
pub(crate) async fn delete(state: Data<State>, Auth(caller): Auth<Member>, id: PathId<PostId>) -> Answer {
    state.services.posts.delete(&caller, id.get()).await?;
    done("Post deleted successfully")
}

const LIKED: &str = "Post liked successfully";
const UNLIKED: &str = "Post unliked successfully";

/// `POST /api/posts/like/{postId}`
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

/// `PUT /api/posts/like/{postId}`
pub(crate) async fn like(state: Data<State>, Auth(caller): Auth<Member>, id: PathId<PostId>) -> Answer {
    state.services.posts.like(&caller, id.get()).await?;
    done(LIKED)
}

/// `DELETE /api/posts/like/{postId}`
pub(crate) async fn unlike(state: Data<State>, Auth(caller): Auth<Member>, id: PathId<PostId>) -> Answer {
    state.services.posts.unlike(&caller, id.get()).await?;
    done(UNLIKED)
}

/// `GET /api/posts/{postId}/likes`
pub(crate) async fn list_likers(
    state: Data<State>,
    Auth(caller): Auth<Member>,
    id: PathId<PostId>,
    query: Query,
) -> Answer {
    let page = state.services.posts.list_likers(&caller, id.get(), query.page(List::Likes)?).await?;
    let likers: Vec<_> = page.items.iter().map(|liker| LikerBody::of(liker, &state)).collect();
    linked(ok(SUCCESS, likers), &query, &state.settings, List::Likes, &page)
}
