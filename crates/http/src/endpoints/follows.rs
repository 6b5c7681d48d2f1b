//! `/api/follow`: who follows whom.

use actix_web::web::Data;
use agora_domain::accounts::{Member, UserSummary};
use agora_domain::id::UserId;

use crate::core::State;
use crate::middleware::RequestAttempt;
use crate::request::{Auth, List, Paging, PathId};
use crate::response::{
    Entry, FollowAnswer, FollowsAnswer, HandlerResult, ListRequest, NotFound, Rendered, UserSummaryBody,
    empty_follow_list, respond,
};

const FOLLOWED: &str = "Followed user successfully";
const UNFOLLOWED: &str = "Unfollowed user successfully";

/// Follow or unfollow a user
///
/// Toggles: a second request undoes the first. `PUT` and `DELETE` are safe to repeat. Nobody can follow themselves (400).
#[utoipa::path(get, path = "", operation_id = "toggleFollow", tag = "Follows",
    responses(NotFound, (status = 200, body = FollowAnswer,
        description = "`Followed user successfully` or `Unfollowed user successfully`")))]
pub(crate) async fn toggle(
    state: Data<State>,
    caller: Auth<Member>,
    RequestAttempt(attempt): RequestAttempt,
    id: PathId<UserId>,
) -> HandlerResult {
    let follows = state.services.follows.toggle(&caller, id.0, attempt).await?;
    respond(Rendered::follow_done(if follows { FOLLOWED } else { UNFOLLOWED }))
}

/// Follow a user
///
/// Safe to repeat. Nobody can follow themselves (400).
#[utoipa::path(get, path = "", operation_id = "followUser", tag = "Follows",
    responses((status = 200, description = "`Followed user successfully`", body = FollowAnswer), NotFound))]
pub(crate) async fn follow(state: Data<State>, caller: Auth<Member>, id: PathId<UserId>) -> HandlerResult {
    state.services.follows.follow(&caller, id.0).await?;
    respond(Rendered::follow_done(FOLLOWED))
}

/// Unfollow a user
///
/// Safe to repeat.
#[utoipa::path(get, path = "", operation_id = "unfollowUser", tag = "Follows",
    responses((status = 200, description = "`Unfollowed user successfully`", body = FollowAnswer), NotFound))]
pub(crate) async fn unfollow(state: Data<State>, caller: Auth<Member>, id: PathId<UserId>) -> HandlerResult {
    state.services.follows.unfollow(&caller, id.0).await?;
    respond(Rendered::follow_done(UNFOLLOWED))
}

fn render(user: &UserSummary, entry: Entry<'_>) -> serde_json::Result<()> {
    entry.write(&UserSummaryBody::of(user))
}

/// List the followers of a user
///
/// Newest follow first. For the user, the user's followers and every ADMIN.
#[utoipa::path(get, path = "", operation_id = "listFollowers", tag = "Follows", params(Paging),
    responses((status = 200, description = "A page of users.", body = FollowsAnswer), NotFound))]
pub(crate) async fn list_followers(request: ListRequest, caller: Auth<Member>, id: PathId<UserId>) -> HandlerResult {
    let (follows, page) = (&request.state.services.follows, request.query.page(List::Follows)?);
    let empty = |_| empty_follow_list("Followers retrieved successfully");
    let read = async |page| follows.list_followers(&caller, id.0, page).await;
    request.answer(List::Follows, page, empty, read, render).await
}

/// List the users whom a user follows
///
/// Newest follow first. For the user, the user's followers and every ADMIN.
#[utoipa::path(get, path = "", operation_id = "listFollowed", tag = "Follows", params(Paging),
    responses((status = 200, description = "A page of users.", body = FollowsAnswer), NotFound))]
pub(crate) async fn list_followed(request: ListRequest, caller: Auth<Member>, id: PathId<UserId>) -> HandlerResult {
    let (follows, page) = (&request.state.services.follows, request.query.page(List::Follows)?);
    let empty = |_| empty_follow_list("Followed users retrieved successfully");
    let read = async |page| follows.list_followed(&caller, id.0, page).await;
    request.answer(List::Follows, page, empty, read, render).await
}
