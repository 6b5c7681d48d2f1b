//! `/api/users`: the own account, and the administration of all.

use actix_web::web::Data;
use agora_domain::{
    accounts::{Admin, Caller, Member, RoleChange},
    id::UserId,
};
use serde::Deserialize;

use crate::{
    body::Body,
    conditional::{Cache, Conditional},
    cursor::List,
    envelope::{Answer, Rendered, SUCCESS, done, linked, ok},
    extract::{Auth, PathId},
    form::{Accepts, FormOrJson},
    json::{Fields, Given},
    paging::Query,
    render::UserBody,
    state::State,
};

/// `GET /api/users/me`
pub(crate) async fn me(state: Data<State>, Auth(caller): Auth<Caller>, conditional: Conditional) -> Answer {
    let account = state.services.accounts.me(&caller).await?;
    conditional.answer(Cache::Private, None, Rendered::ok(SUCCESS, UserBody::of(&account, &state))?)
}

#[derive(Deserialize, Default)]
pub(crate) struct ProfileBody {
    #[serde(default)]
    biography: Given<String>,
}

/// `PUT /api/users/me`
pub(crate) async fn update_me(state: Data<State>, Auth(caller): Auth<Member>, body: Body) -> Answer {
    let accepts = Accepts { texts: &[("biography", "biography")], image: "profilePicture" };
    let mut fields = Fields::default();
    let (biography, picture) = match body.form_or_json(accepts, state.settings.max_image_bytes).await? {
        FormOrJson::Form(mut form) => {
            let taken = (form.take("biography"), form.take_image());
            fields.merge(form.errors);
            taken
        }
        FormOrJson::Json(ProfileBody { biography }) => (fields.text("biography", biography), None),
    };
    fields.check()?;
    let account = state.services.accounts.update_profile(&caller, biography.as_deref(), picture).await?;
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

/// `PUT /api/users/me/password`
pub(crate) async fn change_password(state: Data<State>, Auth(caller): Auth<Member>, body: Body) -> Answer {
    let body: PasswordBody = body.json().await?;
    let mut fields = Fields::default();
    let current = fields.text("currentPassword", body.current_password);
    let new = fields.text("newPassword", body.new_password);
    let changed = state.services.authentication.change_password(&caller, current.as_deref(), new.as_deref()).await;
    fields.finish(changed)?;
    done("Password changed successfully")
}

/// `GET /api/users/all`
pub(crate) async fn list(state: Data<State>, Auth(admin): Auth<Admin>, query: Query) -> Answer {
    let page = state.services.accounts.list(&admin, query.page(List::Users)?).await?;
    let users: Vec<_> = page.items.iter().map(|account| UserBody::of(account, &state)).collect();
    linked(ok(SUCCESS, users), &query, &state.settings, List::Users, &page)
}

/// `GET /api/users/by-id/{id}`
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

/// `PUT /api/users/update/{userId}`
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

/// `PUT /api/users/{userId}/enabled`
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
