//! `/api/auth`: registration, login, renewal, logout.

use std::error::Error as _;

use actix_web::{http::StatusCode, rt, web::Data};
use agora_domain::accounts::{Caller, LoggedIn, Login, Member, Registration, Rehash};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    core::{client_ip::Client, schema, state::State},
    middleware::idempotency::Attempt,
    request::{
        body::Body,
        extract::Auth,
        json::{Fields, Given},
        schemas,
    },
    response::{
        answers::Done,
        envelope::{Answer, Rendered, done, json, respond},
        failures::Unauthorized,
    },
};

#[derive(Deserialize)]
pub(crate) struct RegisterBody {
    #[serde(default)]
    username: Given<String>,
    #[serde(default)]
    name: Given<String>,
    #[serde(default)]
    email: Given<String>,
    #[serde(default)]
    password: Given<String>,
    #[serde(default)]
    biography: Given<String>,
}

impl RegisterBody {
    pub(crate) fn parse(self) -> agora_domain::Result<Registration> {
        let mut fields = Fields::default();
        let username = fields.any_text("username", [self.username, self.name]);
        let email = fields.text("email", self.email);
        let password = fields.text("password", self.password);
        let biography = fields.text("biography", self.biography);
        let parsed =
            Registration::parse(username.as_deref(), email.as_deref(), password.as_deref(), biography.as_deref());
        fields.finish(parsed)
    }
}

/// The account was registered.
#[derive(Serialize, ToSchema)]
struct Registered {
    #[schema(schema_with = schema::message)]
    message: &'static str,
}

/// Register an account
///
/// The account has the role USER. A username or an email address that is taken in any letter case is a conflict
/// (409).
#[utoipa::path(
    post, path = "/api/auth/register", operation_id = "register", tag = "Authentication",
    request_body = schemas::Registration,
    responses((status = 201, description = "`User registered successfully`", body = Registered)),
)]
pub(crate) async fn register(state: Data<State>, Client(client): Client, attempt: Attempt, body: Body) -> Answer {
    let registration = body.json::<RegisterBody>().await?.parse()?;
    let answer = |&(): &()| Rendered::new(StatusCode::CREATED, &Registered { message: "User registered successfully" });
    state.services.accounts.register(registration, client, attempt.once(answer)).await?;
    respond(answer(&()))
}

#[derive(Deserialize)]
pub(crate) struct LoginBody {
    #[serde(default)]
    identifier: Given<String>,
    #[serde(default)]
    email: Given<String>,
    #[serde(default)]
    username: Given<String>,
    #[serde(default)]
    password: Given<String>,
}

impl LoginBody {
    pub(crate) fn parse(self) -> agora_domain::Result<Login> {
        let mut fields = Fields::default();
        let identifier = fields.any_text("identifier", [self.identifier, self.email, self.username]);
        let password = fields.text("password", self.password);
        fields.finish(Login::parse(identifier.as_deref(), password.as_deref()))
    }
}

/// A token.
#[derive(Serialize, ToSchema)]
struct Token {
    #[schema(schema_with = schema::token)]
    token: String,
}

/// Log in
///
/// Opens a session and returns its token, which is valid for an hour unless configured otherwise. An unknown account,
/// a wrong password and a disabled account are the same 401.
#[utoipa::path(
    post, path = "/api/auth/login", operation_id = "login", tag = "Authentication",
    request_body = schemas::Credentials,
    responses((status = 200, description = "The token.", body = Token), Unauthorized),
)]
pub(crate) async fn login(state: Data<State>, Client(client): Client, body: Body) -> Answer {
    let login = body.json::<LoginBody>().await?.parse()?;
    let LoggedIn { token, rehash } = state.services.authentication.login(&login, client).await?;
    if let Some(rehash) = rehash {
        rt::spawn(renew_hash(state, rehash));
    }
    json(StatusCode::OK, &Token { token })
}

/// Hashes a password anew after its login was answered, which does not wait for it.
async fn renew_hash(state: Data<State>, rehash: Rehash) {
    if let Err(error) = state.services.authentication.rehash(rehash).await {
        tracing::warn!(%error, cause = ?error.source(), "could not renew a password hash");
    }
}

/// Renew the token
///
/// Returns a new token of the same session, up to 30 days after login.
#[utoipa::path(
    post, path = "/api/auth/refresh", operation_id = "refreshToken", tag = "Authentication",
    responses((status = 200, description = "The new token.", body = Token)),
)]
pub(crate) async fn refresh(state: Data<State>, Auth(caller): Auth<Member>) -> Answer {
    let token = state.services.authentication.refresh(&caller).await?;
    json(StatusCode::OK, &Token { token })
}

/// Log out
///
/// Ends the session of the token.
#[utoipa::path(
    post, path = "/api/auth/logout", operation_id = "logout", tag = "Authentication",
    responses((status = 200, description = "`Logged out successfully`", body = Done)),
)]
pub(crate) async fn logout(state: Data<State>, Auth(caller): Auth<Caller>) -> Answer {
    state.services.authentication.logout(&caller).await?;
    done("Logged out successfully")
}
