//! `/api/auth`: registration, login, renewal, logout.

use actix_web::{http::StatusCode, web::Data};
use agora_domain::accounts::{Caller, Login, Member, Registration};
use serde::{Deserialize, Serialize};

use crate::{
    body::Body,
    envelope::{Answer, Rendered, done, json, respond},
    extract::Auth,
    idempotency::Attempt,
    json::{Fields, Given},
    state::State,
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
    fn parse(self) -> agora_domain::Result<Registration> {
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

#[derive(Serialize)]
struct Registered {
    message: &'static str,
}

/// `POST /api/auth/register`
pub(crate) async fn register(state: Data<State>, attempt: Attempt, body: Body) -> Answer {
    let registration = body.json::<RegisterBody>().await?.parse()?;
    let answer = |&(): &()| Rendered::new(StatusCode::CREATED, &Registered { message: "User registered successfully" });
    state.services.accounts.register(registration, attempt.once(answer)).await?;
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
    fn parse(self) -> agora_domain::Result<Login> {
        let mut fields = Fields::default();
        let identifier = fields.any_text("identifier", [self.identifier, self.email, self.username]);
        let password = fields.text("password", self.password);
        fields.finish(Login::parse(identifier.as_deref(), password.as_deref()))
    }
}

#[derive(Serialize)]
struct Token {
    token: String,
}

/// `POST /api/auth/login`
pub(crate) async fn login(state: Data<State>, body: Body) -> Answer {
    let login = body.json::<LoginBody>().await?.parse()?;
    let token = state.services.authentication.login(&login).await?;
    json(StatusCode::OK, &Token { token })
}

/// `POST /api/auth/refresh`
pub(crate) async fn refresh(state: Data<State>, Auth(caller): Auth<Member>) -> Answer {
    let token = state.services.authentication.refresh(&caller).await?;
    json(StatusCode::OK, &Token { token })
}

/// `POST /api/auth/logout`
pub(crate) async fn logout(state: Data<State>, Auth(caller): Auth<Caller>) -> Answer {
    state.services.authentication.logout(&caller).await?;
    done("Logged out successfully")
}
