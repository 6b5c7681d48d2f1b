//! `/api/auth/password`, `/api/auth/email`, `/api/users/me/email`: tokens that are sent by mail, to reset passwords and to verify
//! email addresses.

use actix_web::web::Data;
use agora_domain::accounts::{Email, LoginIdentifier, Member, Password, PasswordAttempt};
use agora_domain::mail::{MailToken, Verification};
use garde::Validate;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::core::{Client, State, schema};
use crate::request::{Auth, Body, Field, required};
use crate::response::{Done, HandlerResult, Rendered, SUCCESS, UserAnswer, UserBody, done, ok, respond};

/// The account whose password was forgotten.
#[derive(Deserialize, Validate, ToSchema)]
pub(crate) struct ForgottenPassword {
    #[garde(custom(required))]
    #[schema(schema_with = schema::identifier)]
    identifier: Field<LoginIdentifier>,
}

/// Request a password reset by mail
///
/// Mails a token to the account's address, if the account exists, is enabled and has not requested three within an hour, and if
/// the service sends mail. The answer is the same in any case, in the same time.
#[utoipa::path(get, path = "", operation_id = "forgotPassword", tag = "Authentication", request_body = ForgottenPassword,
    responses((status = 202, description = "`If there is such an account, a mail is on its way`", body = Done)))]
pub(crate) async fn forgot_password(state: Data<State>, body: Body) -> HandlerResult {
    let identifier = body.valid_json::<ForgottenPassword>().await?.identifier.validated()?;
    state.services.account_mail.forgot_password(&identifier).await?;
    respond(Rendered::accepted("If there is such an account, a mail is on its way"))
}

/// A new password in place of a forgotten one.
#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PasswordReset)]
pub(crate) struct PasswordResetRequest {
    #[garde(custom(required))]
    #[schema(schema_with = schema::mail_token)]
    token: Field<MailToken>,
    #[garde(custom(required))]
    #[schema(schema_with = schema::password)]
    new_password: Field<Password>,
}

/// Reset the password with a token from a mail
///
/// Ends every session of the account. A token can be used once, within 30 minutes; a rejected password (400) does not use it up.
#[utoipa::path(get, path = "", operation_id = "resetPassword", tag = "Authentication", request_body = PasswordResetRequest,
    responses((status = 200, description = "`Password changed successfully`", body = Done)))]
pub(crate) async fn reset_password(state: Data<State>, Client(client): Client, body: Body) -> HandlerResult {
    let PasswordResetRequest { token, new_password } = body.valid_json().await?;
    let (token, new) = (token.validated()?, new_password.validated()?);
    state.services.account_mail.reset_password(client, &token, &new).await?;
    done("Password changed successfully")
}

/// Request a mail to verify the email address
///
/// Three an hour (then 429). If the address is verified already, the answer is 200 and nothing is sent.
#[utoipa::path(get, path = "", operation_id = "requestEmailVerification", tag = "Users",
    responses(
        (status = 200, description = "`Email is verified already`", body = Done),
        (status = 202, description = "`A mail is on its way`", body = Done),
    ))]
pub(crate) async fn request_verification(state: Data<State>, caller: Auth<Member>) -> HandlerResult {
    match state.services.account_mail.request_verification(&caller).await? {
        Verification::Requested => respond(Rendered::accepted("A mail is on its way")),
        Verification::Done => done("Email is verified already"),
    }
}

/// A token from a mail.
#[derive(Deserialize, Validate, ToSchema)]
pub(crate) struct EmailToken {
    #[garde(custom(required))]
    #[schema(schema_with = schema::mail_token)]
    token: Field<MailToken>,
}

/// Verify an email address with a token from a mail
///
/// Either the present address of the account, or a new one, which then replaces it. A token can be used once, within 24 hours.
#[utoipa::path(get, path = "", operation_id = "verifyEmail", tag = "Authentication", request_body = EmailToken,
    responses((status = 200, description = "`Email verified successfully`", body = Done)))]
pub(crate) async fn verify_email(state: Data<State>, body: Body) -> HandlerResult {
    let token = body.valid_json::<EmailToken>().await?.token.validated()?;
    state.services.account_mail.verify_email(&token).await?;
    done("Email verified successfully")
}

/// A new email address.
#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EmailChange {
    #[garde(custom(required))]
    #[schema(schema_with = schema::email)]
    email: Field<Email>,
    #[garde(custom(required))]
    #[schema(schema_with = schema::attempted_password)]
    current_password: Field<PasswordAttempt>,
}

/// Change the email address
///
/// If the service sends mail, a token goes to the new address, and the present address is notified. The new address takes effect
/// once it is verified; until then the answer has the present one. If the service sends no mail, the new address takes effect at
/// once. An address that is taken in any letter case is a conflict (409). Three an hour (then 429).
#[utoipa::path(get, path = "", operation_id = "changeEmail", tag = "Users", request_body = EmailChange,
    responses((status = 200, description = "The account as it is at present.", body = UserAnswer)))]
pub(crate) async fn change_email(
    state: Data<State>,
    caller: Auth<Member>,
    Client(client): Client,
    body: Body,
) -> HandlerResult {
    let EmailChange { email, current_password } = body.valid_json().await?;
    let (email, current) = (email.validated()?, current_password.validated()?);
    let account = state.services.account_mail.change_email(&caller, client, &current, email).await?;
    ok(SUCCESS, UserBody::of(&account, &state))
}
