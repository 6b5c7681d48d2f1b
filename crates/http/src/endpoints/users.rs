//! `/api/users`: the caller's own account, and the administration of accounts.

use actix_web::web::Data;
use agora_domain::FieldErrors;
use agora_domain::accounts::{
    Account, Admin, Biography, Caller, DisplayName, Member, Password, PasswordAttempt, PrivacyChanges, ProfileFields,
    Role, RoleAction, RoleChange,
};
use agora_domain::error::FieldName;
use agora_domain::id::UserId;
use bytes::Bytes;
use garde::Validate;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::core::{Client, State, schema, schema_variants, spelling};
use crate::request::{
    Auth, Body, Field, FormBody, IfNoneMatch, List, Paging, PathId, RequestedBy, Submission, optional, required,
};
use crate::response::{
    Cache, Conditional, Done, Entry, HandlerResult, ListRequest, NotFound, Rendered, SUCCESS, UserAnswer, UserBody,
    UsersAnswer, done, empty_list, ok,
};

/// Get the caller's account
#[utoipa::path(get, path = "", operation_id = "getMe", tag = "Users", params(IfNoneMatch),
    responses((status = 200, description = "The account.", body = UserAnswer)))]
pub(crate) async fn me(state: Data<State>, caller: Auth<Caller>, conditional: Conditional) -> HandlerResult {
    let account = state.services.accounts.me(&caller).await?;
    conditional.answer(Cache::Private, None, Rendered::ok(SUCCESS, UserBody::of(&account, &state))?)
}

/// Changes to the caller's account. Absent fields stay as they are.
#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProfileChange {
    #[garde(custom(optional))]
    #[schema(schema_with = schema::new_display_name, required = false)]
    display_name: Field<Option<DisplayName>>,
    #[garde(custom(optional))]
    #[schema(schema_with = schema::new_biography, required = false)]
    biography: Field<Option<Biography>>,
    #[garde(custom(optional))]
    #[schema(schema_with = schema::discoverable, required = false)]
    discoverable: Field<bool>,
    #[garde(custom(optional))]
    #[schema(schema_with = schema::searchable, required = false)]
    searchable: Field<bool>,
    #[garde(custom(optional))]
    #[schema(schema_with = schema::hide_counts, required = false)]
    hide_counts: Field<bool>,
    #[garde(custom(optional))]
    #[schema(schema_with = schema::remove_profile_picture, required = false)]
    remove_profile_picture: Field<bool>,
}

impl ProfileChange {
    fn fields(self, picture: Option<Bytes>, errors: FieldErrors) -> ProfileFields {
        let privacy = PrivacyChanges {
            discoverable: self.discoverable.value(),
            searchable: self.searchable.value(),
            hide_counts: self.hide_counts.value(),
        };
        ProfileFields {
            display_name: self.display_name.value(),
            biography: self.biography.value(),
            privacy,
            picture,
            remove_picture: self.remove_profile_picture.value().unwrap_or_default(),
            errors,
        }
    }
}

impl FormBody for ProfileChange {
    const TEXTS: &'static [FieldName] = &[
        FieldName::DisplayName,
        FieldName::Biography,
        FieldName::Discoverable,
        FieldName::Searchable,
        FieldName::HideCounts,
        FieldName::RemoveProfilePicture,
    ];
    const FLAGS: &'static [FieldName] =
        &[FieldName::Discoverable, FieldName::Searchable, FieldName::HideCounts, FieldName::RemoveProfilePicture];
    const IMAGE: FieldName = FieldName::ProfilePicture;
}

schema_variants! {
    /// Changes to the caller's account. Absent fields stay as they are.
    ProfileForm of ProfileChange: |form| schema::set(form, spelling(ProfileChange::IMAGE), schema::image_file());
}

/// Update the caller's account
///
/// Given fields change. A picture can only be sent in a form.
#[utoipa::path(get, path = "", operation_id = "updateMe", tag = "Users",
    request_body(content((ProfileForm = "multipart/form-data"), (ProfileChange = "application/json"))),
    responses((status = 200, description = "The account after the change.", body = UserAnswer)))]
pub(crate) async fn update_me(
    state: Data<State>,
    caller: Auth<Member>,
    RequestedBy(requester): RequestedBy,
    body: Body,
) -> HandlerResult {
    let Submission { body, image: picture, errors } = body.form_or_json::<ProfileChange>(state.max_image_bytes).await?;
    let fields = body.fields(picture, errors);
    let account = state.services.accounts.update_profile(&caller, &requester, fields).await?;
    ok(SUCCESS, UserBody::of(&account, &state))
}

/// A new password.
#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PasswordChange {
    #[garde(custom(required))]
    #[schema(schema_with = schema::attempted_password)]
    current_password: Field<PasswordAttempt>,
    #[garde(custom(required))]
    #[schema(schema_with = schema::password)]
    new_password: Field<Password>,
}

/// Change the password
///
/// Ends every other session of the account.
#[utoipa::path(get, path = "", operation_id = "changePassword", tag = "Users", request_body = PasswordChange,
    responses((status = 200, description = "`Password changed successfully`", body = Done)))]
pub(crate) async fn change_password(
    state: Data<State>,
    caller: Auth<Member>,
    Client(client): Client,
    body: Body,
) -> HandlerResult {
    let PasswordChange { current_password, new_password } = body.valid_json().await?;
    let (current, new) = (current_password.validated()?, new_password.validated()?);
    state.services.authentication.change_password(&caller, client, &current, &new).await?;
    done("Password changed successfully")
}

/// The password of the account to delete.
#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccountDeletion {
    #[garde(custom(required))]
    #[schema(schema_with = schema::attempted_password)]
    current_password: Field<PasswordAttempt>,
}

/// Delete the caller's account
///
/// This cannot be undone. The account and all its content disappear for everybody at once, and every session ends; its rows and
/// images are erased within the hour. Nobody can take its username and email address for 30 days. The last enabled ADMIN cannot
/// be deleted (400). `DELETE /api/users/me` does the same, for clients that send a body with it.
#[utoipa::path(get, path = "", operation_id = "deleteMe", tag = "Users", request_body = AccountDeletion,
    responses((status = 200, description = "`Account deleted successfully`", body = Done)))]
pub(crate) async fn delete_me(
    state: Data<State>,
    caller: Auth<Caller>,
    Client(client): Client,
    body: Body,
) -> HandlerResult {
    let current = body.valid_json::<AccountDeletion>().await?.current_password.validated()?;
    state.services.deletion.delete(&caller, client, &current).await?;
    done("Account deleted successfully")
}

/// List all accounts
///
/// Oldest first.
#[utoipa::path(get, path = "", operation_id = "listUsers", tag = "Users", params(Paging),
    responses((status = 200, description = "A page of accounts.", body = UsersAnswer)))]
pub(crate) async fn list(request: ListRequest, admin: Auth<Admin>) -> HandlerResult {
    let (state, page) = (&request.state, request.query.page(List::Users)?);
    let read = async |page| state.services.accounts.list(&admin, page).await;
    let render = |account: &Account, entry: Entry<'_>| entry.write(&UserBody::of(account, state));
    request.answer(List::Users, page, |_| empty_list(SUCCESS), read, render).await
}

/// Get an account
#[utoipa::path(get, path = "", operation_id = "getUser", tag = "Users",
    responses((status = 200, description = "The account.", body = UserAnswer), NotFound))]
pub(crate) async fn get(state: Data<State>, admin: Auth<Admin>, id: PathId<UserId>) -> HandlerResult {
    let account = state.services.accounts.get(&admin, id.0).await?;
    ok(SUCCESS, UserBody::of(&account, &state))
}

/// A role to add or remove.
#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RoleChange)]
pub(crate) struct RoleChangeRequest {
    #[garde(custom(required))]
    #[schema(schema_with = schema::role)]
    role_id: Field<Role>,
    #[garde(custom(required))]
    #[schema(schema_with = schema::role_action)]
    action: Field<RoleAction>,
}

/// Add or remove a role
///
/// Adding a role that the account has, or removing one that it lacks, has no effect. The last enabled ADMIN cannot lose the role
/// (400).
#[utoipa::path(get, path = "", operation_id = "changeUserRole", tag = "Users", request_body = RoleChangeRequest,
    responses((status = 200, description = "The account now has the role, or no longer has it.", body = Done), NotFound))]
pub(crate) async fn change_role(
    state: Data<State>,
    admin: Auth<Admin>,
    id: PathId<UserId>,
    body: Body,
) -> HandlerResult {
    let account = state.services.accounts.managed(&admin, id.0).await?;
    let RoleChangeRequest { role_id, action } = body.valid_json().await?;
    let change = RoleChange { role: role_id.validated()?, action: action.validated()? };
    state.services.accounts.change_role(account, change).await?;
    done(SUCCESS)
}

/// Whether an account is enabled.
#[derive(Deserialize, Validate, ToSchema)]
pub(crate) struct EnabledChange {
    /// False ends every session of the account.
    #[garde(custom(required))]
    #[schema(value_type = bool)]
    enabled: Field<bool>,
}

/// Enable or disable an account
///
/// Disabling ends every session of the account. The last enabled ADMIN cannot be disabled (400).
#[utoipa::path(get, path = "", operation_id = "setUserEnabled", tag = "Users", request_body = EnabledChange,
    responses((status = 200, description = "The account is now enabled, or disabled.", body = Done), NotFound))]
pub(crate) async fn set_enabled(
    state: Data<State>,
    admin: Auth<Admin>,
    id: PathId<UserId>,
    body: Body,
) -> HandlerResult {
    let account = state.services.accounts.managed(&admin, id.0).await?;
    let EnabledChange { enabled } = body.valid_json().await?;
    state.services.accounts.set_enabled(account, enabled.validated()?).await?;
    done(SUCCESS)
}
