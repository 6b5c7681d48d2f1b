//! `/api/auth`: registration, login, renewal of tokens, logout.

use actix_web::http::StatusCode;
use actix_web::rt;
use actix_web::web::Data;
use agora_domain::accounts::{
    Biography, Caller, Email, LoggedIn, Login, LoginIdentifier, Member, Password, PasswordAttempt, Registration,
    Rehash, UserAgent, Username,
};
use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::core::{Client, State, schema};
use crate::middleware::RequestAttempt;
use crate::request::{Auth, Body, ClientUserAgent, Field, optional, required};
use crate::response::{Done, HandlerResult, Unauthorized, done, json};

/// The account to register.
#[derive(Deserialize, Validate, ToSchema)]
#[schema(as = Registration)]
pub(crate) struct RegisterRequest {
    #[garde(custom(|field, context: &()| required(Field::or_ref(field, &self.name), context)))]
    #[schema(schema_with = schema::username)]
    username: Field<Username>,
    #[garde(skip)]
    #[schema(schema_with = schema::username_alias, required = false)]
    name: Field<Username>,
    #[garde(custom(required))]
    #[schema(schema_with = schema::email)]
    email: Field<Email>,
    #[garde(custom(required))]
    #[schema(schema_with = schema::password)]
    password: Field<Password>,
    #[garde(custom(optional))]
    #[schema(schema_with = schema::new_biography, required = false)]
    biography: Field<Option<Biography>>,
}

impl RegisterRequest {
    fn into_registration(self) -> agora_domain::Result<Registration> {
        Ok(Registration {
            username: self.username.or(self.name).validated()?,
            email: self.email.validated()?,
            password: self.password.validated()?,
            biography: self.biography.value().flatten(),
        })
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
#[utoipa::path(get, path = "", operation_id = "register", tag = "Authentication", request_body = RegisterRequest,
    responses((status = 201, description = "`User registered successfully`", body = Registered)))]
pub(crate) async fn register(
    state: Data<State>,
    Client(client): Client,
    RequestAttempt(attempt): RequestAttempt,
    body: Body,
) -> HandlerResult {
    let registration = body.valid_json::<RegisterRequest>().await?.into_registration()?;
    state.services.accounts.register(registration, client, attempt).await?;
    json(StatusCode::CREATED, &Registered { message: "User registered successfully" })
}

/// The credentials of an account.
#[derive(Deserialize, Validate, ToSchema)]
#[schema(as = Credentials)]
pub(crate) struct LoginRequest {
    #[garde(custom(|field, context: &()| required(Field::or_ref(field, self.email.or_ref(&self.username)), context)))]
    #[schema(schema_with = schema::identifier)]
    identifier: Field<LoginIdentifier>,
    #[garde(skip)]
    #[schema(schema_with = schema::identifier_as_email, required = false)]
    email: Field<LoginIdentifier>,
    #[garde(skip)]
    #[schema(schema_with = schema::identifier_as_username, required = false)]
    username: Field<LoginIdentifier>,
    #[garde(custom(required))]
    #[schema(schema_with = schema::attempted_password)]
    password: Field<PasswordAttempt>,
}

impl LoginRequest {
    fn into_login(self, user_agent: Option<UserAgent>) -> agora_domain::Result<Login> {
        let identifier = self.identifier.or(self.email.or(self.username)).validated()?;
        Ok(Login { identifier, password: self.password.validated()?, user_agent })
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
/// Opens a session and returns its token, which is valid for an hour unless configured otherwise. The 401 is the same for an
/// unknown account, a wrong password and a disabled account.
#[utoipa::path(get, path = "", operation_id = "login", tag = "Authentication", request_body = LoginRequest,
    responses((status = 200, description = "The token.", body = Token), Unauthorized))]
pub(crate) async fn login(
    state: Data<State>,
    Client(client): Client,
    ClientUserAgent(user_agent): ClientUserAgent,
    body: Body,
) -> HandlerResult {
    let login = body.valid_json::<LoginRequest>().await?.into_login(user_agent)?;
    let LoggedIn { user, token, rehash } = state.services.authentication.login(&login, client).await?;
    if let Some(rehash) = rehash {
        rt::spawn(renew_hash(state.clone(), rehash));
    }
    // An account that has just been registered may not be on the replica yet.
    state.record_write(user).await;
    json(StatusCode::OK, &Token { token })
}

/// Replaces an outdated password hash. Runs in the background, after the login has been answered.
async fn renew_hash(state: Data<State>, rehash: Rehash) {
    if let Err(error) = state.services.authentication.rehash(rehash).await {
        tracing::warn!(cause = error.cause(), "could not renew a password hash");
    }
}

/// Renew the token
///
/// Returns a new token of the same session, up to 30 days after login.
#[utoipa::path(get, path = "", operation_id = "refreshToken", tag = "Authentication",
    responses((status = 200, description = "The new token.", body = Token)))]
pub(crate) async fn refresh(state: Data<State>, caller: Auth<Member>) -> HandlerResult {
    let token = state.services.authentication.refresh(&caller).await?;
    json(StatusCode::OK, &Token { token })
}

/// Log out
///
/// Ends the session of the token.
#[utoipa::path(get, path = "", operation_id = "logout", tag = "Authentication",
    responses((status = 200, description = "`Logged out successfully`", body = Done)))]
pub(crate) async fn logout(state: Data<State>, caller: Auth<Caller>) -> HandlerResult {
    state.services.authentication.logout(&caller).await?;
    done("Logged out successfully")
}
