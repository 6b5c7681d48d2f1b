//! The whole route table, with who may call what.

use actix_web::{Handler, Responder, Route, dev, http::Method, middleware::from_fn, web};

pub use crate::core::access::{Access, Limited, TakesKey};
use crate::{
    core::access::{self, Rule},
    endpoints::{accounts, comments, docs, follows, health, media, posts, products, users},
    middleware::authorize,
};

/// One method of one path.
pub struct Endpoint {
    /// The method. A GET endpoint answers HEAD as well.
    pub method: Method,
    /// The path, its parameters in braces.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// Whether it takes an `Idempotency-Key`.
    pub takes_key: TakesKey,
    /// How often a client address may call it, if that is limited.
    pub limited: Option<Limited>,
    route: Box<dyn Fn(Rule) -> Route>,
}

fn endpoint<H, Args>(method: Method, path: &'static str, access: Access, handler: H) -> Endpoint
where
    H: Handler<Args>,
    Args: actix_web::FromRequest + 'static,
    H::Output: Responder + 'static,
{
    let route = move |rule: Rule| {
        let guarded = move |request: dev::ServiceRequest, next| authorize::guard(rule, request, next);
        web::route().to(handler.clone()).wrap(from_fn(guarded))
    };
    Endpoint { method, path, access, takes_key: TakesKey::No, limited: None, route: Box::new(route) }
}

impl Endpoint {
    /// This endpoint, of requests that a client may send again under an `Idempotency-Key`.
    fn with_key(self) -> Self {
        Self { takes_key: TakesKey::WithJson, ..self }
    }

    /// The same, of requests that may carry an image.
    fn with_key_and_image(self) -> Self {
        Self { takes_key: TakesKey::WithImage, ..self }
    }

    /// The same, which an address may only call so often.
    fn limited(self, limited: Limited) -> Self {
        Self { limited: Some(limited), ..self }
    }

    /// What answers it.
    pub(crate) fn route(&self) -> Route {
        let Self { access, path, takes_key, limited, .. } = *self;
        (self.route)(Rule { access, path, takes_key, limited })
    }
}

/// Every endpoint. A path has one parameter at most.
#[rustfmt::skip]
pub fn endpoints() -> Vec<Endpoint> {
    use Access::{Account, Admin, Member, Public};
    let (get, post, put, delete) = (|| Method::GET, || Method::POST, || Method::PUT, || Method::DELETE);
    vec![
        endpoint(post(),   "/api/auth/register",               Public,  accounts::register).with_key().limited(Limited::Registration),
        endpoint(post(),   "/api/auth/login",                  Public,  accounts::login).limited(Limited::Login),
        endpoint(post(),   "/api/auth/refresh",                Member,  accounts::refresh),
        endpoint(post(),   "/api/auth/logout",                 Account, accounts::logout),

        endpoint(get(),    "/api/users/me",                    Account, users::me),
        endpoint(put(),    "/api/users/me",                    Member,  users::update_me),
        endpoint(put(),    "/api/users/me/password",           Member,  users::change_password),
        endpoint(get(),    "/api/users/all",                   Admin,   users::list),
        endpoint(get(),    "/api/users/by-id/{id}",            Admin,   users::get),
        endpoint(put(),    "/api/users/update/{userId}",       Admin,   users::change_role),
        endpoint(put(),    "/api/users/{userId}/enabled",      Admin,   users::set_enabled),

        endpoint(post(),   "/api/posts/create",                Member,  posts::create).with_key_and_image(),
        endpoint(get(),    "/api/posts/all",                   Admin,   posts::list_all),
        endpoint(get(),    "/api/posts/following/all",         Member,  posts::following_feed),
        endpoint(get(),    "/api/posts/{userId}/all",          Member,  posts::list_by_author),
        endpoint(get(),    "/api/posts/user/{userId}",         Member,  posts::list_by_author),
        endpoint(get(),    "/api/posts/by-id/{postId}",        Member,  posts::get),
        endpoint(put(),    "/api/posts/update/{postId}",       Member,  posts::update),
        endpoint(delete(), "/api/posts/delete/{postId}",       Member,  posts::delete),
        endpoint(post(),   "/api/posts/like/{postId}",         Member,  posts::toggle_like).with_key(),
        endpoint(put(),    "/api/posts/like/{postId}",         Member,  posts::like),
        endpoint(delete(), "/api/posts/like/{postId}",         Member,  posts::unlike),
        endpoint(get(),    "/api/posts/{postId}/likes",        Member,  posts::list_likers),

        endpoint(post(),   "/api/comments/create",             Member,  comments::create).with_key(),
        endpoint(get(),    "/api/comments/all/{postId}",       Member,  comments::list),
        endpoint(put(),    "/api/comments/update",             Member,  comments::update),
        endpoint(delete(), "/api/comments/delete/{commentId}", Member,  comments::delete),

        endpoint(post(),   "/api/follow/follow/{followedId}",  Member,  follows::toggle).with_key(),
        endpoint(put(),    "/api/follow/follow/{followedId}",  Member,  follows::follow),
        endpoint(delete(), "/api/follow/follow/{followedId}",  Member,  follows::unfollow),
        endpoint(get(),    "/api/follow/followers/{userId}",   Member,  follows::list_followers),
        endpoint(get(),    "/api/follow/followed/{userId}",    Member,  follows::list_followed),
        endpoint(post(),   "/api/follow/{followedId}",         Member,  follows::toggle).with_key(),
        endpoint(put(),    "/api/follow/{followedId}",         Member,  follows::follow),
        endpoint(delete(), "/api/follow/{followedId}",         Member,  follows::unfollow),

        endpoint(get(),    "/api/products/findAll",            Public,  products::list),
        endpoint(get(),    "/api/products/category/{category}", Public, products::list_by_category),
        endpoint(get(),    "/api/products",                    Member,  products::list_short),
        endpoint(post(),   "/api/products",                    Admin,   products::create).with_key(),
        endpoint(get(),    "/api/products/{id}",               Public,  products::get),
        endpoint(put(),    "/api/products/{id}",               Admin,   products::update),
        endpoint(delete(), "/api/products/{id}",               Admin,   products::delete),

        endpoint(get(),    "/media/{key}",                     Public,  media::get),

        endpoint(get(),    access::LIVENESS_PATH,                      Public,  health::live),
        endpoint(get(),    access::READINESS_PATH,                      Public,  health::ready),

        endpoint(get(),    "/api-docs/openapi.json",           Public,  docs::document),
        endpoint(get(),    "/docs",                            Public,  docs::to_page),
        endpoint(get(),    "/docs/",                           Public,  docs::page),
        endpoint(get(),    "/docs/{file}",                     Public,  docs::file),
    ]
}
