//! `/api/posts/{postId}/bookmark`, `/api/users/me/bookmarks`: bookmarked posts.

use actix_web::web::Data;
use agora_domain::accounts::Member;
use agora_domain::id::PostId;

use crate::core::State;
use crate::endpoints::posts::page_by_public_authors;
use crate::request::{Auth, List, PathId, ShortPaging};
use crate::response::{Done, HandlerResult, ListRequest, NotFound, PostsByPublicAuthorsAnswer, SUCCESS, done};

/// Bookmark a post
///
/// Only the caller can see it. Safe to repeat: the post keeps its place in the list. For those who may view the post.
#[utoipa::path(get, path = "", operation_id = "bookmarkPost", tag = "Posts",
    responses((status = 200, description = "`success`", body = Done), NotFound))]
pub(crate) async fn set(state: Data<State>, caller: Auth<Member>, id: PathId<PostId>) -> HandlerResult {
    state.services.bookmarks.set(&caller, id.0).await?;
    done(SUCCESS)
}

/// Remove a bookmark
///
/// Safe to repeat. It also works for a post that the caller may no longer view.
#[utoipa::path(get, path = "", operation_id = "removeBookmark", tag = "Posts",
    responses((status = 200, description = "`success`", body = Done), NotFound))]
pub(crate) async fn unset(state: Data<State>, caller: Auth<Member>, id: PathId<PostId>) -> HandlerResult {
    state.services.bookmarks.unset(&caller, id.0).await?;
    done(SUCCESS)
}

/// List bookmarked posts
///
/// Newest bookmark first. Posts that the caller may not view are left out until the caller may view them again.
#[utoipa::path(get, path = "", operation_id = "listBookmarks", tag = "Posts", params(ShortPaging),
    responses((status = 200, description = "A page of posts.", body = PostsByPublicAuthorsAnswer)))]
pub(crate) async fn list(request: ListRequest, caller: Auth<Member>) -> HandlerResult {
    let (bookmarks, page) = (&request.state.services.bookmarks, request.query.short_page(List::Bookmarks)?);
    let read = async |page| bookmarks.list(&caller, page).await;
    page_by_public_authors(&request, List::Bookmarks, page, read).await
}
