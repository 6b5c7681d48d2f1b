//! `/api/users`: the own account, and the administration of all.

use actix_web::web::Data;
use agora_domain::{
    accounts::{Account, Admin, Caller, Member, RoleChange},
    id::UserId,
};
use serde::Deserialize;

use crate::{
    core::{client_ip::Client, state::State},
    request::{
        body::Body,
        cursor::List,
        extract::{Auth, PathId, RequestedBy},
        json::{Fields, Given},
        multipart::{Accepts, FormOrJson},
        parameters::{Known, Paging},
        schemas,
    },
    response::{
        answers::{Done, UserAnswer, UsersAnswer},
        conditional::{Cache, Conditional},
        envelope::{Answer, Rendered, SUCCESS, done, empty_list, ok},
        failures::NotFound,
        list::{Entry, ListRequest},
        views::UserBody,
    },
};

/// Read the own account
#[utoipa::path(
    get, path = "/api/users/me", operation_id = "getMe", tag = "Users",
    params(Known),
    responses((status = 200, description = "The account.", body = UserAnswer)),
)]
pub(crate) async fn me(state: Data<State>, Auth(caller): Auth<Caller>, conditional: Conditional) -> Answer {
    let account = state.services.accounts.me(&caller).await?;
    conditional.answer(Cache::Private, None, Rendered::ok(SUCCESS, UserBody::of(&account, &state))?)
}

#[derive(Deserialize, Default)]
pub(crate) struct ProfileBody {
    #[serde(default)]
    biography: Given<String>,
}

/// Change the own account
///
/// What is given changes. A picture can come in a form alone.
#[utoipa::path(
    put, path = "/api/users/me", operation_id = "updateMe", tag = "Users",
    request_body(
        content((schemas::ProfileForm = "multipart/form-data"), (schemas::ProfileChange = "application/json")),
    ),
    responses((status = 200, description = "The account as it is now.", body = UserAnswer)),
)]
pub(crate) async fn update_me(
    state: Data<State>,
    Auth(caller): Auth<Member>,
    RequestedBy(requester): RequestedBy,
    body: Body,
) -> Answer {
    let accepts = Accepts { texts: &[("biography", "biography")], image: "profilePicture" };
    let mut fields = Fields::default();
    let (biography, picture) = match body.form_or_json(accepts, state.max_image_bytes).await? {
        FormOrJson::Form(mut form) => {
            let taken = (form.take("biography"), form.take_image());
            fields.merge(form.errors);
            taken
        }
        FormOrJson::Json(ProfileBody { biography }) => (fields.text("biography", biography), None),
    };
    fields.check()?;
    let account = state.services.accounts.update_profile(&caller, &requester, biography.as_deref(), picture).await?;
    ok(SUCCESS, UserBody::of(&account, &state))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PasswordBody {
    #[serde(default)]
    current_password: Given<String>,
    #[serde(default)]
    new_password: Given<String>,
}

/// Change the own password
///
/// Ends every other session of the account.
#[utoipa::path(
    put, path = "/api/users/me/password", operation_id = "changePassword", tag = "Users",
    request_body = schemas::PasswordChange,
    responses((status = 200, description = "`Password changed successfully`", body = Done)),
)]
pub(crate) async fn change_password(
    state: Data<State>,
    Auth(caller): Auth<Member>,
    Client(client): Client,
    body: Body,
) -> Answer {
    let body: PasswordBody = body.json().await?;
    let mut fields = Fields::default();
    let current = fields.text("currentPassword", body.current_password);
    let new = fields.text("newPassword", body.new_password);
    let (authentication, current, new) = (&state.services.authentication, current.as_deref(), new.as_deref());
    fields.finish(authentication.change_password(&caller, client, current, new).await)?;
    done("Password changed successfully")
}

/// List all accounts
///
/// Oldest first.
#[utoipa::path(
    get, path = "/api/users/all", operation_id = "listUsers", tag = "Users",
    params(Paging),
    responses((status = 200, description = "A page of accounts.", body = UsersAnswer)),
)]
pub(crate) async fn list(request: ListRequest, Auth(admin): Auth<Admin>) -> Answer {
    let (state, page) = (&request.state, request.query.page(List::Users)?);
    let read = async |page| state.services.accounts.list(&admin, page).await;
    let render = |account: &Account, entry: Entry<'_>| entry.write(&UserBody::of(account, state));
    request.answer(List::Users, page, |_| empty_list(SUCCESS), read, render).await
}

/// Read an account
#[utoipa::path(
    get, path = "/api/users/by-id/{id}", operation_id = "getUser", tag = "Users",
    responses((status = 200, description = "The account.", body = UserAnswer), NotFound),
)]
pub(crate) async fn get(state: Data<State>, Auth(admin): Auth<Admin>, id: PathId<UserId>) -> Answer {
    let account = state.services.accounts.get(&admin, id.get()).await?;
    ok(SUCCESS, UserBody::of(&account, &state))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RoleBody {
    #[serde(default)]
    role_id: Given<String>,
    #[serde(default)]
    action: Given<String>,
}

/// Give or take a role
///
/// To add a role that is there, or to remove one that is not, does nothing. The last enabled ADMIN cannot lose the
/// role (400).
#[utoipa::path(
    put, path = "/api/users/update/{userId}", operation_id = "changeUserRole", tag = "Users",
    request_body = schemas::RoleChange,
    responses((status = 200, description = "The account has the role, or has it not.", body = Done), NotFound),
)]
pub(crate) async fn change_role(
    state: Data<State>,
    Auth(admin): Auth<Admin>,
    id: PathId<UserId>,
    body: Body,
) -> Answer {
    let account = state.services.accounts.managed(&admin, id.get()).await?;
    let body: RoleBody = body.json().await?;
    let mut fields = Fields::default();
    let role_id = fields.text("roleId", body.role_id);
    let action = fields.text("action", body.action);
    let change = fields.finish(RoleChange::parse(role_id.as_deref(), action.as_deref()))?;
    state.services.accounts.change_role(account, change).await?;
    done(SUCCESS)
}

#[derive(Deserialize)]
pub(crate) struct EnabledBody {
    #[serde(default)]
    enabled: Given<bool>,
}

/// Enable or disable an account
///
/// Disabling ends every session of the account. The last enabled ADMIN cannot be disabled (400).
#[utoipa::path(
    put, path = "/api/users/{userId}/enabled", operation_id = "setUserEnabled", tag = "Users",
    request_body = schemas::EnabledChange,
    responses((status = 200, description = "The account is enabled, or is not.", body = Done), NotFound),
)]
pub(crate) async fn set_enabled(
    state: Data<State>,
    Auth(admin): Auth<Admin>,
    id: PathId<UserId>,
    body: Body,
) -> Answer {
    let account = state.services.accounts.managed(&admin, id.get()).await?;
    let body: EnabledBody = body.json().await?;
    let mut fields = Fields::default();
    let enabled = fields.take("enabled", body.enabled, "true or false");
    fields.require("enabled", enabled.is_some(), "enabled is required");
    fields.check()?;
    state.services.accounts.set_enabled(account, enabled.unwrap_or_default()).await?;
    done(SUCCESS)
}
