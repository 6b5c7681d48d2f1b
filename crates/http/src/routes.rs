//! The route table: every endpoint, with who may call it.

use actix_web::http::Method;
use actix_web::middleware::from_fn;
use actix_web::{Handler, Responder, Route, dev, web};
use utoipa::openapi::OpenApi;

pub use crate::core::access::{Access, IdempotencySupport, RateLimitClass};
use crate::core::{EndpointPolicy, access};
use crate::endpoints::{
    accounts, audit_log, backups, blocks, bookmarks, comments, configuration, docs, events, export, follows, health,
    hiding, mail, media, notifications, outbox, overview, pages, people, posts, products, reports, search, sessions,
    threads, users,
};
use crate::middleware::authorize;

/// An endpoint: one method of one path, and what is declared about it.
pub struct Endpoint {
    /// The method. A GET endpoint answers HEAD as well.
    pub method: Method,
    /// The path, its parameters in braces.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// Whether it supports `Idempotency-Key`.
    pub idempotency: IdempotencySupport,
    /// The rate limit per client address, if it has one of its own.
    pub rate_limit: Option<RateLimitClass>,
    /// Whether its body may be a form, which may have a file.
    pub takes_form: bool,
    /// Whether it may read from a replica of the database, provided that the replica has all that the caller wrote.
    pub is_replicated: bool,
    /// The name of its handler with its module, such as `posts.create`.
    operation: &'static str,
    route: Box<dyn Fn(EndpointPolicy) -> Route>,
    /// Returns the OpenAPI description of its handler.
    #[cfg(feature = "openapi")]
    pub(crate) describe: fn() -> OpenApi,
}

fn endpoint<H, Args>(
    method: Method,
    path: &'static str,
    access: Access,
    (operation, handler): (&'static str, H),
    #[cfg(feature = "openapi")] describe: fn() -> OpenApi,
) -> Endpoint
where
    H: Handler<Args>,
    Args: actix_web::FromRequest + 'static,
    H::Output: Responder + 'static,
{
    let route = move |policy: EndpointPolicy| {
        let authorized = move |request: dev::ServiceRequest, next| authorize::authorize(policy, request, next);
        web::route().to(handler.clone()).wrap(from_fn(authorized))
    };
    let idempotency = IdempotencySupport::None;
    Endpoint {
        method,
        path,
        access,
        idempotency,
        operation,
        rate_limit: None,
        takes_form: false,
        is_replicated: false,
        route: Box::new(route),
        #[cfg(feature = "openapi")]
        describe,
    }
}

/// Declares an endpoint: its method and path, who may call it, its handler.
macro_rules! endpoint {
    ($method:ident, $path:expr, $access:ident, $module:ident::$handler:ident) => {{
        #[cfg(feature = "openapi")]
        #[derive(utoipa::OpenApi)]
        #[openapi(paths($module::$handler))]
        struct Described;
        let handler = (concat!(stringify!($module), ".", stringify!($handler)), $module::$handler);
        endpoint(
            Method::$method,
            $path,
            Access::$access,
            handler,
            #[cfg(feature = "openapi")]
            <Described as utoipa::OpenApi>::openapi,
        )
    }};
}

impl Endpoint {
    /// Adds support for `Idempotency-Key`, under which a client may repeat a request.
    fn idempotent(self) -> Self {
        Self { idempotency: IdempotencySupport::Json, ..self }
    }

    /// Does the same for an endpoint whose body may be a form with an image.
    fn idempotent_with_image(self) -> Self {
        Self { idempotency: IdempotencySupport::Image, ..self.with_form() }
    }

    /// Adds a rate limit per client address.
    fn limited(self, class: RateLimitClass) -> Self {
        Self { rate_limit: Some(class), ..self }
    }

    /// Marks an endpoint whose body may be a form.
    fn with_form(self) -> Self {
        Self { takes_form: true, ..self }
    }

    /// Marks a list that may be read from a replica of the database.
    fn replicated(self) -> Self {
        Self { is_replicated: true, ..self }
    }

    /// Returns its handler as a route, with the authorization that its policy asks for.
    pub(crate) fn route(&self) -> Route {
        let Self { access, path, operation, idempotency, rate_limit, takes_form, is_replicated, .. } = *self;
        (self.route)(EndpointPolicy { access, path, operation, idempotency, rate_limit, takes_form, is_replicated })
    }
}

/// Returns every endpoint, each declared once. If a handler has several paths, the first is the preferred one and the others
/// are aliases. A path has at most one parameter.
#[rustfmt::skip]
pub fn endpoints() -> Vec<Endpoint> {
    vec![
        endpoint!(POST,   "/api/auth/register",               Public,  accounts::register).idempotent().limited(RateLimitClass::Registration),
        endpoint!(POST,   "/api/auth/login",                  Public,  accounts::login).limited(RateLimitClass::Login),
        endpoint!(POST,   "/api/auth/refresh",                Member,  accounts::refresh),
        endpoint!(POST,   "/api/auth/logout",                 Account, accounts::logout),
        endpoint!(POST,   "/api/auth/password/forgot",        Public,  mail::forgot_password).limited(RateLimitClass::Recovery),
        endpoint!(POST,   "/api/auth/password/reset",         Public,  mail::reset_password).limited(RateLimitClass::Recovery),
        endpoint!(POST,   "/api/auth/email/verify",           Public,  mail::verify_email).limited(RateLimitClass::Recovery),

        endpoint!(GET,    "/api/users/me",                    Account, users::me),
        endpoint!(PUT,    "/api/users/me",                    Member,  users::update_me).with_form(),
        endpoint!(PUT,    "/api/users/me/password",           Member,  users::change_password),
        endpoint!(POST,   "/api/users/me/delete",             Account, users::delete_me),
        endpoint!(DELETE, "/api/users/me",                    Account, users::delete_me),
        endpoint!(PUT,    "/api/users/me/email",              Member,  mail::change_email),
        endpoint!(POST,   "/api/users/me/email/verification", Member,  mail::request_verification),
        endpoint!(GET,    "/api/users/me/export",             Account, export::export),
        endpoint!(GET,    "/api/users/me/sessions",           Account, sessions::list),
        endpoint!(DELETE, "/api/users/me/sessions",           Account, sessions::end_others),
        endpoint!(DELETE, "/api/users/me/sessions/{sessionId}", Account, sessions::end),
        endpoint!(GET,    "/api/users/all",                   Admin,   users::list).replicated(),
        endpoint!(GET,    "/api/users/by-id/{id}",            Admin,   users::get),
        endpoint!(PUT,    "/api/users/update/{userId}",       Admin,   users::change_role),
        endpoint!(PUT,    "/api/users/{userId}/enabled",      Admin,   users::set_enabled),

        endpoint!(GET,    "/api/users/lookup",                Member,  people::lookup),
        endpoint!(GET,    "/api/users/profiles",              Member,  people::get_all),
        endpoint!(GET,    "/api/users/directory",             Member,  people::directory).replicated(),
        endpoint!(GET,    "/api/users/{userId}/profile",      Member,  people::get),
        endpoint!(GET,    "/api/users/{userId}/followers",    Member,  people::list_followers).replicated(),
        endpoint!(GET,    "/api/users/{userId}/followed",     Member,  people::list_followed).replicated(),

        endpoint!(PUT,    "/api/users/{userId}/block",        Member,  blocks::block),
        endpoint!(DELETE, "/api/users/{userId}/block",        Member,  blocks::unblock),
        endpoint!(GET,    "/api/users/me/blocks",             Member,  blocks::list_blocked),
        endpoint!(PUT,    "/api/users/{userId}/mute",         Member,  blocks::mute),
        endpoint!(DELETE, "/api/users/{userId}/mute",         Member,  blocks::unmute),
        endpoint!(GET,    "/api/users/me/mutes",              Member,  blocks::list_muted),

        endpoint!(POST,   "/api/reports",                     Member,  reports::create).idempotent(),
        endpoint!(GET,    "/api/admin/reports",               Admin,   reports::list),
        endpoint!(GET,    "/api/admin/reports/{reportId}",    Admin,   reports::get),
        endpoint!(PUT,    "/api/admin/reports/{reportId}",    Admin,   reports::decide),
        endpoint!(PUT,    "/api/admin/posts/{postId}/hidden", Admin,   hiding::set_post_hidden),
        endpoint!(PUT,    "/api/admin/comments/{commentId}/hidden", Admin, hiding::set_comment_hidden),
        endpoint!(GET,    "/api/admin/audit",                 Admin,   audit_log::list),
        endpoint!(GET,    "/api/admin/users/{userId}/sessions", Admin, sessions::list_of),
        endpoint!(DELETE, "/api/admin/users/{userId}/sessions", Admin, sessions::end_of),
        endpoint!(GET,    "/api/admin/overview",              Admin,   overview::read),
        endpoint!(GET,    "/api/admin/configuration",         Admin,   configuration::read),
        endpoint!(POST,   "/api/admin/backup",                Admin,   backups::download),
        endpoint!(GET,    "/api/admin/mails",                 Admin,   outbox::list),
        endpoint!(POST,   "/api/admin/mails/{mailId}/retry",  Admin,   outbox::retry),

        endpoint!(POST,   "/api/posts/create",                Member,  posts::create).idempotent_with_image(),
        endpoint!(GET,    "/api/posts/all",                   Admin,   posts::list_all).replicated(),
        endpoint!(GET,    "/api/posts/following/all",         Member,  posts::following_feed).replicated(),
        endpoint!(GET,    "/api/posts/{userId}/all",          Member,  posts::list_by_author).replicated(),
        endpoint!(GET,    "/api/posts/user/{userId}",         Member,  posts::list_by_author).replicated(),
        endpoint!(GET,    "/api/posts/by-id/{postId}",        Member,  posts::get),
        endpoint!(PUT,    "/api/posts/update/{postId}",       Member,  posts::update).with_form(),
        endpoint!(DELETE, "/api/posts/delete/{postId}",       Member,  posts::delete),
        endpoint!(POST,   "/api/posts/like/{postId}",         Member,  posts::toggle_like).idempotent(),
        endpoint!(PUT,    "/api/posts/like/{postId}",         Member,  posts::like),
        endpoint!(DELETE, "/api/posts/like/{postId}",         Member,  posts::unlike),
        endpoint!(GET,    "/api/posts/{postId}/likes",        Member,  posts::list_likers).replicated(),
        endpoint!(GET,    "/api/posts/public",                Member,  posts::list_public).replicated(),

        endpoint!(PUT,    "/api/posts/{postId}/bookmark",     Member,  bookmarks::set),
        endpoint!(DELETE, "/api/posts/{postId}/bookmark",     Member,  bookmarks::unset),
        endpoint!(GET,    "/api/users/me/bookmarks",          Member,  bookmarks::list).replicated(),

        endpoint!(GET,    "/api/tags/{tag}/posts",            Member,  posts::list_by_tag).replicated(),

        endpoint!(POST,   "/api/comments/create",             Member,  comments::create).idempotent(),
        endpoint!(GET,    "/api/comments/all/{postId}",       Member,  comments::list).replicated(),
        endpoint!(PUT,    "/api/comments/update",             Member,  comments::update),
        endpoint!(DELETE, "/api/comments/delete/{commentId}", Member,  comments::delete),
        endpoint!(POST,   "/api/posts/{postId}/comments",     Member,  threads::create).idempotent(),
        endpoint!(GET,    "/api/posts/{postId}/comments",     Member,  threads::list).replicated(),
        endpoint!(DELETE, "/api/posts/{postId}/comments",     Member,  threads::delete_by),
        endpoint!(GET,    "/api/comments/{commentId}/replies", Member, threads::list_replies).replicated(),
        endpoint!(PUT,    "/api/comments/{commentId}/like",   Member,  threads::like),
        endpoint!(DELETE, "/api/comments/{commentId}/like",   Member,  threads::unlike),
        endpoint!(GET,    "/api/comments/{commentId}/likes",  Member,  threads::list_likers).replicated(),

        endpoint!(POST,   "/api/follow/follow/{followedId}",  Member,  follows::toggle).idempotent(),
        endpoint!(PUT,    "/api/follow/follow/{followedId}",  Member,  follows::follow),
        endpoint!(DELETE, "/api/follow/follow/{followedId}",  Member,  follows::unfollow),
        endpoint!(GET,    "/api/follow/followers/{userId}",   Member,  follows::list_followers).replicated(),
        endpoint!(GET,    "/api/follow/followed/{userId}",    Member,  follows::list_followed).replicated(),
        endpoint!(POST,   "/api/follow/{followedId}",         Member,  follows::toggle).idempotent(),
        endpoint!(PUT,    "/api/follow/{followedId}",         Member,  follows::follow),
        endpoint!(DELETE, "/api/follow/{followedId}",         Member,  follows::unfollow),

        endpoint!(GET,    "/api/notifications",               Member,  notifications::list),
        endpoint!(GET,    "/api/notifications/unread",        Member,  notifications::count_unread),
        endpoint!(PUT,    "/api/notifications/read",          Member,  notifications::mark_read),
        endpoint!(GET,    "/api/notifications/settings",      Member,  notifications::settings),
        endpoint!(PUT,    "/api/notifications/settings",      Member,  notifications::change_settings),
        endpoint!(GET,    "/api/notifications/{notificationId}/actors", Member, notifications::list_actors),

        endpoint!(GET,    "/api/events",                      MemberOrTicket, events::stream),
        endpoint!(POST,   "/api/events/ticket",               Member,  events::issue_ticket),

        endpoint!(GET,    "/api/products/findAll",            Public,  products::list).replicated(),
        endpoint!(GET,    "/api/products/category/{category}", Public, products::list_by_category).replicated(),
        endpoint!(GET,    "/api/products",                    Member,  products::list_short).replicated(),
        endpoint!(POST,   "/api/products",                    Admin,   products::create).idempotent(),
        endpoint!(GET,    "/api/products/{id}",               Public,  products::get),
        endpoint!(PUT,    "/api/products/{id}",               Admin,   products::update),
        endpoint!(DELETE, "/api/products/{id}",               Admin,   products::delete),

        endpoint!(GET,    "/api/search",                      Member,  search::search).replicated(),

        endpoint!(POST,   "/api/media",                       Member,  media::upload).with_form(),
        endpoint!(GET,    "/media/{key}",                     Public,  media::get),

        endpoint!(GET,    access::LIVENESS_PATH,             Public,  health::live),
        endpoint!(GET,    access::READINESS_PATH,            Public,  health::ready),

        endpoint!(GET,    "/api-docs/openapi.json",           Public,  docs::document),
        endpoint!(GET,    "/docs",                            Public,  docs::to_page),
        endpoint!(GET,    "/docs/",                           Public,  docs::page),
        endpoint!(GET,    "/docs/{file}",                     Public,  docs::file),

        endpoint!(GET,    "/app",                             Public,  pages::to_app),
        endpoint!(GET,    "/app/",                            Public,  pages::app),
        endpoint!(GET,    "/app/{file}",                      Public,  pages::app_file),
        endpoint!(GET,    "/console",                         Public,  pages::to_console),
        endpoint!(GET,    "/console/",                        Public,  pages::console),
        endpoint!(GET,    "/console/{file}",                  Public,  pages::console_file),
    ]
}
