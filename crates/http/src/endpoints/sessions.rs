//! `/api/users/me/sessions`, `/api/admin/users/{userId}/sessions`: the open sessions of the caller or of another account.

use actix_web::web::Data;
use agora_domain::accounts::{Admin, Caller, SessionView, UserAgent};
use agora_domain::id::{SessionId, UserId};
use uuid::Uuid;

use crate::core::{State, schema};
use crate::request::{Auth, List, PathId, ShortPaging};
use crate::response::{
    Done, Entry, HandlerResult, Instant, ListRequest, NotFound, SUCCESS, answers, done, empty_list, views,
};

answers! {
    /// The sessions of the caller.
    SessionsAnswer { Vec<SessionBody<'static>> }
    /// The sessions of an account.
    AccountSessionsAnswer { Vec<AccountSessionBody<'static>> }
}

views! {
    /// An open session of the caller.
    SessionBody as Session of view: SessionView, caller: &Caller {
        /// The id of the session.
        id: Uuid = view.session.id.uuid(),
        /// Whether it is the session of this request.
        current: bool = view.session.id == caller.session.id,
        opened_at: Instant [schema::opened_at] = Instant(view.session.opened_at),
        last_seen_at: Instant [schema::last_seen_at] = Instant(view.last_seen_at),
        user_agent: Option<&'a str> [schema::user_agent] = view.user_agent.as_ref().map(UserAgent::as_str),
    }

    /// An open session of an account.
    AccountSessionBody as AccountSession of view: SessionView {
        /// The id of the session.
        id: Uuid = view.session.id.uuid(),
        opened_at: Instant [schema::opened_at] = Instant(view.session.opened_at),
        last_seen_at: Instant [schema::last_seen_at] = Instant(view.last_seen_at),
        user_agent: Option<&'a str> [schema::user_agent] = view.user_agent.as_ref().map(UserAgent::as_str),
    }
}

/// List the caller's sessions
///
/// Newest login first. Sessions are listed until they end, or until a token that was renewed at the last moment, 30 days
/// after the login, would have expired.
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
/// Ends one of the caller's sessions, which may be that of this request.
#[utoipa::path(get, path = "", operation_id = "endSession", tag = "Users",
    responses((status = 200, description = "`success`", body = Done), NotFound))]
pub(crate) async fn end(state: Data<State>, caller: Auth<Caller>, id: PathId<SessionId>) -> HandlerResult {
    state.services.authentication.end_session(&caller, id.0).await?;
    done(SUCCESS)
}

/// End all other sessions
///
/// Ends all of the caller's sessions except that of this request.
#[utoipa::path(get, path = "", operation_id = "endOtherSessions", tag = "Users",
    responses((status = 200, description = "`success`", body = Done)))]
pub(crate) async fn end_others(state: Data<State>, caller: Auth<Caller>) -> HandlerResult {
    state.services.authentication.end_other_sessions(&caller).await?;
    done(SUCCESS)
}

/// List the sessions of an account
///
/// Newest login first. Sessions are listed until they end, or until a token that was renewed at the last moment, 30 days
/// after the login, would have expired.
#[utoipa::path(get, path = "", operation_id = "listAccountSessions", tag = "Administration", params(ShortPaging),
    responses((status = 200, description = "A page of sessions.", body = AccountSessionsAnswer), NotFound))]
pub(crate) async fn list_of(request: ListRequest, admin: Auth<Admin>, id: PathId<UserId>) -> HandlerResult {
    let page = request.query.short_page(List::Sessions)?;
    let accounts = &request.state.services.accounts;
    let account = accounts.managed(&admin, id.0).await?;
    let read = async |page| accounts.list_sessions(account, page).await;
    let render = |view: &SessionView, entry: Entry<'_>| entry.write(&AccountSessionBody::of(view));
    request.answer(List::Sessions, page, |_| empty_list(SUCCESS), read, render).await
}

/// End all sessions of an account
///
/// The user has to log in again on every device. Safe to repeat.
#[utoipa::path(get, path = "", operation_id = "endAccountSessions", tag = "Administration",
    responses((status = 200, description = "`success`", body = Done), NotFound))]
pub(crate) async fn end_of(state: Data<State>, admin: Auth<Admin>, id: PathId<UserId>) -> HandlerResult {
    let account = state.services.accounts.managed(&admin, id.0).await?;
    state.services.accounts.end_sessions(account).await?;
    done(SUCCESS)
}
