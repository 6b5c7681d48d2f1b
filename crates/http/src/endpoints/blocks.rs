//! `/api/users/{userId}/block`, `/api/users/{userId}/mute`: blocking and muting users, and the lists of both.

use actix_web::web::Data;
use agora_domain::accounts::Member;
use agora_domain::blocks::{MuteHours, MutedProfile};
use agora_domain::id::UserId;
use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::people;
use crate::core::{State, schema};
use crate::request::{Auth, Body, Field, List, PathId, ShortPaging, optional};
use crate::response::{
    Done, Entry, HandlerResult, Instant, ListRequest, NotFound, ProfileBody, ProfilesAnswer, SUCCESS, answers, done,
    empty_list,
};

answers! {
    /// Users whom the caller mutes.
    MutedProfilesAnswer { Vec<MutedProfileBody<'static>> }
}

/// A user whom the caller mutes.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MutedProfile)]
pub(crate) struct MutedProfileBody<'a> {
    #[serde(flatten)]
    profile: ProfileBody<'a>,
    /// When the mute ends; null if it has no end.
    #[schema(schema_with = schema::muted_until, required = true)]
    muted_until: Option<Instant>,
}

/// Block a user
///
/// Hides both users and their actions from each other, as if the accounts did not exist. Both stop following each other. Nobody
/// is notified. Safe to repeat: the user keeps the place in the list. A user who blocks the caller can be blocked as well.
#[utoipa::path(get, path = "", operation_id = "blockUser", tag = "Safety",
    responses((status = 200, description = "`success`", body = Done), NotFound))]
pub(crate) async fn block(state: Data<State>, caller: Auth<Member>, id: PathId<UserId>) -> HandlerResult {
    state.services.blocks.block(&caller, id.0).await?;
    done(SUCCESS)
}

/// Unblock a user
///
/// Safe to repeat. Follows and notifications that the block removed do not come back.
#[utoipa::path(get, path = "", operation_id = "unblockUser", tag = "Safety",
    responses((status = 200, description = "`success`", body = Done), NotFound))]
pub(crate) async fn unblock(state: Data<State>, caller: Auth<Member>, id: PathId<UserId>) -> HandlerResult {
    state.services.blocks.unblock(&caller, id.0).await?;
    done(SUCCESS)
}

/// List blocked users
///
/// Newest block first.
#[utoipa::path(get, path = "", operation_id = "listBlockedUsers", tag = "Safety", params(ShortPaging),
    responses((status = 200, description = "A page of profiles.", body = ProfilesAnswer)))]
pub(crate) async fn list_blocked(request: ListRequest, caller: Auth<Member>) -> HandlerResult {
    let (blocks, page) = (&request.state.services.blocks, request.query.short_page(List::Blocks)?);
    people::answer(&request, List::Blocks, page, async |page| blocks.list_blocked(&caller, page).await).await
}

/// The duration of a mute.
#[derive(Deserialize, Validate, ToSchema)]
pub(crate) struct NewMute {
    /// The duration of the mute in hours. Without it, the mute has no end.
    #[garde(custom(optional))]
    #[schema(schema_with = schema::mute_hours, required = false)]
    hours: Field<MuteHours>,
}

/// Mute a user
///
/// The caller's feeds, timelines, bookmarks and searches leave out the user's posts, and the caller is not notified of the user's
/// actions. Everything else stays as it is, and nobody is notified. A user who is muted already keeps the place in the list, and
/// gets the new end. A mute ends within a minute of `mutedUntil`. The body may be left out.
#[utoipa::path(get, path = "", operation_id = "muteUser", tag = "Safety", request_body = NewMute,
    responses((status = 200, description = "`success`", body = Done), NotFound))]
pub(crate) async fn mute(state: Data<State>, caller: Auth<Member>, id: PathId<UserId>, body: Body) -> HandlerResult {
    let blocks = &state.services.blocks;
    let other = blocks.to_mute(&caller, id.0).await?;
    let NewMute { hours } = body.valid_json_or_empty().await?;
    blocks.mute(other, hours.value()).await?;
    done(SUCCESS)
}

/// Unmute a user
///
/// Safe to repeat.
#[utoipa::path(get, path = "", operation_id = "unmuteUser", tag = "Safety",
    responses((status = 200, description = "`success`", body = Done), NotFound))]
pub(crate) async fn unmute(state: Data<State>, caller: Auth<Member>, id: PathId<UserId>) -> HandlerResult {
    state.services.blocks.unmute(&caller, id.0).await?;
    done(SUCCESS)
}

/// List muted users
///
/// Newest mute first.
#[utoipa::path(get, path = "", operation_id = "listMutedUsers", tag = "Safety", params(ShortPaging),
    responses((status = 200, description = "A page of profiles.", body = MutedProfilesAnswer)))]
pub(crate) async fn list_muted(request: ListRequest, caller: Auth<Member>) -> HandlerResult {
    let (state, page) = (&request.state, request.query.short_page(List::Mutes)?);
    let read = async |page| state.services.blocks.list_muted(&caller, page).await;
    let render = |muted: &MutedProfile, entry: Entry<'_>| {
        let (profile, muted_until) = (ProfileBody::of(&muted.profile, state), muted.until.map(Instant));
        entry.write(&MutedProfileBody { profile, muted_until })
    };
    request.answer(List::Mutes, page, |_| empty_list(SUCCESS), read, render).await
}
