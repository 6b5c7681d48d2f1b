//! `/api/follow`: who follows whom.

use actix_web::web::Data;
use agora_domain::{
    accounts::{Member, UserSummary},
    id::UserId,
    page::Page,
};

use crate::{
    cursor::List,
    envelope::{Answer, Rendered, follow_ok, linked, respond},
    extract::{Auth, PathId},
    idempotency::Attempt,
    paging::Query,
    render::UserSummaryBody,
    state::State,
};

const FOLLOWED: &str = "Followed user successfully";
const UNFOLLOWED: &str = "Unfollowed user successfully";

/// `POST /api/follow/follow/{followedId}`
pub(crate) async fn toggle(
    state: Data<State>,
    Auth(caller): Auth<Member>,
    attempt: Attempt,
    id: PathId<UserId>,
) -> Answer {
    let answer = |follows: &bool| Rendered::follow_done(if *follows { FOLLOWED } else { UNFOLLOWED });
    let follows = state.services.follows.toggle(&caller, id.get(), attempt.once(answer)).await?;
    respond(answer(&follows))
}

/// `PUT /api/follow/follow/{followedId}`
pub(crate) async fn follow(state: Data<State>, Auth(caller): Auth<Member>, id: PathId<UserId>) -> Answer {
    state.services.follows.follow(&caller, id.get()).await?;
    respond(Rendered::follow_done(FOLLOWED))
}

/// `DELETE /api/follow/follow/{followedId}`
pub(crate) async fn unfollow(state: Data<State>, Auth(caller): Auth<Member>, id: PathId<UserId>) -> Answer {
    state.services.follows.unfollow(&caller, id.get()).await?;
    respond(Rendered::follow_done(UNFOLLOWED))
}

fn page_of_users(state: &State, query: &Query, message: &'static str, page: &Page<UserSummary>) -> Answer {
    let users: Vec<_> = page.items.iter().map(UserSummaryBody::of).collect();
    linked(follow_ok(message, users), query, &state.settings, List::Follows, page)
}

/// `GET /api/follow/followers/{userId}`
pub(crate) async fn list_followers(
    state: Data<State>,
    Auth(caller): Auth<Member>,
    id: PathId<UserId>,
    query: Query,
) -> Answer {
    let page = state.services.follows.list_followers(&caller, id.get(), query.page(List::Follows)?).await?;
    page_of_users(&state, &query, "Followers retrieved successfully", &page)
}

/// `GET /api/follow/followed/{userId}`
pub(crate) async fn list_followed(
    state: Data<State>,
    Auth(caller): Auth<Member>,
    id: PathId<UserId>,
    query: Query,
) -> Answer {
    let page = state.services.follows.list_followed(&caller, id.get(), query.page(List::Follows)?).await?;
    page_of_users(&state, &query, "Followed users retrieved successfully", &page)
}
