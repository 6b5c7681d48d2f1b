//! `/api/users`: the profiles of users, and how users find each other.

use actix_web::web::Data;
use agora_domain::FieldErrors;
use agora_domain::accounts::{Member, Username};
use agora_domain::error::{FieldName, Violation, ViolationKind};
use agora_domain::id::UserId;
use agora_domain::page::{Keyset, Page, PageRequest, Position};
use agora_domain::people::{Profile, UserIds};

use crate::core::{ApiError, State};
use crate::request::{Auth, IfNoneMatch, List, PathId, Query, ShortPaging, UserIdsQuery, UsernameQuery, parse_uuid};
use crate::response::{
    Cache, Conditional, Entry, HandlerResult, ListRequest, NotFound, ProfileAnswer, ProfileBody, ProfilesAnswer,
    Rendered, SUCCESS, empty_list, ok,
};

/// Get the profile of a user
///
/// `postCount` is the number of the user's posts that the caller may view. Only ADMIN can get the profile of a disabled account.
#[utoipa::path(get, path = "", operation_id = "getProfile", tag = "People", params(IfNoneMatch),
    responses((status = 200, description = "The profile.", body = ProfileAnswer), NotFound))]
pub(crate) async fn get(
    state: Data<State>,
    caller: Auth<Member>,
    id: PathId<UserId>,
    conditional: Conditional,
) -> HandlerResult {
    let profile = state.services.people.get(&caller, id.0).await?;
    conditional.answer(Cache::Private, None, Rendered::ok(SUCCESS, ProfileBody::of(&profile, &state))?)
}

/// Look up a user by name
///
/// In any letter case, whether or not the user is listed in the directory.
#[utoipa::path(get, path = "", operation_id = "lookupUser", tag = "People", params(UsernameQuery),
    responses((status = 200, description = "The profile.", body = ProfileAnswer), NotFound))]
pub(crate) async fn lookup(request: ListRequest, caller: Auth<Member>) -> HandlerResult {
    let username = username(&request.query)?;
    let profile = request.state.services.people.get_by_username(&caller, &username).await?;
    ok(SUCCESS, ProfileBody::of(&profile, &request.state))
}

fn username(query: &Query) -> Result<Username, ApiError> {
    let given = query.get(FieldName::Username).unwrap_or_default();
    Ok(Username::parse(given).map_err(|violation| agora_domain::Error::field(FieldName::Username, violation))?)
}

/// Get the profiles of several users
///
/// In the order of the ids, each once. Users that are not found are left out.
#[utoipa::path(get, path = "", operation_id = "getProfiles", tag = "People", params(UserIdsQuery),
    responses((status = 200, description = "The profiles.", body = ProfilesAnswer)))]
pub(crate) async fn get_all(request: ListRequest, caller: Auth<Member>) -> HandlerResult {
    let (people, ids) = (&request.state.services.people, user_ids(&request.query)?);
    // All profiles are one part of a list, since so few never exceed the maximum size of a body. Still, a response may have to
    // wait for memory after some of them, and then reads on from the last one.
    let read = async |page: PageRequest| {
        let last = match page.from {
            Position::After(last) => Some(UserId::new(last.id)),
            Position::Before(_) | Position::Start | Position::End => None,
        };
        let items = people.get_all(&caller, &ids, last).await?;
        let keys = items.iter().map(|profile| Keyset { at: profile.created_at, id: profile.id.uuid() }).collect();
        Ok(Page { items, keys, prev: None, next: None })
    };
    answer(&request, List::Users, PageRequest::PART, read).await
}

fn user_ids(query: &Query) -> Result<UserIds, ApiError> {
    let mut errors = FieldErrors::default();
    let given = query.get_all(FieldName::User);
    let ids: Option<Vec<_>> = given.map(|text| parse_uuid(text).map(UserId::new)).collect();
    let malformed = || Violation::new(ViolationKind::InvalidFormat, "id must be a UUID");
    let ids = errors.check(FieldName::User, ids.ok_or_else(malformed).and_then(UserIds::parse));
    ids.ok_or_else(|| errors.into())
}

/// List the directory of users
///
/// Enabled accounts that are `discoverable`, including the caller's own. Newest account first.
#[utoipa::path(get, path = "", operation_id = "listDirectory", tag = "People", params(ShortPaging),
    responses((status = 200, description = "A page of profiles.", body = ProfilesAnswer)))]
pub(crate) async fn directory(request: ListRequest, caller: Auth<Member>) -> HandlerResult {
    let (people, page) = (&request.state.services.people, request.query.short_page(List::Directory)?);
    answer(&request, List::Directory, page, async |page| people.directory(&caller, page).await).await
}

/// List the profiles of a user's followers
///
/// Newest follow first. For the user, the user's followers and every ADMIN.
#[utoipa::path(get, path = "", operation_id = "listFollowerProfiles", tag = "People", params(ShortPaging),
    responses((status = 200, description = "A page of profiles.", body = ProfilesAnswer), NotFound))]
pub(crate) async fn list_followers(request: ListRequest, caller: Auth<Member>, id: PathId<UserId>) -> HandlerResult {
    let (people, page) = (&request.state.services.people, request.query.short_page(List::Follows)?);
    answer(&request, List::Follows, page, async |page| people.list_followers(&caller, id.0, page).await).await
}

/// List the profiles of the users whom a user follows
///
/// Newest follow first. For the user, the user's followers and every ADMIN.
#[utoipa::path(get, path = "", operation_id = "listFollowedProfiles", tag = "People", params(ShortPaging),
    responses((status = 200, description = "A page of profiles.", body = ProfilesAnswer), NotFound))]
pub(crate) async fn list_followed(request: ListRequest, caller: Auth<Member>, id: PathId<UserId>) -> HandlerResult {
    let (people, page) = (&request.state.services.people, request.query.short_page(List::Follows)?);
    answer(&request, List::Follows, page, async |page| people.list_followed(&caller, id.0, page).await).await
}

/// Responds with a page of profiles.
pub(super) async fn answer(
    request: &ListRequest,
    list: List,
    page: PageRequest,
    read: impl AsyncFnMut(PageRequest) -> agora_domain::Result<Page<Profile>>,
) -> HandlerResult {
    let render = |profile: &Profile, entry: Entry<'_>| entry.write(&ProfileBody::of(profile, &request.state));
    request.answer(list, page, |_| empty_list(SUCCESS), read, render).await
}
