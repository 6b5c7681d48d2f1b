//! `/api/users/me/sessions`: where the caller is logged in.

use actix_web::web::Data;
use agora_domain::accounts::{Caller, SessionView, UserAgent};
use agora_domain::id::SessionId;
use uuid::Uuid;

use crate::core::{State, schema};
use crate::request::{Auth, List, PathId, ShortPaging};
use crate::response::{
    Done, Entry, HandlerResult, Instant, ListRequest, NotFound, SUCCESS, answers, done, empty_list, views,
};

answers! {
    /// Where the caller is logged in.
    SessionsAnswer { Vec<SessionBody<'static>> }
}

views! {
    /// A login that goes on.
    SessionBody as Session of view: SessionView, caller: &Caller {
        /// Names the session.
        id: Uuid = view.session.id.uuid(),
        /// Whether it is the one that asks.
        current: bool = view.session.id == caller.session.id,
        opened_at: Instant [schema::opened_at] = Instant(view.session.opened_at),
        last_seen_at: Instant [schema::last_seen_at] = Instant(view.last_seen_at),
        user_agent: Option<&'a str> [schema::user_agent] = view.user_agent.as_ref().map(UserAgent::as_str),
    }
}

/// List where the caller is logged in
///
/// Newest login first: those that were not ended and are at most 30 days old.
#[utoipa::path(get, path = "", operation_id = "listSessions", tag = "Users", params(ShortPaging),
    responses((status = 200, description = "A page of sessions.", body = SessionsAnswer)))]
pub(crate) async fn list(request: ListRequest, caller: Auth<Caller>) -> HandlerResult {
    let (state, page) = (&request.state, request.query.short_page(List::Sessions)?);
    let read = async |page| state.services.authentication.list_sessions(&caller, page).await;
    let render = |view: &SessionView, entry: Entry<'_>| entry.write(&SessionBody::of(view, &caller));
    request.answer(List::Sessions, page, |_| empty_list(SUCCESS), read, render).await
}

/// End a session
///
/// One of the caller's, which may be the one that asks.
#[utoipa::path(get, path = "", operation_id = "endSession", tag = "Users",
    responses((status = 200, description = "`success`", body = Done), NotFound))]
pub(crate) async fn end(state: Data<State>, caller: Auth<Caller>, id: PathId<SessionId>) -> HandlerResult {
    state.services.authentication.end_session(&caller, id.0).await?;
    done(SUCCESS)
}

/// End all other sessions
///
/// Those of the caller but the one that asks.
#[utoipa::path(get, path = "", operation_id = "endOtherSessions", tag = "Users",
    responses((status = 200, description = "`success`", body = Done)))]
pub(crate) async fn end_others(state: Data<State>, caller: Auth<Caller>) -> HandlerResult {
    state.services.authentication.end_other_sessions(&caller).await?;
    done(SUCCESS)
}
